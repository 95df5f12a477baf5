# SPDX-License-Identifier: BSD-3-Clause
"""The communicator: how ranks find each other, and the collectives on it."""
import ctypes
import functools
from typing import Any, Callable, Concatenate, Iterable, ParamSpec, TypeVar

from . import calls, rendezvous
from ._abi import Allgather, Bootstrap, Status, check, library
from .requests import PersistentRequest, Request, started

P = ParamSpec("P")
R = TypeVar("R")
Prepare = Callable[Concatenate["Communicator", P], calls.Prepared[R]]


def _blocking(prepare: Prepare[P, R]) -> Callable[Concatenate["Communicator", P], R]:
    call = getattr(library, f"coll_{prepare.__name__}")

    @functools.wraps(prepare)
    def collective(self: "Communicator", /, *args: P.args, **kwargs: P.kwargs) -> R:
        prepared = prepare(self, *args, **kwargs)
        try:
            prepared.finish(call(*prepared.arguments, self._live()))
        finally:
            prepared.release()
        return prepared.result

    return collective


def _renamed(function: Any, prepare: Any, name: str, text: str) -> Any:
    function.__name__, function.__qualname__ = name, f"Communicator.{name}"
    function.__doc__ = f"{text} {prepare.__name__}(), with its arguments: {prepare.__doc__}"
    return function


def _opened(call: Any, comm: "Communicator", prepared: calls.Prepared[R]) -> ctypes.c_void_p:
    """The handle that libcoll makes for the prepared call."""
    handle = ctypes.c_void_p()
    status = call(*prepared.arguments, comm._live(), ctypes.byref(handle))
    if status != 0:
        prepared.release()
    check(status)
    return handle


def _non_blocking(prepare: Prepare[P, R]) -> Callable[Concatenate["Communicator", P], Request[R]]:
    call = getattr(library, f"coll_i{prepare.__name__}")

    def start(self: "Communicator", /, *args: P.args, **kwargs: P.kwargs) -> Request[R]:
        prepared = prepare(self, *args, **kwargs)
        return started(_opened(call, self, prepared), prepared)

    result: Callable[Concatenate["Communicator", P], Request[R]] = _renamed(
        start, prepare, f"i{prepare.__name__}", "Starts and returns at once, with a Request:")
    return result


def _persistent(prepare: Prepare[P, R]) -> Callable[Concatenate["Communicator", P], PersistentRequest[R]]:
    call = getattr(library, f"coll_{prepare.__name__}_init")

    def make(self: "Communicator", /, *args: P.args, **kwargs: P.kwargs) -> PersistentRequest[R]:
        prepared = prepare(self, *args, **kwargs)
        return PersistentRequest(_opened(call, self, prepared), prepared)

    result: Callable[Concatenate["Communicator", P], PersistentRequest[R]] = _renamed(
        make, prepare, f"{prepare.__name__}_init", "Prepares, as a PersistentRequest:")
    return result


