# SPDX-License-Identifier: BSD-3-Clause
"""Reductions that the program makes: those that are written in Python, and sums of scaled inputs."""
import ctypes
import struct
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


# The C type of each part of an element. 16-bit floats are packed by _element().
_PARTS: dict[int, Any] = {
    Datatype.INT8: ctypes.c_int8, Datatype.INT16: ctypes.c_int16, Datatype.INT32: ctypes.c_int32,
    Datatype.INT64: ctypes.c_int64, Datatype.UINT8: ctypes.c_uint8, Datatype.UINT16: ctypes.c_uint16,
    Datatype.UINT32: ctypes.c_uint32, Datatype.UINT64: ctypes.c_uint64, Datatype.FLOAT: ctypes.c_float,
    Datatype.DOUBLE: ctypes.c_double, Datatype.LONG_DOUBLE: ctypes.c_longdouble,
    Datatype.COMPLEX_FLOAT: ctypes.c_float, Datatype.COMPLEX_DOUBLE: ctypes.c_double,
    Datatype.COMPLEX_LONG_DOUBLE: ctypes.c_longdouble,
}
_COMPLEX = (Datatype.COMPLEX_FLOAT, Datatype.COMPLEX_DOUBLE, Datatype.COMPLEX_LONG_DOUBLE)


def _element(number: Any, datatype: int) -> bytes:
    """A Python number as one element."""
    if datatype == Datatype.FLOAT16:
        return struct.pack("=e", number)
    if datatype == Datatype.BFLOAT16:
        bits = int(struct.unpack("=I", struct.pack("=f", number))[0])
        if number == number:
            bits += 0x7fff + (bits >> 16 & 1)
        return struct.pack("=H", bits >> 16)
    part = _PARTS.get(datatype)
    if part is None:
        raise ValueError(f"a factor of datatype {datatype} is not possible: sums are of numbers")
    return bytes((part * 2)(number.real, number.imag) if datatype in _COMPLEX else part(number))


class Created:
    """An operation that is not built in; freed with the last reference to it."""

    number: int | None = None

    def raise_pending(self) -> None:
        """Raises what a function of the operation has raised since the last call, if anything."""

    def free(self) -> None:
        """Frees the operation. Collectives that use it must have completed, persistent requests been freed."""
        number, self.number = self.number, None
        if number is not None:
            check(library.coll_op_free(number))

    def __del__(self) -> None:
        if self.number is not None:
            library.coll_op_free(self.number)


class ScaledSum(Created):
    """The sum of each rank's input times its own factor: `ScaledSum(1 / comm.size, coll.FLOAT)` gives the mean.

    factor: a number, and `datatype` that of the collective; or one element in a buffer, such as numpy.float32(0.25). All
    ranks pass a ScaledSum of one datatype, one that SUM is defined for; the factors may differ. Each product is rounded
    to the datatype, then the products are added as SUM adds. libcoll keeps them in memory of its own, as much as the
    input."""

    def __init__(self, factor: Any, datatype: int | None = None) -> None:
        if datatype is not None:
            element, kind = _element(factor, datatype), datatype
        else:
            try:
                held = buffers.Buffer(factor, None, False, "factor")
            except TypeError:
                raise TypeError("factor is a number: name its datatype, too") from None
            if held.count != 1:
                raise ValueError(f"factor has {held.count} elements, not one")
            element, kind = ctypes.string_at(held.address, held.itemsize), held.datatype
            held.release()
        number = ctypes.c_uint32()
        check(library.coll_op_create_scaled_sum(element, kind, ctypes.byref(number)))
        self.number = number.value


class Operation(Created):
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
        self.number = number.value

    def _view(self, address: int, count: int, datatype: int) -> Any:
        size = datatype & 0x7fffffff if datatype & 0x80000000 else library.coll_datatype_size(datatype)
        raw = (ctypes.c_char * (count * size)).from_address(address)
        if buffers.numpy is None:
            return memoryview(raw).cast("B")
        array = buffers.numpy.frombuffer(raw, buffers.numpy.uint8)
        dtype = self._dtype or _ARRAY_TYPES.get(datatype)
        return array.view(dtype) if dtype is not None else array.reshape(count, size)

    def raise_pending(self) -> None:
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised
