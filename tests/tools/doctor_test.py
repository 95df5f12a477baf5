# SPDX-License-Identifier: BSD-3-Clause
"""The command collctl doctor; diagnosis_test.cc tests its findings."""
import ctypes
import errno
import json
import os
import platform
import resource
import subprocess
import unittest

from cli import Case, collctl, main

CHECKS = ["memfd", "cma", "ptrace_scope", "seccomp", "namespaces", "kcoll", "memlock", "dev_shm", "huge_pages",
          "shared_huge_pages", "hugetlb", "settings", "launcher", "processors", "table"]

PROCESS_VM_READV = {"x86_64": 310, "aarch64": 270}
libc = ctypes.CDLL(None, use_errno=True)


def refuse(number):
    """Makes a system call fail with EPERM from now on, by a filter as containers have it."""
    class Instruction(ctypes.Structure):
        _fields_ = [("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32)]

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_uint16), ("code", ctypes.POINTER(Instruction))]

    load_number, equal, give_back = 0x20, 0x15, 0x06
    refused, allowed = 0x00050000 | errno.EPERM, 0x7fff0000
    code = (Instruction * 4)((load_number, 0, 0, 0), (equal, 0, 1, number), (give_back, 0, 0, refused), (give_back, 0, 0, allowed))
    pr_set_no_new_privs, pr_set_seccomp, mode_filter = 38, 22, 2
    for call in ((pr_set_no_new_privs, 1, 0, 0, 0), (pr_set_seccomp, mode_filter, ctypes.byref(Program(4, code)), 0, 0)):
        if libc.prctl(*call) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def own_users():
    clone_newuser = 0x10000000
    if libc.unshare(clone_newuser) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


class Doctor(Case):
    def checks(self, *arguments, **more):
        return {row["check"]: row for row in self.run_json("doctor", *arguments, **more)["checks"]}

    def test_json_has_every_check(self):
        result = self.run_json("doctor")
        self.assertEqual([row["check"] for row in result["checks"]], CHECKS)
        self.assertTrue(result["ok"])
        for row in result["checks"]:
            self.assertIn(row["state"], ("fine", "slower"))
            self.assertTrue(row["found"])
            if row["state"] == "fine":
                self.assertNotIn("fix", row)

    def test_text_shows_the_same(self):
        text = self.run_fine("doctor")
        for check in CHECKS:
            self.assertRegex(text, rf"(?m)^(fine|slower|broken) +{check} ")

    @unittest.skipIf(os.path.exists("/dev/kcoll"), "the module is loaded here")
    def test_the_module_can_be_required(self):
        done = collctl("doctor", "--require", "memfd,kcoll", "--json")
        self.assertEqual(done.returncode, 1)
        result = json.loads(done.stdout)
        self.assertFalse(result["ok"])
        kcoll = next(row for row in result["checks"] if row["check"] == "kcoll")
        self.assertEqual(kcoll["state"], "broken")
        self.assertIn("modprobe kcoll", kcoll["fix"])

    def test_more_ranks_than_processors(self):
        self.assertEqual(self.checks("-n", 1024)["processors"]["state"], "slower" if os.cpu_count() < 1024 else "fine")
        self.assertEqual(self.checks("-n", 1)["processors"]["state"], "fine")

    def test_a_filter_of_system_calls(self):
        number = PROCESS_VM_READV.get(platform.machine())
        if number is None:
            self.skipTest(f"the number of process_vm_readv on {platform.machine()} is not known here")
        rows = self.checks(preexec_fn=lambda: refuse(number))
        self.assertEqual(rows["seccomp"]["state"], "slower")
        self.assertIn("--cap-add SYS_PTRACE", rows["seccomp"]["fix"])
        self.assertIn("see seccomp", rows["cma"]["found"])

    def test_a_limit_on_the_size_of_files(self):
        """Shared memory is a file: beyond the limit the kernel sends SIGXFSZ, which would end collctl."""
        done = collctl("doctor", "--json", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
        self.assertEqual(done.returncode, 1, done.stderr)
        memfd = json.loads(done.stdout)["checks"][0]
        self.assertEqual((memfd["check"], memfd["state"], memfd["fix"]), ("memfd", "broken", "ulimit -f unlimited"))
        self.assertIn("ftruncate: File too large", memfd["found"])

    def test_settings(self):
        for name, value, text in (("COLL_TRANSPORT", "pigeon", "COLL_TRANSPORT='pigeon' is not a transport"),
                                  ("COLL_CONFIG", "/nonexistent", "COLL_CONFIG"),
                                  ("COLL_TOPOLOGY", "/nonexistent", "/nonexistent"),
                                  ("COLL_RENDEZVOUS_TIMEOUT", "soon", "COLL_RENDEZVOUS_TIMEOUT='soon'")):
            done = collctl("doctor", "--json", env={name: value})
            self.assertEqual(done.returncode, 1, f"{name}={value}: {done.stderr}")
            row = next(row for row in json.loads(done.stdout)["checks"] if row["check"] == "settings")
            self.assertEqual(row["state"], "broken")
            self.assertIn(text, row["found"])
        row = self.checks(env={"COLL_THROTTLE": "4"})["settings"]
        self.assertEqual((row["state"], "COLL_THROTTLE (environment)" in row["found"]), ("fine", True), row)
        row = self.checks(env={"COLL_THROTLE": "4"})["settings"]
        self.assertEqual(row["state"], "slower")
        self.assertIn("COLL_THROTLE (did you mean COLL_THROTTLE?)", row["found"])

    def test_users_of_a_container(self):
        try:
            rows = self.checks(preexec_fn=own_users)
        except subprocess.SubprocessError:
            self.skipTest("this user may not make a user namespace")
        self.assertRegex(rows["namespaces"]["found"], "user namespaces? of a container; .* in the same container, because")

    def test_wrong_arguments(self):
        self.expect_error(2, ["--require", "pigeon", "memfd"], "doctor", "--require", "pigeon")
        self.expect_error(2, "--ranks", "doctor", "-n", 0)


if __name__ == "__main__":
    main()
