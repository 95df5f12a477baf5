# SPDX-License-Identifier: BSD-3-Clause
"""The largest eigenvalues of the Laplacian of a rectangle, by three of SLEPc's solvers."""
import sys

import slepc4py

slepc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402
from slepc4py import SLEPc  # noqa: E402

from laplacian import laplacian  # noqa: E402

matrix = laplacian(41, 30)

for solver in ("krylovschur", "arnoldi", "lobpcg"):
    problem = SLEPc.EPS().create()
    problem.setOperators(matrix)
    problem.setProblemType(SLEPc.EPS.ProblemType.HEP)
    problem.setType(solver)
    problem.setDimensions(nev=4)
    problem.setTolerances(tol=1e-9, max_it=1000)
    problem.solve()
    values = " ".join(f"{problem.getEigenvalue(k).real:.10f}" for k in range(4))
    PETSc.Sys.Print(f"{solver}: eigenvalues {values}")
