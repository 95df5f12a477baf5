# SPDX-License-Identifier: BSD-3-Clause
"""Measures the backends coll and gloo of torch.distributed side by side, in the same processes. README.md says how."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "mpi"))
import mpirun

COLLECTIVES = ("all_reduce", "all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single")
SIZES = [8 << 10, 64 << 10, 512 << 10, 4 << 20, 32 << 20, 64 << 20]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--bind", action="store_true", help="give each rank a core of its own")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each point")
    parser.add_argument("--seconds", type=float, default=0.1, help="least time of a backend in a round")
    parser.add_argument("--sizes", type=lambda text: [int(part) for part in text.split(",")], default=SIZES,
                        help="bytes of the whole vector, separated by commas")
    parser.add_argument("--only", choices=("collectives", "decode", "step"))
    parser.add_argument("--memory", choices=("ordinary", "shared"), default="ordinary",
                        help="tensors of torch.empty(), or of torch_coll.empty() for both backends")
    parser.add_argument("--mpi", metavar="SHIM", help="also measure torch's MPI backend under this shim of libcoll; "
                        "mpirun of Open MPI starts the ranks")
    parser.add_argument("--json", help="file for the results")
    return parser.parse_args()


def start_ranks(options):
    """Starts the ranks and returns their worst status."""
    with tempfile.TemporaryDirectory() as folder:
        if options.mpi:
            variables = {"STORE": f"{folder}/store", "WORLD_SIZE": options.ranks, "OMP_NUM_THREADS": 1,
                         "LD_PRELOAD": options.mpi}
            command = mpirun.command("openmpi", mpirun.group("openmpi", options.ranks, variables, [sys.executable, *sys.argv]),
                                     options=mpirun.binding("openmpi", "none"))
            return subprocess.run(command, env=mpirun.environment(), check=False).returncode
        ranks = [subprocess.Popen([sys.executable, *sys.argv], env=os.environ | {
            "RANK": str(rank), "WORLD_SIZE": str(options.ranks), "STORE": f"{folder}/store", "OMP_NUM_THREADS": "1",
        }) for rank in range(options.ranks)]
        return max(rank.wait() for rank in ranks)


class Bench:
    """Runs one rank."""

    def __init__(self, options):
        import torch
        import torch.distributed as dist
        import torch_coll
        self.torch, self.dist, self.options = torch, dist, options
        self.rank = int(os.environ["OMPI_COMM_WORLD_RANK" if options.mpi else "RANK"])
        self.size = int(os.environ["WORLD_SIZE"])
        if options.bind:
            cores = sorted(os.sched_getaffinity(0))
            os.sched_setaffinity(0, {cores[self.rank % len(cores)]})
        torch.set_num_threads(1)
        dist.init_process_group("coll", store=dist.FileStore(os.environ["STORE"], self.size), rank=self.rank,
                                world_size=self.size)
        self.groups = {"coll": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}
        if options.mpi:
            self.groups["mpi"] = dist.new_group(backend="mpi")
        self.control = dist.new_group(backend="gloo")
        self.results = []
        self.empty = torch_coll.empty if options.memory == "shared" else torch.empty

    def slowest(self, seconds):
        """Returns the longest time of all ranks."""
        longest = self.torch.tensor([seconds], dtype=self.torch.float64)
        self.dist.all_reduce(longest, self.dist.ReduceOp.MAX, group=self.control)
        return longest.item()

    def once(self, call, backend, repetitions):
        self.dist.barrier(self.control)
        start = time.perf_counter()
        for _ in range(repetitions):
            call(self.groups[backend])
        return self.slowest(time.perf_counter() - start) / repetitions

    def measure(self, name, call, backends=None):
        """Rounds of the backends in turns; each repeats the call for about `seconds`."""
        backends = list(backends or self.groups)
        repetitions = {}
        for backend in backends:
            self.once(call, backend, 3)
            longest = self.once(call, backend, 2)
            repetitions[backend] = max(1, min(1000, int(self.options.seconds / longest)))
        times = {backend: [] for backend in backends}
        for turn in range(self.options.rounds):
            for backend in backends[::-1] if turn % 2 else backends:
                times[backend].append(self.once(call, backend, repetitions[backend]))
        row = {"name": name, "ranks": self.size, "bound": self.options.bind, "memory": self.options.memory,
               "times_s": times}
        self.results.append(row)
        if self.rank == 0:
            ours = statistics.median(times["coll"])
            line = f"{name:45} {ours * 1e6:10.1f}"
            if "gloo" in times:
                low, theirs, high = statistics.quantiles(times["gloo"], n=4)
                line += f" {theirs * 1e6:10.1f} ({low * 1e6:.1f} to {high * 1e6:.1f}) {theirs / ours:7.2f}"
            if "mpi" in times:
                line += f"  mpi {statistics.median(times['mpi']) * 1e6:10.1f}"
            print(line, flush=True)

    def collectives(self):
        for collective in COLLECTIVES:
            for dtype in (self.torch.float32, self.torch.bfloat16):
                backends = [backend for backend in self.groups if self.can(backend, collective, dtype)]
                for size in self.options.sizes:
                    label = f"{collective} {str(dtype).removeprefix('torch.')} {size >> 10} KiB"
                    self.measure(label, self.call_of(collective, dtype, size), backends)

    def can(self, backend, collective, dtype):
        """Whether the backend has the collective for this type: gloo and MPI lack some."""
        try:
            self.call_of(collective, dtype, 1 << 10)(self.groups[backend])
            return True
        except (RuntimeError, IndexError) as problem:  # MPI: no such datatype is an IndexError
            if self.rank == 0:
                print(f"{backend} lacks {collective} of {dtype}: {str(problem).splitlines()[0]}", flush=True)
            return False

    def call_of(self, collective, dtype, size):
        count = size // self.torch.empty(0, dtype=dtype).element_size() // self.size * self.size
        whole = self.empty(count, dtype=dtype).fill_(0)
        part = self.empty(count // self.size, dtype=dtype).fill_(0)
        other = self.empty(count, dtype=dtype)
        dist = self.dist
        if collective == "all_reduce":
            return lambda group: dist.all_reduce(whole, group=group)
        if collective == "all_gather_into_tensor":
            return lambda group: dist.all_gather_into_tensor(whole, part, group=group)
        if collective == "reduce_scatter_tensor":
            return lambda group: dist.reduce_scatter_tensor(part, whole, group=group)
        return lambda group: dist.all_to_all_single(other, whole, group=group)

    def decode(self):
        """One token through 16 layers of width 512, each with two all_reduces of its activations."""
        torch, width, layers = self.torch, 512, 16
        shard = 4 * width // self.size
        for dtype in (torch.float32, torch.bfloat16):
            weights = [(torch.randn(width, shard, dtype=dtype) / 32, torch.randn(shard, width, dtype=dtype) / 32)
                       for _ in range(2 * layers)]
            for batch in (1, 16):
                x = torch.randn(batch, width).to(dtype)

                def token(group):
                    y = x
                    with torch.inference_mode():
                        for up, down in weights:
                            partial = torch.relu(y @ up) @ down
                            self.dist.all_reduce(partial, group=group)
                            y = y + partial * 0.01
                    return y

                backends = [backend for backend in self.groups if self.can(backend, "all_reduce", dtype)]
                self.measure(f"decode, batch {batch}, {str(dtype).removeprefix('torch.')}", token, backends)
                activations = torch.zeros(batch, width, dtype=dtype)

                def all_reduces(group):
                    for _ in range(2 * layers):
                        self.dist.all_reduce(activations, group=group)

                self.measure(f"  its {2 * layers} all_reduces alone", all_reduces, backends)

    def step(self):
        """A step of data-parallel training, 8 M parameters."""
        torch = self.torch
        networks = {}
        for backend in self.groups:
            torch.manual_seed(1)
            network = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU())
                                            for _ in range(8)])
            networks[id(self.groups[backend])] = torch.nn.parallel.DistributedDataParallel(
                network, process_group=self.groups[backend])
        inputs = torch.randn(16, 1024)

        def step(group):
            network = networks[id(group)]
            network.zero_grad()
            network(inputs).square().mean().backward()

        self.measure("data-parallel step, 8 M parameters", step)

    def run(self):
        if self.rank == 0:
            print(f"torch {self.torch.__version__}, {self.size} ranks, {'bound' if self.options.bind else 'unbound'}, "
                  f"{self.options.memory} memory")
            print(f"{'':45} {'coll us':>10} {'gloo us':>10} (quartiles) {'ratio':>7}", flush=True)
        for part in ("collectives", "decode", "step"):
            if self.options.only in (None, part):
                getattr(self, part)()
        if self.rank == 0 and self.options.json:
            with open(self.options.json, "w", encoding="utf-8") as file:
                json.dump({"torch": self.torch.__version__, "rows": self.results}, file, indent=1)
        self.dist.destroy_process_group()


if __name__ == "__main__":
    chosen = arguments()
    if "RANK" in os.environ or "OMPI_COMM_WORLD_RANK" in os.environ:
        Bench(chosen).run()
    else:
        sys.exit(start_ranks(chosen))
