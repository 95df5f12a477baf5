# SPDX-License-Identifier: BSD-3-Clause
"""Turns the arguments of each collective into those of coll.h. One function a collective; its blocking, non-blocking
and persistent form in communicator.py share it, with its docstring.

`send` and `recv` are buffers or IN_PLACE. Where recv may be left out, the result is a new buffer. `datatype` names the
elements where the buffers do not. [n] is a number of elements; `ranks` is comm.size.
"""
import ctypes
from typing import TYPE_CHECKING, Any, Generic, Sequence, TypeVar

from ._abi import Message, check, library
from .buffers import Buffer, new_like
from .constants import IN_PLACE, Datatype, InPlace, Op
from .operations import Created

if TYPE_CHECKING:
    from .communicator import Communicator

R = TypeVar("R")
Counts = Sequence[int]
AnyOp = Op | Created
_IN_PLACE_ADDRESS = ctypes.c_void_p(-1).value


class Prepared(Generic[R]):
    """Arguments of a call, with what must live as long as it runs."""

    def __init__(self, arguments: list[Any], result: R, held: Sequence[Buffer] = (),
                 op: "AnyOp | None" = None) -> None:
        self.arguments = arguments
        self.result = result
        self._held = held
        self._op = op

    def finish(self, status: int) -> None:
        """Raises the status of the collective as an exception; one of a user's operation comes first."""
        if isinstance(self._op, Created):
            self._op.raise_pending()
        check(status)

    def release(self) -> None:
        for buffer in self._held:
            buffer.release()


def _number(op: AnyOp) -> int:
    if isinstance(op, Created):
        if op.number is None:
            raise ValueError("the operation has been freed")
        return op.number
    return int(op)


def _array(numbers: Counts | None, ranks: int, name: str) -> Any:
    if numbers is None:
        return None
    if len(numbers) != ranks:
        raise ValueError(f"{name} has {len(numbers)} entries, for {ranks} ranks")
    return (ctypes.c_size_t * ranks)(*numbers)


class _Sides:
    """Send and receive buffer of a call: their addresses, and the datatype on which they agree."""

    def __init__(self, send: Any, recv: Any, datatype: int | None) -> None:
        self.send = None if send is None or isinstance(send, InPlace) else Buffer(send, datatype, False, "send")
        self.recv = None if recv is None or isinstance(recv, InPlace) else Buffer(recv, datatype, True, "recv")
        self.held = [side for side in (self.send, self.recv) if side is not None]
        if not self.held:
            raise ValueError("neither send nor recv is a buffer")
        types = {int(side.datatype) for side in self.held}
        if len(types) > 1:
            names = " and ".join(str(library.coll_datatype_name(t).decode()) for t in sorted(types))
            raise ValueError(f"send and recv have different datatypes: {names}; name one by datatype=")
        self.datatype = types.pop()
        self.itemsize = self.held[0].itemsize
        self.send_address = _IN_PLACE_ADDRESS if isinstance(send, InPlace) else self.send and self.send.address
        self.recv_address = _IN_PLACE_ADDRESS if isinstance(recv, InPlace) else self.recv and self.recv.address

    def sent(self, blocks: int = 1) -> int:
        """Elements of a block of send."""
        return _blocks(self.send, blocks, "send")

    def received(self, blocks: int = 1) -> int:
        """Elements of a block of recv."""
        return _blocks(self.recv, blocks, "recv")


def _blocks(side: Buffer | None, blocks: int, name: str) -> int:
    if side is None:
        raise ValueError(f"{name} is missing")
    if side.count % blocks != 0:
        raise ValueError(f"{name} has {side.count} elements, which {blocks} blocks cannot share equally")
    return side.count // blocks


def _same(wanted: int, found: int, name: str) -> None:
    if wanted != found:
        raise ValueError(f"{name} has {found} elements; {wanted} are needed")


def _at_least(counts: Counts, displs: Counts | None, side: Buffer | None, name: str) -> None:
    """Checks that a buffer contains all blocks; without displs they follow each other."""
    if displs is None:
        reach = sum(counts)
    else:
        reach = max((d + c for c, d in zip(counts, displs) if c), default=0)
    if min(counts, default=0) < 0 or (displs and min(displs) < 0):
        raise ValueError("counts and displacements must not be negative")
    if side is not None and side.count < reach:
        raise ValueError(f"{name} has {side.count} elements; the counts and displacements reach to {reach}")


