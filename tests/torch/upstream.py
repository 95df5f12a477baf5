# SPDX-License-Identifier: BSD-3-Clause
"""upstream.py [UNITTEST OPTION...]: torch's own distributed_test.py, of the installed torch, on this backend, with
three ranks. Prints each skipped case with the reason.

Some cases require a backend by name. If they require gloo because only gloo has the tested feature, torch skips
them with that reason. The cases in LEFT_OUT are those that cannot pass on any other backend."""
import os
import sys
import tempfile
import unittest

os.environ.setdefault("BACKEND", "coll")
os.environ.setdefault("WORLD_SIZE", "3")
os.environ.setdefault("OMP_NUM_THREADS", "1")
if "TEMP_DIR" not in os.environ:
    os.environ["TEMP_DIR"] = tempfile.mkdtemp()
    os.makedirs(os.environ["TEMP_DIR"] + "/barrier")
    os.makedirs(os.environ["TEMP_DIR"] + "/test_dir")
os.environ.setdefault("INIT_METHOD", f"file://{os.environ['TEMP_DIR']}/shared_init_file")

import torch  # noqa: E402

import torch_coll  # noqa: E402,F401
from torch.testing._internal import common_distributed  # noqa: E402

for feature in ("subgroup", "ddp", "plugin"):
    common_distributed.DistTestCases.backend_feature.setdefault(feature, set()).add("coll")
common_distributed.DistTestCases.backend_feature["gpu"] = {"nccl"}
common_distributed.DistTestCases.backend_feature["cuda"] = {"nccl"}

from torch.testing._internal.distributed import distributed_test  # noqa: E402

LEFT_OUT = {
    "test_get_backend": "compares the group's name with its own list",
    "test_Backend_enum_class": "compares the group's name with its own list",
    "test_backend_full_group": "compares the group's name with its own list",
    "test_backend_group": "compares the group's name with its own list",
    "test_new_subgroups_world_size_not_divisible_by_group_size": "needs four ranks",
}


class TestColl(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
    """Runs every case in new ranks."""

    def setUp(self):
        super().setUp()
        self._spawn_processes()


for name, reason in LEFT_OUT.items():
    if hasattr(TestColl, name):
        setattr(TestColl, name, unittest.skip(reason)(getattr(TestColl, name)))

if __name__ == "__main__":
    print(f"torch {torch.__version__}, {os.environ['WORLD_SIZE']} ranks")
    unittest.main(verbosity=2, argv=sys.argv)
