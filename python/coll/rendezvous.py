# SPDX-License-Identifier: BSD-3-Clause
"""Meetings of ranks that no launcher of libcoll has started: rank 0 listens at a socket, the others connect; rank 0
collects the bytes of each rank and sends all of them to each. Rank 0 handles p - 1 short messages in each of three rounds."""
import contextlib
import os
import re
import socket
import struct
import time
from dataclasses import dataclass
from typing import Iterator

_HELLO = struct.Struct("<8sII")  # magic, rank, ranks
_MAGIC = b"libcoll1"
_LENGTH = struct.Struct("<Q")


class Meeting:
    """The connections of this rank: rank 0 has one to each other rank, in order; the others one to rank 0."""

    def __init__(self, rank: int, ranks: int, peers: list[socket.socket]) -> None:
        self.rank, self.ranks, self.peers = rank, ranks, peers

    def allgather(self, mine: bytes) -> list[bytes]:
        if self.rank == 0:
            everything = b"".join([mine, *(_receive(peer) for peer in self.peers)])
            for peer in self.peers:
                _send(peer, everything)
        else:
            _send(self.peers[0], mine)
            everything = _receive(self.peers[0])
        return [everything[r * len(mine):(r + 1) * len(mine)] for r in range(self.ranks)]


def _send(peer: socket.socket, data: bytes) -> None:
    peer.sendall(_LENGTH.pack(len(data)) + data)


def _exactly(peer: socket.socket, size_bytes: int) -> bytes:
    data = bytearray()
    while len(data) < size_bytes:
        part = peer.recv(size_bytes - len(data))
        if not part:
            raise ConnectionError("a rank has ended while the ranks were meeting")
        data += part
    return bytes(data)


def _receive(peer: socket.socket) -> bytes:
    return _exactly(peer, _LENGTH.unpack(_exactly(peer, _LENGTH.size))[0])


def _left(deadline: float) -> float:
    """Seconds until the deadline; a socket with a timeout of 0 would not wait at all."""
    return max(deadline - time.monotonic(), 0.001)


def _accept_all(listener: socket.socket, ranks: int, deadline: float) -> list[socket.socket]:
    """The connections of ranks 1 to ranks - 1, in this order. Processes that are no ranks are turned away."""
    arrived: dict[int, socket.socket] = {}
    while len(arrived) < ranks - 1:
        listener.settimeout(_left(deadline))
        try:
            peer, _ = listener.accept()
        except TimeoutError:
            missing = [r for r in range(1, ranks) if r not in arrived]
            raise TimeoutError(f"ranks {missing} have not come to the meeting point") from None
        peer.settimeout(min(_left(deadline), 10))
        try:
            magic, rank, theirs = _HELLO.unpack(_exactly(peer, _HELLO.size))
        except (ConnectionError, TimeoutError):
            magic, rank, theirs = b"", 0, 0
        if magic != _MAGIC:
            peer.close()
        elif theirs != ranks or not 0 < rank < ranks or rank in arrived:
            raise ValueError(f"a process came to the meeting of {ranks} ranks as rank {rank} of {theirs}")
        else:
            arrived[rank] = peer
    return [arrived[rank] for rank in range(1, ranks)]


def _connect(family: int, address: object, rank: int, ranks: int, deadline: float) -> socket.socket:
    while True:
        peer = socket.socket(family, socket.SOCK_STREAM)
        try:
            peer.settimeout(_left(deadline))
            peer.connect(address)  # type: ignore[arg-type]
            peer.sendall(_HELLO.pack(_MAGIC, rank, ranks))
            return peer
        except (FileNotFoundError, ConnectionRefusedError, TimeoutError, BlockingIOError):
            peer.close()
            if time.monotonic() >= deadline:
                raise TimeoutError(f"rank 0 does not listen at {address}") from None
            time.sleep(0.01)


@contextlib.contextmanager
def _meeting(rank: int, ranks: int, peers: list[socket.socket], deadline: float) -> Iterator[Meeting]:
    try:
        for peer in peers:
            peer.settimeout(_left(deadline))
        yield Meeting(rank, ranks, peers)
    finally:
        for peer in peers:
            peer.close()


def _check(rank: int, ranks: int) -> None:
    if not 0 <= rank < ranks:
        raise ValueError(f"rank {rank} of {ranks} does not exist")


