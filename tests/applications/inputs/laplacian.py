# SPDX-License-Identifier: BSD-3-Clause
"""The Laplacian of a rectangle, of which each rank has rows. Import it after petsc4py.init()."""
from petsc4py import PETSc


def laplacian(wide, high):
    """Returns the matrix of wide * high points, each with up to four neighbors."""
    matrix = PETSc.Mat().createAIJ((wide * high, wide * high), nnz=5)
    first, last = matrix.getOwnershipRange()
    for row in range(first, last):
        i, j = divmod(row, high)
        neighbors = [(i + a, j + b) for a, b in ((-1, 0), (1, 0), (0, -1), (0, 1))]
        columns = [x * high + y for x, y in neighbors if 0 <= x < wide and 0 <= y < high]
        matrix.setValues([row], [row, *columns], [4.0] + [-1.0] * len(columns))
    matrix.assemble()
    return matrix
