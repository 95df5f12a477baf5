# SPDX-License-Identifier: BSD-3-Clause
"""run.py RANKS FILE [PYTEST OPTION...]: runs pytest on FILE of this folder in RANKS processes at once, each a rank of one job. Prints
the output of rank 0, and failures of the others. Exit status 1 as soon as a rank fails; the others are ended then."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def main():
    ranks, name, options = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-rs", "-p", "no:cacheprovider", "--tb=short",
               "--disable-warnings", "--rootdir", str(HERE), str(HERE / name), *options]
    with tempfile.TemporaryDirectory() as folder:
        processes, outputs = [], []
        for rank in range(ranks):
            environment = os.environ | {"RANK": str(rank), "WORLD_SIZE": str(ranks), "OMP_NUM_THREADS": "1",
                                        "COLL_TEST_STORE": f"{folder}/store"}
            outputs.append(open(f"{folder}/{rank}", "w+", encoding="utf-8"))
            processes.append(subprocess.Popen(command, env=environment, stdout=outputs[-1], stderr=subprocess.STDOUT))
        failed = set()
        while any(process.poll() is None for process in processes) and not failed:
            time.sleep(0.1)
            failed = {rank for rank, process in enumerate(processes) if process.poll() not in (None, 0)}
        failed |= {rank for rank, process in enumerate(processes) if process.poll() not in (None, 0)}
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for rank, process in enumerate(processes):
            process.wait()
            outputs[rank].seek(0)
            if rank == 0 or rank in failed:
                print(f"== rank {rank}\n{outputs[rank].read()}", end="", flush=True)
            outputs[rank].close()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
