# SPDX-License-Identifier: BSD-3-Clause
"""Datatypes and operations: the numbers of coll.h."""
from enum import IntEnum
from typing import Final


class Datatype(IntEnum):
    """Type of one element. Buffers know theirs; name one where a buffer holds something else, such as bfloat16 in
    uint16."""
    INT8 = 1
    INT16 = 2
    INT32 = 3
    INT64 = 4
    UINT8 = 5
    UINT16 = 6
    UINT32 = 7
    UINT64 = 8
    FLOAT16 = 9
    BFLOAT16 = 10
    FLOAT = 11
    DOUBLE = 12
    LONG_DOUBLE = 13
    COMPLEX_FLOAT = 14
    COMPLEX_DOUBLE = 15
    COMPLEX_LONG_DOUBLE = 16
    BOOL = 17
    BYTE = 18
    FLOAT_INT = 19
    DOUBLE_INT = 20
    LONG_INT = 21
    INT_INT = 22
    SHORT_INT = 23
    LONG_DOUBLE_INT = 24


class Op(IntEnum):
    """A built-in reduction. Which types each is defined for: coll.h, "operations"."""
    SUM = 1
    PROD = 2
    MIN = 3
    MAX = 4
    LAND = 5
    LOR = 6
    LXOR = 7
    BAND = 8
    BOR = 9
    BXOR = 10
    MINLOC = 11
    MAXLOC = 12


INT8 = Datatype.INT8
INT16 = Datatype.INT16
INT32 = Datatype.INT32
INT64 = Datatype.INT64
UINT8 = Datatype.UINT8
UINT16 = Datatype.UINT16
UINT32 = Datatype.UINT32
UINT64 = Datatype.UINT64
FLOAT16 = Datatype.FLOAT16
BFLOAT16 = Datatype.BFLOAT16
FLOAT = Datatype.FLOAT
DOUBLE = Datatype.DOUBLE
LONG_DOUBLE = Datatype.LONG_DOUBLE
COMPLEX_FLOAT = Datatype.COMPLEX_FLOAT
COMPLEX_DOUBLE = Datatype.COMPLEX_DOUBLE
COMPLEX_LONG_DOUBLE = Datatype.COMPLEX_LONG_DOUBLE
BOOL = Datatype.BOOL
BYTE = Datatype.BYTE
FLOAT_INT = Datatype.FLOAT_INT
DOUBLE_INT = Datatype.DOUBLE_INT
LONG_INT = Datatype.LONG_INT
INT_INT = Datatype.INT_INT
SHORT_INT = Datatype.SHORT_INT
LONG_DOUBLE_INT = Datatype.LONG_DOUBLE_INT
SUM = Op.SUM
PROD = Op.PROD
MIN = Op.MIN
MAX = Op.MAX
LAND = Op.LAND
LOR = Op.LOR
LXOR = Op.LXOR
BAND = Op.BAND
BOR = Op.BOR
BXOR = Op.BXOR
MINLOC = Op.MINLOC
MAXLOC = Op.MAXLOC


def bytes_type(size_bytes: int) -> int:
    """The datatype of elements of `size_bytes` bytes, 1 to 2**31 - 1: they can be moved, and reduced by an
    Operation."""
    if not 1 <= size_bytes < 1 << 31:
        raise ValueError(f"elements of {size_bytes} bytes: 1 to {(1 << 31) - 1} are possible")
    return 0x80000000 | size_bytes


class InPlace:
    """The type of IN_PLACE."""

    def __repr__(self) -> str:
        return "coll.IN_PLACE"


IN_PLACE: Final = InPlace()
"""Instead of the send buffer: the input is in the receive buffer. Instead of a scatter's receive buffer at the root:
the root's block stays in the send buffer."""
