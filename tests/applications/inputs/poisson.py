# SPDX-License-Identifier: BSD-3-Clause
"""Poisson's equation on a square, by the conjugate gradients of PETSc."""
import sys

import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402

from laplacian import laplacian  # noqa: E402

matrix = laplacian(120, 120)

solution, right = matrix.createVecs()
right.set(1.0)
for preconditioner in ("jacobi", "bjacobi", "asm"):
    solver = PETSc.KSP().create()
    solver.setOperators(matrix)
    solver.setType("cg")
    solver.getPC().setType(preconditioner)
    solver.setTolerances(rtol=1e-8)
    solution.set(0.0)
    solver.solve(right, solution)
    PETSc.Sys.Print(f"{preconditioner}: {solver.getIterationNumber()} iterations, solution {solution.norm():.10e}, "
                    f"largest {solution.max()[1]:.10e} at {solution.max()[0]}")