@contextlib.contextmanager
def at_path(path: str, rank: int, ranks: int, timeout_s: float) -> Iterator[Meeting]:
    """A meeting at a socket of the file system. Where an earlier job has left one, nothing listens there: rank 0
    replaces it, and the others try again until it has."""
    _check(rank, ranks)
    deadline = time.monotonic() + timeout_s
    # A socket's address is short: the name is relative to a descriptor of its directory.
    folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_PATH | os.O_DIRECTORY)
    address = f"/proc/self/fd/{folder}/{os.path.basename(path)}"
    try:
        if rank != 0:
            peers = [_connect(socket.AF_UNIX, address, rank, ranks, deadline)]
        else:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
                fresh = f"{address}.{os.getpid()}"
                listener.bind(fresh)
                listener.listen(ranks)
                os.rename(fresh, address)
                try:
                    peers = _accept_all(listener, ranks, deadline)
                finally:
                    os.unlink(address)
        with _meeting(rank, ranks, peers, deadline) as meeting:
            yield meeting
    finally:
        os.close(folder)


@contextlib.contextmanager
def at_address(host: str, port: int, rank: int, ranks: int, timeout_s: float) -> Iterator[Meeting]:
    """A meeting at a TCP address, at which rank 0 listens."""
    _check(rank, ranks)
    deadline = time.monotonic() + timeout_s
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    if rank != 0:
        peers = [_connect(family, address, rank, ranks, deadline)]
    else:
        with socket.create_server(address[:2], family=family, backlog=ranks) as listener:
            peers = _accept_all(listener, ranks, deadline)
    with _meeting(rank, ranks, peers, deadline) as meeting:
        yield meeting


@dataclass
class Place:
    """Where this process stands in its job: rank among the ranks of this node, and a path that they alone name."""
    rank: int
    ranks: int
    path: str


def place_of_launcher() -> Place | None:
    """Returns the place by the variables of the launcher; None under collctl run, or without a launcher."""
    env = os.environ
    if "COLL_LAUNCH" in env:
        return None
    if "OMPI_COMM_WORLD_LOCAL_SIZE" in env:
        job = env.get("PMIX_NAMESPACE") or env.get("OMPI_MCA_ess_base_jobid", "")
        rank, ranks = env["OMPI_COMM_WORLD_LOCAL_RANK"], env["OMPI_COMM_WORLD_LOCAL_SIZE"]
    elif "MPI_LOCALNRANKS" in env:
        job = _ancestor("hydra_pmi_proxy", "hydra_bstrap_proxy")
        rank, ranks = env["MPI_LOCALRANKID"], env["MPI_LOCALNRANKS"]
    elif "LOCAL_WORLD_SIZE" in env and "MASTER_PORT" in env:
        job = "-".join(("torchrun", env.get("TORCHELASTIC_RUN_ID", ""), env["MASTER_PORT"],
                        env.get("TORCHELASTIC_RESTART_COUNT", "0")))
        rank, ranks = env["LOCAL_RANK"], env["LOCAL_WORLD_SIZE"]
    elif "SLURM_LOCALID" in env and "SLURM_STEP_TASKS_PER_NODE" in env:
        job = f"slurm-{env['SLURM_JOB_ID']}-{env['SLURM_STEP_ID']}"
        rank = env["SLURM_LOCALID"]
        ranks = str(tasks_of_node(env["SLURM_STEP_TASKS_PER_NODE"], int(env.get("SLURM_NODEID", "0"))))
    else:
        return None
    if not job:
        raise RuntimeError("the launcher's variables do not name the job; use Communicator.from_mpi() or from_file()")
    if int(ranks) == 1:
        return None
    return Place(int(rank), int(ranks), f"/tmp/libcoll-{os.getuid()}-{re.sub(r'[^A-Za-z0-9.-]', '_', job)}")


def tasks_of_node(counts: str, node: int) -> int:
    """Slurm's "4(x2),3": two nodes of four tasks each, then one of three."""
    for part in counts.split(","):
        tasks, _, times = part.rstrip(")").partition("(x")
        if node < int(times or 1):
            return int(tasks)
        node -= int(times or 1)
    raise ValueError(f"'{counts}' does not say how many tasks this node has")


def _ancestor(*names: str) -> str:
    """Name, number and start of the nearest ancestor that has one of the names; "" if there is none."""
    process = os.getppid()
    while process > 1:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            head, _, tail = file.read().rpartition(")")
        name, fields = head.partition("(")[2], tail.split()
        if name in {n[:15] for n in names}:
            return f"{name}-{process}-{fields[19]}"
        process = int(fields[1])
    return ""
