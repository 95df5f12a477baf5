# SPDX-License-Identifier: BSD-3-Clause
"""Creates communicators without collctl run; ranks that find no peer fail with a reason."""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

import coll
from coll import rendezvous

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "mpi"))
import mpirun

PYTHON = [sys.executable, "-B", "-c"]
SUM = """
sums = comm.allreduce(array.array("q", [comm.rank + 1]))
assert sums.tolist() == [comm.size * (comm.size + 1) // 2], sums.tolist()
print(f"rank {comm.rank} of {comm.size}")
"""


def start(code, *words):
    return subprocess.Popen([*PYTHON, "import array, coll, sys\n" + code, *map(str, words)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def finish(ranks):
    """Returns what each rank prints; all must succeed within a time that suffices on a loaded machine."""
    texts = []
    for rank in ranks:
        out, err = rank.communicate(timeout=60)
        assert rank.returncode == 0, err
        texts.append(out.strip())
    return texts


def expect_ranks(texts, ranks):
    # Launchers may join lines of several ranks.
    found = re.findall(r"rank \d+ of \d+", "".join(texts))
    assert sorted(found) == [f"rank {rank} of {ranks}" for rank in range(ranks)]
    assert "".join(texts) == "".join(found)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_from_file_in_any_order_of_arrival(tmp_path):
    code = "comm = coll.Communicator.from_file(sys.argv[1], int(sys.argv[2]), 4)\n" + SUM
    path = tmp_path / "a-name-that-is-too-long-for-the-address-of-a-socket" / ("d" * 100) / "meeting"
    path.parent.mkdir(parents=True)
    ranks = [start(code, path, 3)]
    time.sleep(0.2)
    ranks += [start(code, path, rank) for rank in (0, 2, 1)]
    expect_ranks(finish(ranks), 4)
    assert list(path.parent.iterdir()) == []


def test_from_file_replaces_what_an_earlier_job_left(tmp_path):
    path = tmp_path / "meeting"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    code = "comm = coll.Communicator.from_file(sys.argv[1], int(sys.argv[2]), 2)\n" + SUM
    ranks = [start(code, path, 1)]
    time.sleep(0.2)
    ranks.append(start(code, path, 0))
    expect_ranks(finish(ranks), 2)


def test_from_tcp():
    code = "comm = coll.Communicator.from_tcp('127.0.0.1', int(sys.argv[1]), int(sys.argv[2]), 3)\n" + SUM
    port = free_port()
    ranks = [start(code, port, rank) for rank in range(1, 3)] + [start(code, port, 0)]
    expect_ranks(finish(ranks), 3)


def test_an_unrelated_process_does_not_disturb_the_meeting():
    code = "comm = coll.Communicator.from_tcp('127.0.0.1', int(sys.argv[1]), int(sys.argv[2]), 2)\n" + SUM
    port = free_port()
    ranks = [start(code, port, 0)]
    deadline = time.monotonic() + 30
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port)) as stranger:
                stranger.sendall(b"GET / HTTP/1.0\r\n\r\n")
            break
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    ranks.append(start(code, port, 1))
    expect_ranks(finish(ranks), 2)


def test_missing_ranks_are_named(tmp_path):
    with pytest.raises(TimeoutError, match=r"ranks \[1, 2\] have not come"):
        coll.Communicator.from_file(str(tmp_path / "meeting"), 0, 3, timeout_s=0.2)
    with pytest.raises(TimeoutError, match="rank 0 does not listen"):
        coll.Communicator.from_tcp("127.0.0.1", free_port(), 1, 2, timeout_s=0.2)
    with pytest.raises(ValueError, match="rank 2 of 2"):
        coll.Communicator.from_file(str(tmp_path / "meeting"), 2, 2)


def test_a_failing_allgather_is_raised():
    def fail(mine):
        raise KeyError("planted")

    with pytest.raises(KeyError, match="planted"):
        coll.Communicator.create(0, 2, fail)
    with pytest.raises(ValueError, match="allgather returned"):
        coll.Communicator.create(0, 2, lambda mine: [mine])
    with coll.Communicator.create(0, 1, lambda mine: [mine]) as alone:
        assert (alone.rank, alone.size) == (0, 1)