class Communicator:
    """One rank's handle on a communicator. At most one thread at a time may be in a blocking collective on it.
    close(), or the end of a `with` block, frees it."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._handle: ctypes.c_void_p | None = handle
        self._rank = int(library.coll_comm_rank(handle))
        self._size = int(library.coll_comm_size(handle))

    # ---- creation ----

    @classmethod
    def from_launcher(cls) -> "Communicator":
        """All ranks that one launcher has started on this node: `collctl run`, `mpirun` of Open MPI, `mpiexec` of MPICH,
        `prterun`, `srun`, `flux run`, PALS, `torchrun`, or a script that sets COLL_RANK, COLL_SIZE and COLL_RENDEZVOUS. A
        program that none has started is the only rank. Fails if the ranks are on several nodes, see
        from_environment()."""
        handle = ctypes.c_void_p()
        check(library.coll_comm_create_from_launcher(ctypes.byref(handle)))
        return cls(handle)

    @classmethod
    def create(cls, rank: int, ranks: int, allgather: Callable[[bytes], Iterable[bytes]]) -> "Communicator":
        """All of `ranks` processes of this node; the caller is `rank`. allgather(mine) returns the bytes of every
        rank, in the order of ranks, all of the length of `mine`. It is called at most three times, in this thread."""
        raised: list[BaseException] = []

        def exchange(send: int, recv: int, size_bytes: int, _context: object) -> int:
            try:
                everything = b"".join(allgather(ctypes.string_at(send, size_bytes)))
                if len(everything) != ranks * size_bytes:
                    raise ValueError(f"allgather returned {len(everything)} bytes instead of {ranks * size_bytes}")
                ctypes.memmove(recv, everything, len(everything))
                return 0
            except BaseException as problem:  # must not cross the C caller
                raised.append(problem)
                return 1

        callback = Allgather(exchange)
        bootstrap = Bootstrap(ctypes.sizeof(Bootstrap), rank, ranks, callback, None)
        handle = ctypes.c_void_p()
        status = library.coll_comm_create(ctypes.byref(bootstrap), ctypes.byref(handle))
        if raised:
            raise raised[0]
        check(status)
        return cls(handle)

    @classmethod
    def from_mpi(cls, comm: Any) -> "Communicator":
        """The ranks of a communicator of mpi4py, which must be on one node; comm.Split_type(MPI.COMM_TYPE_SHARED)
        makes one of the ranks of each node."""
        return cls.create(comm.Get_rank(), comm.Get_size(), comm.allgather)

    @classmethod
    def from_file(cls, path: str, rank: int, ranks: int, timeout_s: float = 60) -> "Communicator":
        """`ranks` processes that name the same path, on a file system of this node: rank 0 makes a socket there, and
        removes it. What an earlier job left there is replaced. Raises TimeoutError unless all have come by then."""
        with rendezvous.at_path(path, rank, ranks, timeout_s) as meeting:
            return cls.create(rank, ranks, meeting.allgather)

    @classmethod
    def from_tcp(cls, host: str, port: int, rank: int, ranks: int, timeout_s: float = 60) -> "Communicator":
        """`ranks` processes of this node that name the same address, at which rank 0 listens meanwhile. Any process
        that reaches the address can disturb the meeting: use an address of the loopback device."""
        with rendezvous.at_address(host, port, rank, ranks, timeout_s) as meeting:
            return cls.create(rank, ranks, meeting.allgather)

    @classmethod
    def from_environment(cls, timeout_s: float = 60) -> "Communicator":
        """The ranks of this node of a job that may have several: of `mpirun` of Open MPI or MPICH, `srun` or `torchrun`, by
        the variables that they set; else as from_launcher(). `timeout_s`: how long to wait for the others, in seconds."""
        place = rendezvous.place_of_launcher()
        if place is None:
            return cls.from_launcher()
        return cls.from_file(place.path, place.rank, place.ranks, timeout_s)

    def split(self, colour: int | None, key: int = 0) -> "Communicator | None":
        """The ranks that give the same colour form a communicator, ordered by key, then by rank. A colour of None, or
        below 0, gives None."""
        handle = ctypes.c_void_p()
        check(library.coll_comm_split(self._live(), -1 if colour is None else colour, key, ctypes.byref(handle)))
        return Communicator(handle) if handle else None

    # ---- life ----

    @property
    def rank(self) -> int:
        """The caller's rank, 0 to size - 1."""
        return self._rank

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self._size

    def describe(self) -> str:
        """One line for people: ranks, hierarchy, transport, table."""
        return str(library.coll_comm_describe(self._live()).decode())

    def abort(self, status: Status = Status.SYSTEM) -> None:
        """Ends all waiting on the communicator, on every rank, within a second: calls raise Aborted. Any thread may
        call it."""
        check(library.coll_comm_abort(self._live(), status))

    def close(self) -> None:
        """Frees the handle. No peer is waited for; active requests go on. A second call does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            library.coll_comm_free(handle)

    def __enter__(self) -> "Communicator":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._handle is None else f"rank {self._rank} of {self._size}"
        return f"<coll.Communicator, {state}>"

    def _live(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise ValueError("the communicator is closed")
        return self._handle

    # ---- collectives ----

    barrier = _blocking(calls.barrier)
    bcast = _blocking(calls.bcast)
    reduce = _blocking(calls.reduce)
    allreduce = _blocking(calls.allreduce)
    scan = _blocking(calls.scan)
    exscan = _blocking(calls.exscan)
    scatter = _blocking(calls.scatter)
    scatterv = _blocking(calls.scatterv)
    gather = _blocking(calls.gather)
    gatherv = _blocking(calls.gatherv)
    allgather = _blocking(calls.allgather)
    allgatherv = _blocking(calls.allgatherv)
    alltoall = _blocking(calls.alltoall)
    alltoallv = _blocking(calls.alltoallv)
    neighbor_exchange = _blocking(calls.neighbor_exchange)
    reduce_scatter = _blocking(calls.reduce_scatter)
    reduce_scatter_block = _blocking(calls.reduce_scatter_block)

    ibarrier = _non_blocking(calls.barrier)
    ibcast = _non_blocking(calls.bcast)
    ireduce = _non_blocking(calls.reduce)
    iallreduce = _non_blocking(calls.allreduce)
    iscan = _non_blocking(calls.scan)
    iexscan = _non_blocking(calls.exscan)
    iscatter = _non_blocking(calls.scatter)
    iscatterv = _non_blocking(calls.scatterv)
    igather = _non_blocking(calls.gather)
    igatherv = _non_blocking(calls.gatherv)
    iallgather = _non_blocking(calls.allgather)
    iallgatherv = _non_blocking(calls.allgatherv)
    ialltoall = _non_blocking(calls.alltoall)
    ialltoallv = _non_blocking(calls.alltoallv)
    ineighbor_exchange = _non_blocking(calls.neighbor_exchange)
    ireduce_scatter = _non_blocking(calls.reduce_scatter)
    ireduce_scatter_block = _non_blocking(calls.reduce_scatter_block)

    barrier_init = _persistent(calls.barrier)
    bcast_init = _persistent(calls.bcast)
    reduce_init = _persistent(calls.reduce)
    allreduce_init = _persistent(calls.allreduce)
    scan_init = _persistent(calls.scan)
    exscan_init = _persistent(calls.exscan)
    scatter_init = _persistent(calls.scatter)
    scatterv_init = _persistent(calls.scatterv)
    gather_init = _persistent(calls.gather)
    gatherv_init = _persistent(calls.gatherv)
    allgather_init = _persistent(calls.allgather)
    allgatherv_init = _persistent(calls.allgatherv)
    alltoall_init = _persistent(calls.alltoall)
    alltoallv_init = _persistent(calls.alltoallv)
    neighbor_exchange_init = _persistent(calls.neighbor_exchange)
    reduce_scatter_init = _persistent(calls.reduce_scatter)
    reduce_scatter_block_init = _persistent(calls.reduce_scatter_block)
