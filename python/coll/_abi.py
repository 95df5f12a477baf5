# SPDX-License-Identifier: BSD-3-Clause
"""libcoll.so.0 through ctypes: the signatures of coll.h, and its statuses as exceptions.

COLL_LIBRARY names the library's file; otherwise the loader searches it as for every program (LD_LIBRARY_PATH,
ldconfig), then the prefix that Python itself is in, then /usr/local/lib."""
import ctypes
import os
import sys
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from enum import IntEnum
from typing import Any


class Status(IntEnum):
    """Why a call failed; coll.h describes each."""
    OK = 0
    ARG = 1
    COUNT = 2
    ROOT = 3
    TYPE = 4
    OP = 5
    BUFFER = 6
    MISMATCH = 7
    PEER_DIED = 8
    NO_MEMORY = 9
    UNAVAILABLE = 10
    TOPOLOGY = 11
    BOOTSTRAP = 12
    STATE = 13
    SYSTEM = 14
    TRUNCATE = 15
    ABORTED = 16


class Error(RuntimeError):
    """A call of libcoll failed: `status` says why, the text how to fix it."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = Status(status)


class PeerDied(Error):
    """A peer has exited, was killed, or has freed the communicator, which is unusable now."""


class Aborted(Error):
    """A rank has called Communicator.abort(); the communicator is unusable."""


OpFunction = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t, c_uint32, c_void_p)
Allgather = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p)


class Bootstrap(ctypes.Structure):
    """coll_bootstrap."""
    _fields_ = [("size_bytes", c_size_t), ("rank", c_int), ("ranks", c_int), ("allgather", Allgather),
                ("context", c_void_p)]


class Message(ctypes.Structure):
    """coll_outgoing and coll_incoming, which have the same layout."""
    _fields_ = [("peer", c_int), ("data", c_void_p), ("bytes", c_size_t)]


def _load() -> ctypes.CDLL:
    named = os.environ.get("COLL_LIBRARY")
    if named:
        return ctypes.CDLL(named)
    # In a wheel, beside this file; it fits this module for certain.
    bundled = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_lib", "libcoll.so.0")
    if os.path.exists(bundled):
        return ctypes.CDLL(bundled)
    names = ["libcoll.so.0", os.path.join(sys.prefix, "lib", "libcoll.so.0"), "/usr/local/lib/libcoll.so.0"]
    problems = []
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError as problem:
            problems.append(str(problem))
    raise ImportError("libcoll is not found: install it (make install), or let COLL_LIBRARY name libcoll.so.0. "
                      f"Tried: {'; '.join(problems)}")


library = _load()

_COUNTS = POINTER(c_size_t)
_TYPE, _OP, _COMM, _BUFFER, _COUNT, _ROOT = c_uint32, c_uint32, c_void_p, c_void_p, c_size_t, c_int

# The arguments of each collective before the communicator.
COLLECTIVES: dict[str, list[Any]] = {
    "barrier": [],
    "bcast": [_BUFFER, _COUNT, _TYPE, _ROOT],
    "reduce": [_BUFFER, _BUFFER, _COUNT, _TYPE, _OP, _ROOT],
    "allreduce": [_BUFFER, _BUFFER, _COUNT, _TYPE, _OP],
    "scatter": [_BUFFER, _BUFFER, _COUNT, _TYPE, _ROOT],
    "scatterv": [_BUFFER, _COUNTS, _COUNTS, _BUFFER, _COUNT, _TYPE, _ROOT],
    "gather": [_BUFFER, _BUFFER, _COUNT, _TYPE, _ROOT],
    "gatherv": [_BUFFER, _COUNT, _BUFFER, _COUNTS, _COUNTS, _TYPE, _ROOT],
    "allgather": [_BUFFER, _BUFFER, _COUNT, _TYPE],
    "allgatherv": [_BUFFER, _COUNT, _BUFFER, _COUNTS, _COUNTS, _TYPE],
    "alltoall": [_BUFFER, _BUFFER, _COUNT, _TYPE],
    "alltoallv": [_BUFFER, _COUNTS, _COUNTS, _BUFFER, _COUNTS, _COUNTS, _TYPE],
    "reduce_scatter": [_BUFFER, _BUFFER, _COUNTS, _TYPE, _OP],
    "reduce_scatter_block": [_BUFFER, _BUFFER, _COUNT, _TYPE, _OP],
    "scan": [_BUFFER, _BUFFER, _COUNT, _TYPE, _OP],
    "exscan": [_BUFFER, _BUFFER, _COUNT, _TYPE, _OP],
    "neighbor_exchange": [POINTER(Message), _COUNT, POINTER(Message), _COUNT],
}


def _declare() -> None:
    status: Any = c_int
    request: Any = POINTER(c_void_p)
    functions: dict[str, tuple[Any, list[Any]]] = {
        "coll_strerror": (c_char_p, [c_int]),
        "coll_last_error": (c_char_p, []),
        "coll_version": (c_char_p, []),
        "coll_datatype_size": (c_size_t, [_TYPE]),
        "coll_datatype_name": (c_char_p, [_TYPE]),
        "coll_op_create": (status, [OpFunction, c_int, c_void_p, POINTER(_OP)]),
        "coll_op_create_scaled_sum": (status, [c_char_p, _TYPE, POINTER(_OP)]),
        "coll_op_free": (status, [_OP]),
        "coll_op_name": (c_char_p, [_OP]),
        "coll_op_defined": (c_int, [_OP, _TYPE]),
        "coll_comm_create": (status, [POINTER(Bootstrap), request]),
        "coll_comm_create_from_launcher": (status, [request]),
        "coll_comm_split": (status, [_COMM, c_int, c_int, request]),
        "coll_comm_free": (status, [_COMM]),
        "coll_comm_abort": (status, [_COMM, c_int]),
        "coll_comm_rank": (c_int, [_COMM]),
        "coll_comm_size": (c_int, [_COMM]),
        "coll_comm_describe": (c_char_p, [_COMM]),
        "coll_mem_alloc": (status, [c_size_t, request]),
        "coll_mem_free": (status, [c_void_p]),
        "coll_start": (status, [c_void_p]),
        "coll_test": (status, [request, POINTER(c_int)]),
        "coll_wait": (status, [request]),
        "coll_progress": (status, []),
        "coll_request_free": (status, [c_void_p]),
    }
    for name, arguments in COLLECTIVES.items():
        functions[f"coll_{name}"] = (status, [*arguments, _COMM])
        functions[f"coll_i{name}"] = (status, [*arguments, _COMM, request])
        functions[f"coll_{name}_init"] = (status, [*arguments, _COMM, request])
    for name, (result, arguments_of) in functions.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments_of


_declare()


def error_of(status: int) -> Error:
    """The exception for a status that the last libcoll call of this thread returned."""
    text = library.coll_last_error() or library.coll_strerror(status)
    kinds: dict[int, type[Error]] = {Status.PEER_DIED: PeerDied, Status.ABORTED: Aborted}
    return kinds.get(status, Error)(status, text.decode(errors="replace"))


def check(status: int) -> None:
    """Raises the exception for the status of a call, unless it is OK."""
    if status != 0:
        raise error_of(status)


def library_version() -> str:
    """Version of the libcoll that is loaded, "MAJOR.MINOR.PATCH"."""
    return str(library.coll_version().decode())
