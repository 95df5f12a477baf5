# SPDX-License-Identifier: BSD-3-Clause
"""collctl export: the files of other libraries, loaded by Open MPI and MPICH where these are installed."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from cli import Case, main

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "mpi"))
import mpirun

MACHINES = HERE.parents[1] / "lib" / "model" / "machines"


def choice(collective, up_to_bytes, algorithm, **parameters):
    return {"collective": collective, "ranks": 2, "up_to_bytes": up_to_bytes, "algorithm": algorithm, "parameters": parameters,
            "kernel_copies": False, "predicted_us": 1, "measured_us": 1}


# Choices that no library makes by default, so that a library that follows them has read the file.
CHOICES = [choice("bcast", 4096, "shm_pipelined", chunk=1024), choice("bcast", 65536, "scatter_allgather_ring"),
           choice("bcast", 1 << 20, "knomial", k=2), choice("allreduce", 4096, "fused"),
           choice("allreduce", 65536, "all_read"), choice("allreduce", 1 << 20, "dpml", chunk=8192),
           choice("allgather", 65536, "bruck"), choice("allgather", 1 << 20, "ring_source_read")]


class Exported(Case):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        table = json.loads((MACHINES / "default.json").read_text())
        table["choices"] = CHOICES
        self.table = self.folder / "table.json"
        self.table.write_text(json.dumps(table))

    def export(self, library, *arguments):
        path = self.folder / f"{library}.out"
        use = self.run_fine("export", library, "--machine", self.table, "--ranks", "2", "--output", path, *arguments)
        self.assertIn(str(path), use)
        return path

    def program(self, compiler):
        """Builds the MPI program of the test with the compiler of that library; skips with the reason if there is none."""
        if shutil.which(compiler) is None:
            self.skipTest(f"{compiler} is not installed")
        binary = self.folder / "moves"
        subprocess.run([compiler, "-O1", "-Wall", "-Werror", HERE / "mpi" / "moves.c", "-o", binary], check=True)
        return binary

    def spy(self, compiler, source):
        """Builds the library that is preloaded to record which algorithm a collective uses."""
        spy = self.folder / "spy.so"
        subprocess.run([compiler, "-O1", "-Wall", "-Werror", "-D_GNU_SOURCE", "-fPIC", "-shared", HERE / "mpi" / source, "-o", spy,
                        "-ldl"], check=True)
        return spy

    def run_program(self, command, **environment):
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=100,
                              env=mpirun.environment(**environment))


class OpenMpi(Exported):
    def test_the_file_has_the_choices(self):
        rows = [line.split("#")[0].split() for line in self.export("openmpi").read_text().splitlines()]
        rows = [[int(word) for word in row] for row in rows if row]
        # Its counts of collectives, ranks and sizes match its contents to the end.
        rest = iter(rows)
        read = {}
        for _ in range(next(rest)[0]):
            collective, = next(rest)
            for _ in range(next(rest)[0]):
                ranks, = next(rest)
                read[collective, ranks] = [next(rest) for _ in range(next(rest)[0])]
                self.assertEqual(read[collective, ranks][0][0], 0)
        self.assertEqual(list(rest), [])
        bcast, allreduce, allgather = 7, 2, 0
        # The latency path is a linear broadcast; a pipeline has segments.
        self.assertEqual(read[bcast, 2], [[0, 1, 0, 0], [1025, 3, 0, 1024], [4097, 9, 0, 0], [65537, 7, 0, 16384]])
        self.assertEqual(read[allreduce, 2], [[0, 3, 0, 0], [1025, 6, 0, 0], [4097, 3, 0, 0], [65537, 6, 0, 0]])
        # Other libraries use the size of all blocks together.
        self.assertEqual(read[allgather, 2], [[0, 2, 2, 0], [131073, 4, 0, 0]])

    def spied(self, rules):
        spy = self.spy("cc", "openmpi_spy.c")
        dynamic = ["--mca", "coll_tuned_use_dynamic_rules", 1, "--mca", "coll_tuned_dynamic_rules_filename", rules]
        ranks = mpirun.group("openmpi", 2, {"LD_PRELOAD": spy}, [self.folder / "moves"])
        done = self.run_program(mpirun.command("openmpi", ranks, options=[*mpirun.binding("openmpi", "none"), *dynamic]))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("all right", done.stdout)
        seen = re.findall(r"^spy (\w+) (\w+)$", done.stderr, re.MULTILINE)
        # In the order of sizes, which barriers separate; all ranks report the same.
        return {kind: list(dict.fromkeys(name for what, name in seen if what == kind)) for kind in ("bcast", "allreduce")}

    def test_open_mpi_follows_it(self):
        self.program("mpicc.openmpi")
        rules = self.export("openmpi")
        seen = self.spied(rules)
        self.assertEqual(seen["bcast"], ["basic_linear", "scatter_allgather_ring", "knomial"])
        self.assertEqual(seen["allreduce"], ["recursivedoubling", "redscat_allgather"])
        # It ignores a file that it cannot read, and uses its own rules.
        rules.write_text(rules.read_text().replace("# collectives", "x # collectives", 1).replace("\n7  #", "\nseven #", 1))
        broken = self.spied(rules)
        self.assertNotIn("scatter_allgather_ring", broken["bcast"])
        self.assertNotIn("knomial", broken["bcast"])


class Mpich(Exported):
    def run_moves(self, selection):
        return self.run_program(mpirun.command("mpich", mpirun.group("mpich", 2, program=[self.folder / "moves"])),
                                MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=str(selection))

    def test_mpich_loads_it_and_notices_a_broken_one(self):
        self.program("mpicc.mpich")
        selection = self.export("mpich")
        tree = json.loads(selection.read_text())
        bcast = tree["collective=bcast"]["comm_type=intra"]
        self.assertEqual(list(bcast)[0], "comm_size<=2")
        self.assertEqual(list(bcast["comm_size<=2"]), ["avg_msg_size<=4096", "avg_msg_size<=65536", "avg_msg_size=any"])
        self.assertIn("algorithm=MPIR_Bcast_intra_scatter_ring_allgather", bcast["comm_size<=2"]["avg_msg_size<=65536"])
        self.assertGreater(len(bcast), 1)  # the rest is MPICH's own
        self.assertIn("collective=ineighbor_alltoallw", tree)
        done = self.run_moves(selection)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("all right", done.stdout)

        selection.write_text(selection.read_text().replace("comm_size<=2", "comm_size~2", 1))
        broken = self.run_moves(selection)
        self.assertNotEqual(broken.returncode, 0)
        self.assertIn("comm_size~2", broken.stdout + broken.stderr)

    def messages(self, **environment):
        """Returns the bytes that the first rank sends in each broadcast and allreduce, by size, with messages over UCX."""
        spy = self.spy("mpicc.mpich", "mpich_spy.c")
        ranks = mpirun.group("mpich", 2, {"LD_PRELOAD": spy}, [self.folder / "moves"])
        done = self.run_program(mpirun.command("mpich", ranks), MPIR_CVAR_NOLOCAL="1", **environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("all right", done.stdout)
        lines = re.findall(r"^spy rank 0 (\w+) (\d+):([ \d]*)$", done.stderr, re.MULTILINE)
        return {(what, int(size)): [int(word) for word in sent.split()] for what, size, sent in lines}

    def test_mpich_obeys_it(self):
        self.program("mpicc.mpich")
        kib = 1024
        by_itself = self.messages()
        # A tree and recursive doubling send whole vectors; scattering and halving send halves.
        self.assertEqual(by_itself["bcast", 32 * kib], [32 * kib])
        for size in (256, 32 * kib):
            self.assertEqual(by_itself["allreduce", size], [size // 2] * 2)
        obeying = self.messages(MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=str(self.export("mpich")))
        self.assertEqual(obeying["bcast", 256], [256])
        self.assertEqual(obeying["bcast", 32 * kib], [16 * kib] * 2)
        self.assertEqual(obeying["bcast", 512 * kib], [512 * kib])
        self.assertEqual(obeying["allreduce", 256], [256])  # the latency path
        self.assertEqual(obeying["allreduce", 32 * kib], [32 * kib])
        self.assertEqual(obeying["allreduce", 512 * kib], [256 * kib] * 2)

    def test_a_library_that_is_none(self):
        self.expect_error(1, "contains no selection", "export", "mpich", "--machine", self.table, "--mpich", "/bin/sh")
        self.expect_error(1, "cannot read /nowhere/lib.so", "export", "mpich", "--machine", self.table, "--mpich", "/nowhere/lib.so")


class Ucc(Exported):
    def test_every_score_is_one_that_ucc_reads(self):
        text = self.export("ucc").read_text().strip()
        self.assertTrue(text.startswith("UCC_TL_UCP_TUNE="))
        scores = text.split("=", 1)[1].split("#")
        for score in scores:
            self.assertRegex(score, r"^[a-z_]+:\d+-(\d+|inf):host:\[\d+-(\d+|inf)\]:inf:@[a-z_]+$")
        self.assertIn("bcast:4097-65537:host:[2-inf]:inf:@sag_knomial", scores)
        # Ranges of one collective join each other.
        ranges = [score.split(":")[1].split("-") for score in scores if score.startswith("allreduce:")]
        self.assertEqual(ranges[0][0], "0")
        self.assertEqual(ranges[-1][1], "inf")
        for before, after in zip(ranges, ranges[1:]):
            self.assertEqual(before[1], after[0])


class Anywhere(Exported):
    def test_this_machine_and_others_without_measured_choices(self):
        for machine in ([], ["--machine", "epyc-2p", "--ranks", "8,64"]):
            for library in ("openmpi", "ucc"):
                self.assertGreater(len(self.run_fine("export", library, *machine)), 100)

    def test_wrong_words(self):
        self.expect_error(2, "", "export")
        self.expect_error(1, "'epic'", "export", "openmpi", "--machine", "epic")
        self.expect_error(2, "--ranks", "export", "openmpi", "--ranks", "1")
        self.expect_error(1, "cannot write --output /nowhere/file: No such file or directory; name a file in a directory",
                          "export", "ucc", "--output", "/nowhere/file")
        self.expect_error(1, "cannot write --output /dev/full: No space left on device; free some space",
                          "export", "ucc", "--output", "/dev/full")


if __name__ == "__main__":
    main()
