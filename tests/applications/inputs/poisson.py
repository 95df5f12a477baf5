# SPDX-License-Identifier: BSD-3-Clause
"""Poisson's equation on a square, by the conjugate gradients of PETSc."""
import sys

import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402

SIDE = 120
matrix = PETSc.Mat().createAIJ((SIDE * SIDE, SIDE * SIDE), nnz=5)
first, last = matrix.getOwnershipRange()
for row in range(first, last):
    i, j = divmod(row, SIDE)
    neighbors = [(i + a, j + b) for a, b in ((-1, 0), (1, 0), (0, -1), (0, 1))]
    columns = [x * SIDE + y for x, y in neighbors if 0 <= x < SIDE and 0 <= y < SIDE]
    matrix.setValues([row], [row, *columns], [4.0] + [-1.0] * len(columns))
matrix.assemble()

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