def barrier(comm: "Communicator") -> Prepared[None]:
    """Returns when every rank has called it."""
    return Prepared([], None)


def bcast(comm: "Communicator", buffer: Any, root: int = 0, *, datatype: int | None = None) -> Prepared[Any]:
    """Copies the root's buffer to every rank. buffer: [count], read at the root, written at the others; the same
    count and datatype on every rank. Returns buffer."""
    side = Buffer(buffer, datatype, comm.rank != root, "buffer")
    return Prepared([side.address, side.count, side.datatype, root], buffer, [side])


def _vector(send: Any, recv: Any, datatype: int | None) -> tuple[_Sides, Any, int]:
    """A reduction's buffers of equal length; a new one where recv is None."""
    if isinstance(send, InPlace) and recv is None:
        raise ValueError("in place, recv holds the input: pass it")
    if recv is None:
        probe = Buffer(send, datatype, False, "send")
        recv = new_like(send, probe.count, probe.itemsize)
    sides = _Sides(send, recv, datatype)
    count = sides.received()
    if sides.send is not None:
        _same(count, sides.sent(), "send")
    return sides, recv, count


def reduce(comm: "Communicator", send: Any, recv: Any = None, op: AnyOp = Op.SUM, root: int = 0, *,
           datatype: int | None = None) -> Prepared[Any]:
    """Combines the send buffers of all ranks into the root's recv: recv[i] = send_0[i] op send_1[i] op ... . send:
    [count]. recv: [count] at the root, ignored elsewhere. In place: IN_PLACE as send, at the root only. Returns recv
    at the root, None elsewhere."""
    if comm.rank == root:
        sides, result, count = _vector(send, recv, datatype)
    else:
        sides, result = _Sides(send, None, datatype), None
        count = sides.sent()
    arguments = [sides.send_address, sides.recv_address, count, sides.datatype, _number(op), root]
    return Prepared(arguments, result, sides.held, op)


def allreduce(comm: "Communicator", send: Any, recv: Any = None, op: AnyOp = Op.SUM, *,
              datatype: int | None = None) -> Prepared[Any]:
    """Combines the send buffers of all ranks: recv[i] = send_0[i] op send_1[i] op ..., the same bits on every rank
    and for every placement. send, recv: [count]. In place: IN_PLACE as send. Returns recv."""
    sides, result, count = _vector(send, recv, datatype)
    arguments = [sides.send_address, sides.recv_address, count, sides.datatype, _number(op)]
    return Prepared(arguments, result, sides.held, op)


def scan(comm: "Communicator", send: Any, recv: Any = None, op: AnyOp = Op.SUM, *,
         datatype: int | None = None) -> Prepared[Any]:
    """Inclusive prefix reduction: recv[i] = send_0[i] op ... op send_rank[i]. send, recv: [count]. In place: IN_PLACE
    as send. Returns recv."""
    return allreduce(comm, send, recv, op, datatype=datatype)


def exscan(comm: "Communicator", send: Any, recv: Any = None, op: AnyOp = Op.SUM, *,
           datatype: int | None = None) -> Prepared[Any]:
    """Exclusive prefix reduction: as scan() without the caller's own operand. Rank 0 has no result: its recv is not
    written. send, recv: [count]. In place: IN_PLACE as send. Returns recv."""
    return allreduce(comm, send, recv, op, datatype=datatype)


def scatter(comm: "Communicator", send: Any, recv: Any, root: int = 0, *, datatype: int | None = None) -> Prepared[Any]:
    """Sends block r of the root's send to rank r. send: [ranks][count] at the root, None elsewhere. recv: [count]. In
    place: IN_PLACE as recv, at the root only; its block stays in send. Returns recv, at a root in place send."""
    sides = _Sides(send if comm.rank == root else None, recv, datatype)
    in_place = comm.rank == root and sides.recv is None
    count = sides.sent(comm.size) if in_place else sides.received()
    if comm.rank == root and not in_place:
        _same(count * comm.size, sides.sent(), "send")
    arguments = [sides.send_address, sides.recv_address, count, sides.datatype, root]
    return Prepared(arguments, send if in_place else recv, sides.held)


