# SPDX-License-Identifier: BSD-3-Clause
"""Collectives between the processes of one Linux node: the Python interface of libcoll.

    import coll, numpy

    comm = coll.Communicator.from_launcher()
    mine = numpy.full(4, comm.rank, numpy.float32)
    print(comm.allreduce(mine))            # [sum] * 4

Run it with `collctl run -n 4 python3 script.py`.

Buffers are numpy arrays, or objects with the buffer protocol (bytearray, array.array, memoryview, mmap, ctypes arrays),
C-contiguous, of any shape. Counts are elements, sizes bytes, timeouts seconds. Every function that fails raises
coll.Error. A collective must be called by all ranks of the communicator, in the same order; while it waits, other
Python threads run.
"""
from ._abi import Aborted, Error, PeerDied, Status, library_version
from .communicator import Communicator
from .constants import (BAND, BFLOAT16, BOR, BOOL, BXOR, BYTE, COMPLEX_DOUBLE, COMPLEX_FLOAT, COMPLEX_LONG_DOUBLE,
                        DOUBLE, DOUBLE_INT, FLOAT, FLOAT16, FLOAT_INT, IN_PLACE, INT8, INT16, INT32, INT64, INT_INT,
                        LAND, LONG_DOUBLE, LONG_DOUBLE_INT, LONG_INT, LOR, LXOR, MAX, MAXLOC, MIN, MINLOC, PROD,
                        SHORT_INT, SUM, UINT8, UINT16, UINT32, UINT64, Datatype, Op, bytes_type)
from .memory import empty
from .operations import Operation, ScaledSum
from .requests import PersistentRequest, Request, progress

__all__ = [
    "Communicator", "Request", "PersistentRequest", "Operation", "ScaledSum", "progress", "empty",
    "Error", "PeerDied", "Aborted", "Status", "library_version",
    "IN_PLACE", "Datatype", "Op", "bytes_type",
    "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE",
    "LONG_DOUBLE", "COMPLEX_FLOAT", "COMPLEX_DOUBLE", "COMPLEX_LONG_DOUBLE", "BOOL", "BYTE", "FLOAT_INT", "DOUBLE_INT",
    "LONG_INT", "INT_INT", "SHORT_INT", "LONG_DOUBLE_INT",
    "SUM", "PROD", "MIN", "MAX", "LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR", "MINLOC", "MAXLOC",
]
