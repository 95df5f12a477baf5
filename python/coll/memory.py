# SPDX-License-Identifier: BSD-3-Clause
"""Memory that the peers can map."""
import ctypes
import math
import weakref
from typing import Any

from ._abi import check, library
from . import buffers


class _Block:
    """Memory of coll_mem_alloc(), for numpy's array interface; freed with the last array on it."""

    def __init__(self, size_bytes: int) -> None:
        memory = ctypes.c_void_p()
        check(library.coll_mem_alloc(size_bytes, ctypes.byref(memory)))
        assert memory.value is not None
        self.__array_interface__ = {"version": 3, "shape": (size_bytes,), "typestr": "|u1",
                                    "data": (memory.value, False)}
        weakref.finalize(self, library.coll_mem_free, memory.value).atexit = False


def empty(shape: int | tuple[int, ...], dtype: Any = float) -> Any:
    """A numpy array of the shape, with unspecified contents, in memory that the peers can map: collectives on it copy
    data once instead of twice, and reductions read operands in place. The memory is freed with the last array on it;
    the collectives that use it must have completed then."""
    if buffers.numpy is None:
        raise ImportError("coll.empty() makes numpy arrays; install numpy (Debian: python3-numpy)")
    kind = buffers.numpy.dtype(dtype)
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    return buffers.numpy.asarray(_Block(math.prod(extents) * kind.itemsize)).view(kind).reshape(extents)