def scatterv(comm: "Communicator", send: Any, counts: Counts | None, recv: Any, displs: Counts | None = None,
             root: int = 0, *, datatype: int | None = None) -> Prepared[Any]:
    """As scatter(), with blocks of different lengths: rank r gets the [counts[r]] elements from send + displs[r] on.
    counts, displs: [ranks] of elements, read at the root only; without displs the blocks follow each other. recv:
    [counts[rank]]. Returns recv, at a root in place send."""
    sides = _Sides(send if comm.rank == root else None, recv, datatype)
    if comm.rank == root:
        if counts is None:
            raise ValueError("counts are needed at the root")
        _at_least(counts, displs, sides.send, "send")
    count = 0 if sides.recv is None else sides.received()
    arguments = [sides.send_address, _array(counts, comm.size, "counts"), _array(displs, comm.size, "displs"),
                 sides.recv_address, count, sides.datatype, root]
    return Prepared(arguments, send if sides.recv is None else recv, sides.held)


def gather(comm: "Communicator", send: Any, recv: Any = None, root: int = 0, *,
           datatype: int | None = None) -> Prepared[Any]:
    """Collects the send buffers of all ranks at the root; the one of rank r becomes block r. send: [count]. recv:
    [ranks][count] at the root, ignored elsewhere. In place: IN_PLACE as send, at the root only. Returns recv at the
    root, None elsewhere."""
    if comm.rank != root:
        sides, recv = _Sides(send, None, datatype), None
        count = sides.sent()
    else:
        sides, recv, count = _collected(comm, send, recv, datatype)
    return Prepared([sides.send_address, sides.recv_address, count, sides.datatype, root], recv, sides.held)


def _collected(comm: "Communicator", send: Any, recv: Any, datatype: int | None) -> tuple[_Sides, Any, int]:
    """Buffers of a gather: one block sent, one a rank received."""
    if recv is None and not isinstance(send, InPlace):
        probe = Buffer(send, datatype, False, "send")
        recv = new_like(send, probe.count * comm.size, probe.itemsize, comm.size)
    sides = _Sides(send, recv, datatype)
    count = sides.received(comm.size)
    if sides.send is not None:
        _same(sides.sent() * comm.size, sides.received(), "recv")
    return sides, recv, count


def gatherv(comm: "Communicator", send: Any, recv: Any, counts: Counts | None, displs: Counts | None = None,
            root: int = 0, *, datatype: int | None = None) -> Prepared[Any]:
    """As gather(), with blocks of different lengths: the [count] elements that rank r sends go to recv + displs[r],
    and count equals counts[r]. counts, displs: [ranks] of elements, read at the root only; without displs the blocks
    follow each other. Returns recv at the root, None elsewhere."""
    at_root = comm.rank == root
    sides = _Sides(send, recv if at_root else None, datatype)
    if at_root:
        if counts is None or sides.recv is None:
            raise ValueError("recv and counts are needed at the root")
        _at_least(counts, displs, sides.recv, "recv")
    count = 0 if sides.send is None else sides.sent()
    arguments = [sides.send_address, count, sides.recv_address, _array(counts, comm.size, "counts"),
                 _array(displs, comm.size, "displs"), sides.datatype, root]
    return Prepared(arguments, recv if at_root else None, sides.held)


def allgather(comm: "Communicator", send: Any, recv: Any = None, *, datatype: int | None = None) -> Prepared[Any]:
    """As gather(), with the result on every rank. send: [count]. recv: [ranks][count]. In place: IN_PLACE as send;
    block `rank` of recv is the input. Returns recv."""
    sides, recv, count = _collected(comm, send, recv, datatype)
    return Prepared([sides.send_address, sides.recv_address, count, sides.datatype], recv, sides.held)


def allgatherv(comm: "Communicator", send: Any, recv: Any, counts: Counts, displs: Counts | None = None, *,
               datatype: int | None = None) -> Prepared[Any]:
    """As allgather(), with blocks of different lengths: the [counts[r]] elements that rank r sends go to recv +
    displs[r]. counts: [ranks], the same on every rank; displs: [ranks]; without them the blocks follow each other.
    Returns recv."""
    sides = _Sides(send, recv, datatype)
    _at_least(counts, displs, sides.recv, "recv")
    count = counts[comm.rank] if sides.send is None else sides.sent()
    arguments = [sides.send_address, count, sides.recv_address, _array(counts, comm.size, "counts"),
                 _array(displs, comm.size, "displs"), sides.datatype]
    return Prepared(arguments, recv, sides.held)


def alltoall(comm: "Communicator", send: Any, recv: Any = None, *, datatype: int | None = None) -> Prepared[Any]:
    """Sends block r of send to rank r; block r of recv comes from rank r. send, recv: [ranks][count]. In place:
    IN_PLACE as send. Returns recv."""
    sides, recv, total = _vector(send, recv, datatype)
    arguments = [sides.send_address, sides.recv_address, sides.received(comm.size), sides.datatype]
    return Prepared(arguments, recv, sides.held)


