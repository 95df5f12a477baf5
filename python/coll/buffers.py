# SPDX-License-Identifier: BSD-3-Clause
"""Buffers of collectives: address, number of elements and datatype of a Python object.

numpy arrays are asked through their array interface, which also describes types that the buffer protocol does not know
(bfloat16 and float8 of ml_dtypes); all other objects through the buffer protocol."""
import ctypes
import re
import sys
from typing import Any

from ._abi import library
from .constants import Datatype, bytes_type

numpy: Any = None  # optional: all other buffers work without it
try:
    import numpy
except ImportError:
    pass

_WRITABLE, _FORMAT, _C_CONTIGUOUS = 0x1, 0x4, 0x38


class _PyBuffer(ctypes.Structure):
    """Py_buffer, part of CPython's stable ABI."""
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


_get = ctypes.pythonapi.PyObject_GetBuffer
_get.argtypes, _get.restype = [ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int], ctypes.c_int
_release = ctypes.pythonapi.PyBuffer_Release
_release.argtypes, _release.restype = [ctypes.POINTER(_PyBuffer)], None

_FLOATS = {"e": Datatype.FLOAT16, "f": Datatype.FLOAT, "d": Datatype.DOUBLE, "g": Datatype.LONG_DOUBLE,
           "Zf": Datatype.COMPLEX_FLOAT, "Zd": Datatype.COMPLEX_DOUBLE, "Zg": Datatype.COMPLEX_LONG_DOUBLE,
           "F": Datatype.COMPLEX_FLOAT, "D": Datatype.COMPLEX_DOUBLE, "?": Datatype.BOOL, "c": Datatype.BYTE}
_SIGNED = {1: Datatype.INT8, 2: Datatype.INT16, 4: Datatype.INT32, 8: Datatype.INT64}
_UNSIGNED = {1: Datatype.UINT8, 2: Datatype.UINT16, 4: Datatype.UINT32, 8: Datatype.UINT64}
# Struct formats of numpy's aligned pairs, without the names of their fields.
_PAIRS = {"fi": Datatype.FLOAT_INT, "di": Datatype.DOUBLE_INT, "li": Datatype.LONG_INT, "qi": Datatype.LONG_INT,
          "ii": Datatype.INT_INT, "hi": Datatype.SHORT_INT, "gi": Datatype.LONG_DOUBLE_INT}


def datatype_of(code: str, itemsize: int) -> int:
    """The datatype of a format of the struct module; elements without one are moved as bytes."""
    if code.startswith("T{"):
        fields = re.sub(r":[^:]*:|[@=<^x0-9]", "", code[2:-1])
        pair = _PAIRS.get(fields)
        return pair if pair and library.coll_datatype_size(pair) == itemsize else bytes_type(itemsize)
    foreign = ">!" if sys.byteorder == "little" else "<"
    if code[:1] in foreign and itemsize > 1:
        return bytes_type(itemsize)
    kind = code.lstrip("@=<>!^|")
    if kind in _FLOATS and library.coll_datatype_size(_FLOATS[kind]) == itemsize:
        return _FLOATS[kind]
    if kind in ("b", "h", "i", "l", "q", "n"):
        return _SIGNED[itemsize]
    if kind in ("B", "H", "I", "L", "Q", "N"):
        return _UNSIGNED[itemsize]
    return bytes_type(itemsize)


class Buffer:
    """A C-contiguous buffer, held until release(). `count` elements of `datatype` from `address` on."""

    def __init__(self, thing: Any, datatype: int | None, writable: bool, role: str) -> None:
        self._view: _PyBuffer | None = None
        self._thing = thing
        if numpy is not None and isinstance(thing, numpy.ndarray):
            self._from_array(thing, writable, role)
        else:
            self._from_protocol(thing, writable, role)
        if datatype is not None:
            self._reinterpret(datatype, role)

    def _from_array(self, array: Any, writable: bool, role: str) -> None:
        if not array.flags.c_contiguous:
            raise ValueError(f"{role} is not C-contiguous; pass numpy.ascontiguousarray({role})")
        if writable and not array.flags.writeable:
            raise ValueError(f"{role} is read-only")
        self.address = array.ctypes.data
        self.size_bytes = array.nbytes
        self.itemsize = array.itemsize
        if array.dtype.name == "bfloat16":
            self.datatype: int = Datatype.BFLOAT16
        elif array.dtype.hasobject:
            raise TypeError(f"{role} holds Python objects, which other processes cannot use")
        elif array.dtype.kind in "biufc?" or array.dtype.names:
            try:
                self.datatype = datatype_of(memoryview(array).format, array.itemsize)
            except (ValueError, BufferError):
                self.datatype = bytes_type(array.itemsize)
        else:
            self.datatype = bytes_type(array.itemsize) if array.itemsize else Datatype.BYTE

    def _from_protocol(self, thing: Any, writable: bool, role: str) -> None:
        view = _PyBuffer()
        try:
            _get(thing, ctypes.byref(view), _FORMAT | _C_CONTIGUOUS | (_WRITABLE if writable else 0))
        except (TypeError, BufferError, ValueError) as problem:
            raise type(problem)(f"{role}: {problem}") from None
        self._view = view
        self.address = view.buf or 0
        self.size_bytes = view.len
        self.itemsize = view.itemsize
        self.datatype = datatype_of((view.format or b"B").decode(), view.itemsize)

    def _reinterpret(self, datatype: int, role: str) -> None:
        size = library.coll_datatype_size(datatype)
        if size == 0:
            raise ValueError(f"datatype {datatype} does not exist")
        if self.size_bytes % size != 0:
            raise ValueError(f"{role} has {self.size_bytes} bytes, which is no multiple of an element of {size} bytes")
        self.datatype, self.itemsize = datatype, size

    @property
    def count(self) -> int:
        """Elements of the datatype."""
        return int(self.size_bytes // self.itemsize) if self.itemsize else 0

    def release(self) -> None:
        """Ends the hold on the object, after which a bytearray may be resized again."""
        view, self._view, self._thing = self._view, None, None
        if view is not None:
            _release(ctypes.byref(view))

    def __del__(self) -> None:
        self.release()


def new_like(thing: Any, count: int, itemsize: int, blocks: int | None = None) -> Any:
    """A buffer of `count` elements for a result: an array of the type of `thing`, in blocks of its shape where
    `blocks` is given; without numpy a memoryview of its format."""
    if numpy is not None and isinstance(thing, numpy.ndarray):
        if thing.itemsize != itemsize:
            return numpy.empty(count * itemsize // thing.itemsize, thing.dtype)
        if blocks is not None:
            return numpy.empty((blocks, *thing.shape), thing.dtype)
        return numpy.empty_like(thing) if thing.size == count else numpy.empty(count, thing.dtype)
    view = memoryview(bytearray(count * itemsize))
    code = memoryview(thing).format
    native = code.lstrip("@")
    return view.cast(native) if len(native) == 1 and native in "bBhHiIlLqQnNfd?c" else view
