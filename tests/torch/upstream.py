# SPDX-License-Identifier: BSD-3-Clause
"""upstream.py [UNITTEST OPTION...]: torch's own distributed_test.py, of the installed torch, on this backend, with
three ranks. Prints each skipped case with the reason.

torch skips some cases because the name of the backend is not one that it lists. Those that this backend serves run all
the same (SERVED). upstream_skipped.py lists every case that is skipped, with the reason. A skipped case that it does
not list fails the run, and so does a listed case that runs."""
import fnmatch
import functools
import os
import sys
import tempfile
import types
import unittest
import unittest.mock

os.environ.setdefault("BACKEND", "coll")
os.environ.setdefault("WORLD_SIZE", "3")
os.environ.setdefault("OMP_NUM_THREADS", "1")
if "TEMP_DIR" not in os.environ:
    os.environ["TEMP_DIR"] = tempfile.mkdtemp()
    os.makedirs(os.environ["TEMP_DIR"] + "/barrier")
    os.makedirs(os.environ["TEMP_DIR"] + "/test_dir")
os.environ.setdefault("INIT_METHOD", f"file://{os.environ['TEMP_DIR']}/shared_init_file")

try:
    import expecttest  # noqa: F401
except ImportError:  # Debian 12 does not package it. No case compares with an expected text.
    stand_in = types.ModuleType("expecttest")
    stand_in.TestCase = unittest.TestCase
    stand_in.ACCEPT = False
    sys.modules["expecttest"] = stand_in

import torch  # noqa: E402

import torch_coll  # noqa: E402,F401
from torch.testing._internal import common_distributed  # noqa: E402
from upstream_skipped import SHIPPED_ONLY, reason_of  # noqa: E402

for feature in ("subgroup", "ddp", "plugin"):
    common_distributed.DistTestCases.backend_feature.setdefault(feature, set()).add("coll")
common_distributed.DistTestCases.backend_feature["gpu"] = {"nccl"}
common_distributed.DistTestCases.backend_feature["cuda"] = {"nccl"}

# torch starts the ranks before these three skip a case, which takes seconds for each. No case needs eight ranks, which
# is what torch calls a small world: their groups have ranks 1 and 2.
common_distributed.skip_if_no_gpu = unittest.skip("needs a GPU for each rank")
common_distributed.skip_if_lt_x_gpu = lambda count: unittest.skip(f"needs {count} GPUs")
common_distributed.skip_if_small_worldsize = lambda function: function

from torch.testing._internal.distributed import distributed_test  # noqa: E402

if torch.__version__.startswith("1.") and sys.version_info >= (3, 11):
    # The cases of torch 1.13 switch replicated tensors on, which it cannot import with this Python.
    from torch.nn.parallel import _replicated_tensor_ddp_utils
    _replicated_tensor_ddp_utils._set_ddp_with_replicated_tensor = lambda _: None

SERVED = ("test_accumulate_gradients_no_sync*", "test_all_gather_object_*", "test_all_reduce_coalesced_*",
          "test_all_to_all*", "test_barrier_timeout_*", "test_batch_isend_irecv_gloo*", "test_gather_object*",
          "test_get_future", "test_grads_same_across_ranks_with_no_sync", "test_monitored_barrier_*",
          "test_scatter_object_list", "test_sparse_all_reduce_sum")


class TestColl(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
    """Runs every case in new ranks. They are forked: each new interpreter would import torch, which takes seconds."""

    def setUp(self):
        super().setUp()
        distributed_test.INIT_METHOD = os.environ["INIT_METHOD"]  # a new interpreter would read it here
        self._start_processes(torch.multiprocessing.get_context("fork").Process)


class Result(unittest.TextTestResult):
    """Records the names of the cases that were started."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.started = set()

    def startTest(self, test):
        super().startTest(test)
        self.started.add(name_of(test))


def name_of(test):
    return test.id().rpartition(".")[2]


def as_gloo(case):
    """The body of these cases asks for the backend's name, too; the group is of this backend all the same."""
    @functools.wraps(case)
    def run(self):
        with unittest.mock.patch.object(distributed_test, "BACKEND", "gloo"):
            case(self)
    return run


def select_cases():
    """Lets the cases run that torch skips only because of the backend's name, and skips those that fail because of it."""
    for name, reason in SHIPPED_ONLY.items():
        if hasattr(TestColl, name):
            setattr(TestColl, name, unittest.skip(reason)(getattr(TestColl, name)))
    for name in unittest.TestLoader().getTestCaseNames(TestColl):
        if reason_of(name) is None and any(fnmatch.fnmatch(name, pattern) for pattern in SERVED):
            case = getattr(TestColl, name)
            case.__unittest_skip__ = False
            if name.startswith("test_accumulate_gradients_no_sync"):
                setattr(TestColl, name, as_gloo(case))


def differences(result):
    """Returns a line for each case for which the list and the run differ."""
    skipped = {name_of(test): why for test, why in result.skipped}
    lines = [f"{name}: skipped ({why}), but not listed" for name, why in skipped.items() if reason_of(name) is None]
    return sorted(lines + [f"{name}: runs, but is listed: {reason_of(name)}"
                           for name in result.started - skipped.keys() if reason_of(name) is not None])


select_cases()

if __name__ == "__main__":
    print(f"torch {torch.__version__}, {os.environ['WORLD_SIZE']} ranks", flush=True)
    runner = unittest.TextTestRunner(verbosity=2, resultclass=Result)
    outcome = unittest.main(argv=sys.argv, testRunner=runner, exit=False).result
    for line in differences(outcome):
        print(f"upstream_skipped.py: {line}")
    sys.exit(0 if outcome.wasSuccessful() and not differences(outcome) else 1)