def alltoallv(comm: "Communicator", send: Any, send_counts: Counts | None, recv: Any, recv_counts: Counts,
              send_displs: Counts | None = None, recv_displs: Counts | None = None, *,
              datatype: int | None = None) -> Prepared[Any]:
    """As alltoall(), with blocks of different lengths: the [send_counts[r]] elements from send + send_displs[r] on go
    to rank r, [recv_counts[r]] from it to recv + recv_displs[r]. All arrays: [ranks] of elements; without
    displacements the blocks follow each other. In place: IN_PLACE as send, send_counts None. Returns recv."""
    sides = _Sides(send, recv, datatype)
    if sides.send is not None:
        if send_counts is None:
            raise ValueError("send_counts are needed unless in place")
        _at_least(send_counts, send_displs, sides.send, "send")
    _at_least(recv_counts, recv_displs, sides.recv, "recv")
    arguments = [sides.send_address, _array(send_counts, comm.size, "send_counts"),
                 _array(send_displs, comm.size, "send_displs"), sides.recv_address,
                 _array(recv_counts, comm.size, "recv_counts"), _array(recv_displs, comm.size, "recv_displs"),
                 sides.datatype]
    return Prepared(arguments, recv, sides.held)


def neighbor_exchange(comm: "Communicator", sends: Sequence[tuple[int, Any]],
                      receives: Sequence[tuple[int, Any]]) -> Prepared[list[Any]]:
    """Sends each of `sends`, pairs (rank, buffer), to its rank, and fills the buffers of `receives`, pairs likewise, from
    theirs. A rank knows its own lists alone; both may be empty. The k-th buffer that rank a lists for rank b goes to the
    k-th that b lists from a, of as many bytes: else this raises TRUNCATE or COUNT, and the communicator stays usable.
    Buffers of any type and length. Cost grows with the messages, not with the ranks. Returns the filled buffers."""
    held: list[Buffer] = []

    def listed(messages: Sequence[tuple[int, Any]], writable: bool, name: str) -> Any:
        entries = (Message * len(messages))()
        for entry, (peer, data) in zip(entries, messages):
            buffer = Buffer(data, None, writable, name)
            held.append(buffer)
            entry.peer, entry.data, entry.bytes = peer, buffer.address, buffer.count * buffer.itemsize
        return entries

    arguments = [listed(sends, False, "sends"), len(sends), listed(receives, True, "receives"), len(receives)]
    return Prepared(arguments, [data for _, data in receives], held)


def reduce_scatter(comm: "Communicator", send: Any, recv: Any, counts: Counts, op: AnyOp = Op.SUM, *,
                   datatype: int | None = None) -> Prepared[Any]:
    """Combines the send buffers as allreduce() does and leaves block r of the result at rank r. counts: [ranks], the
    same on every rank. send: [sum(counts)]. recv: [counts[rank]]. In place: IN_PLACE as send; recv: [sum(counts)]
    holds the input, its first counts[rank] elements are replaced by the result. Returns recv."""
    sides = _Sides(send, recv, datatype)
    numbers = _array(counts, comm.size, "counts")
    if isinstance(send, InPlace):
        _at_least(counts, None, sides.recv, "recv")
    else:
        _at_least(counts, None, sides.send, "send")
        _same(counts[comm.rank], sides.received(), "recv")
    arguments = [sides.send_address, sides.recv_address, numbers, sides.datatype, _number(op)]
    return Prepared(arguments, recv, sides.held, op)


def reduce_scatter_block(comm: "Communicator", send: Any, recv: Any, op: AnyOp = Op.SUM, *,
                         datatype: int | None = None) -> Prepared[Any]:
    """As reduce_scatter(), with the same count for every rank. send: [ranks][count]. recv: [count], in place
    [ranks][count]. Returns recv."""
    sides = _Sides(send, recv, datatype)
    count = sides.received(comm.size) if isinstance(send, InPlace) else sides.received()
    if not isinstance(send, InPlace):
        _same(count * comm.size, sides.sent(), "send")
    return Prepared([sides.send_address, sides.recv_address, count, sides.datatype, _number(op)], recv, sides.held, op)


__all__ = ["IN_PLACE", "Datatype", "Prepared"]
