# SPDX-License-Identifier: BSD-3-Clause
"""Reductions that are written in Python."""
import ctypes
import weakref
from typing import Any, Callable

from ._abi import OpFunction, check, library
from . import buffers
from .constants import Datatype

_ARRAY_TYPES: dict[int, str] = {
    Datatype.INT8: "i1", Datatype.INT16: "i2", Datatype.INT32: "i4", Datatype.INT64: "i8", Datatype.UINT8: "u1",
    Datatype.UINT16: "u2", Datatype.UINT32: "u4", Datatype.UINT64: "u8", Datatype.FLOAT16: "f2",
    Datatype.BFLOAT16: "u2", Datatype.FLOAT: "f4", Datatype.DOUBLE: "f8", Datatype.LONG_DOUBLE: "g",
    Datatype.COMPLEX_FLOAT: "c8", Datatype.COMPLEX_DOUBLE: "c16", Datatype.COMPLEX_LONG_DOUBLE: "G",
    Datatype.BOOL: "?", Datatype.BYTE: "u1",
}


class Operation:
    """A reduction of the program's own: `function(lower, inout)` stores `lower op inout` in inout.

    lower, inout: [count] of the collective's elements, valid during the call only; `lower` holds the operand of the
    lower ranks. They are numpy arrays (of `dtype` where it is given, which elements without a datatype of their own
    need), and without numpy memoryviews of bytes. `function` must be associative. With commutative=False operands are
    combined in rank order. It is called for parts of a vector, in any thread that is inside a call on the
    communicator, and must not call libcoll. An exception in it is raised by the collective on that rank; the result
    is then unspecified on all ranks. """

    def __init__(self, function: Callable[[Any, Any], object], commutative: bool = True, dtype: Any = None) -> None:
        self._function = function
        self._dtype = buffers.numpy.dtype(dtype) if dtype is not None and buffers.numpy is not None else None
        self._raised: BaseException | None = None
        self_of = weakref.ref(self)

        def call(lower: int, inout: int, count: int, datatype: int, _context: object) -> None:
            self = self_of()
            if self is None:
                return
            try:
                self._function(self._view(lower, count, datatype), self._view(inout, count, datatype))
            except BaseException as raised:  # must not cross the C caller; raised by the collective
                self._raised = raised

        self._callback = OpFunction(call)
        number = ctypes.c_uint32()
        check(library.coll_op_create(self._callback, int(commutative), None, ctypes.byref(number)))
        self.number: int | None = number.value

    def _view(self, address: int, count: int, datatype: int) -> Any:
        size = datatype & 0x7fffffff if datatype & 0x80000000 else library.coll_datatype_size(datatype)
        raw = (ctypes.c_char * (count * size)).from_address(address)
        if buffers.numpy is None:
            return memoryview(raw).cast("B")
        array = buffers.numpy.frombuffer(raw, buffers.numpy.uint8)
        dtype = self._dtype or _ARRAY_TYPES.get(datatype)
        return array.view(dtype) if dtype is not None else array.reshape(count, size)

    def raise_pending(self) -> None:
        """Raises what the function has raised since the last call, if anything."""
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised

    def free(self) -> None:
        """Frees the operation. Collectives that use it must have completed, persistent requests been freed."""
        number, self.number = self.number, None
        if number is not None:
            check(library.coll_op_free(number))

    def __del__(self) -> None:
        if getattr(self, "number", None) is not None:
            library.coll_op_free(self.number)