def test_a_dead_peer_is_noticed(tmp_path):
    code = """
comm = coll.Communicator.from_file(sys.argv[1], int(sys.argv[2]), 2)
comm.barrier()
print("met", flush=True)
if comm.rank == 0:
    sys.stdin.read()
try:
    comm.barrier()
except coll.PeerDied:
    print("peer died")
"""
    path = tmp_path / "meeting"
    victim = subprocess.Popen([*PYTHON, "import coll, sys\n" + code, str(path), "0"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    survivor = start(code, path, 1)
    assert victim.stdout.readline() == "met\n"
    victim.send_signal(signal.SIGKILL)
    out, err = survivor.communicate(timeout=30)
    victim.communicate()
    assert out == "met\npeer died\n", err


def launch(mpi, ranks, *program):
    """Runs the program under that MPI library's launcher and returns the lines of its output."""
    if shutil.which(mpirun.LAUNCHERS[mpi]) is None:
        pytest.skip(f"{mpirun.LAUNCHERS[mpi]} is not installed")
    command = mpirun.command(mpi, mpirun.group(mpi, ranks, program=program), options=mpirun.binding(mpi, "none"))
    environment = {name: value for name, value in mpirun.environment().items() if name != "COLL_LAUNCH"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("mpi", mpirun.LAUNCHERS)
def test_from_environment_under_mpirun(mpi):
    code = "import array, coll\ncomm = coll.Communicator.from_environment()\n" + SUM
    expect_ranks(launch(mpi, 3, *PYTHON, code), 3)


def test_from_mpi4py():
    pytest.importorskip("mpi4py", reason="mpi4py is not installed (Debian: python3-mpi4py)")
    # The launcher of the library that mpi4py was built for.
    asked = subprocess.run([*PYTHON, "import mpi4py.MPI as m; print(m.Get_library_version().split()[0])"],
                           capture_output=True, text=True, check=True, env=mpirun.environment())
    mpi = "openmpi" if "Open" in asked.stdout else "mpich"
    code = "import array, coll\nfrom mpi4py import MPI\ncomm = coll.Communicator.from_mpi(MPI.COMM_WORLD)\n" + SUM
    expect_ranks(launch(mpi, 2, *PYTHON, code), 2)


def test_without_a_launcher_the_program_is_alone(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("COLL_LAUNCH", "OMPI_", "PMI", "SLURM_", "MPI_", "LOCAL_")):
            monkeypatch.delenv(name)
    assert coll.Communicator.from_environment().size == 1


def test_places_of_torchrun_and_slurm(monkeypatch):
    for name in ("COLL_LAUNCH", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"LOCAL_RANK": 1, "LOCAL_WORLD_SIZE": 2, "MASTER_PORT": 29500,
                        "TORCHELASTIC_RUN_ID": "a/b"}.items():
        monkeypatch.setenv(name, str(value))
    place = rendezvous.place_of_launcher()
    assert (place.rank, place.ranks) == (1, 2)
    assert place.path == f"/tmp/libcoll-{os.getuid()}-torchrun-a_b-29500-0"
    monkeypatch.delenv("LOCAL_WORLD_SIZE")
    for name, value in {"SLURM_LOCALID": 2, "SLURM_STEP_TASKS_PER_NODE": "4(x2),3", "SLURM_NODEID": 2,
                        "SLURM_JOB_ID": 8, "SLURM_STEP_ID": 1}.items():
        monkeypatch.setenv(name, str(value))
    place = rendezvous.place_of_launcher()
    assert (place.rank, place.ranks, place.path) == (2, 3, f"/tmp/libcoll-{os.getuid()}-slurm-8-1")
    assert [rendezvous.tasks_of_node("4(x2),3", node) for node in range(3)] == [4, 4, 3]


def test_without_numpy():
    code = """
sys.modules["numpy"] = None
comm = coll.Communicator.from_launcher()
def add(lower, inout):
    for i in range(len(inout)):
        inout[i] += lower[i]
op = coll.Operation(add)
sums = comm.allreduce(array.array("B", [1, 2]), op=op)
assert sums.tolist() == [1, 2] and comm.allgather(b"ab").tolist() == [97, 98]
try:
    coll.empty(3)
except ImportError as problem:
    print(problem)
""".replace("import coll", "")
    body = "import array, sys\nsys.modules['numpy'] = None\nimport coll\n" + code
    done = subprocess.run([*PYTHON, body], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "install numpy" in done.stdout


def test_a_library_that_is_missing_is_named():
    done = subprocess.run([*PYTHON, "import coll"], capture_output=True, text=True, check=False,
                          env=os.environ | {"COLL_LIBRARY": "/nowhere/libcoll.so.0"})
    assert done.returncode != 0 and "/nowhere/libcoll.so.0" in done.stderr


def test_every_function_of_the_header_is_declared():
    header = (pathlib.Path(coll.__file__).parents[2] / "include" / "coll" / "coll.h").read_text()
    import re
    functions = set(re.findall(r"\b(coll_\w+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)))
    functions -= {"coll_comm_set_progress"}  # a callback into Python every few microseconds would cost too much
    declared = {name for name in functions if getattr(coll._abi.library, name).argtypes is not None}
    assert functions - declared == set()


def test_docstrings_and_types():
    for name in dir(coll.Communicator):
        if not name.startswith("_"):
            assert getattr(coll.Communicator, name).__doc__, name
    if shutil.which("mypy") is None:
        pytest.skip("mypy is not installed (Debian: mypy)")
    folder = pathlib.Path(coll.__file__).parent
    done = subprocess.run(["mypy", "--strict", "--cache-dir", os.devnull, str(folder)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout
