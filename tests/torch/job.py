# SPDX-License-Identifier: BSD-3-Clause
"""Functions of the tests: the group of the job, versions of torch, and expected results."""
import datetime
import os

import pytest
import torch
import torch.distributed as dist

import torch_coll

VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])
RANK = int(os.environ.get("RANK", "0"))
SIZE = int(os.environ.get("WORLD_SIZE", "1"))


def since(*version):
    """Skips a test on older versions of torch."""
    wanted = ".".join(map(str, version))
    return pytest.mark.skipif(VERSION < version, reason=f"torch {wanted} or newer has it, this is {torch.__version__}")


def init(timeout_s=120, backend="coll"):
    store = dist.FileStore(os.environ["COLL_TEST_STORE"], SIZE)
    dist.init_process_group(backend, store=store, rank=RANK, world_size=SIZE,
                            timeout=datetime.timedelta(seconds=timeout_s))


COUNT = 24  # elements of values()


def values(rank, count=COUNT, dtype=torch.float32):
    """Returns the input of `rank`: small numbers that differ between ranks and places, exact in every type."""
    small = (torch.arange(count) * 5 % 7 + 3 * rank + 1) % 11 + 1
    return (small % 2).to(torch.bool) if dtype == torch.bool else small.to(dtype)


def all_values(*args, **kwargs):
    return [values(rank, *args, **kwargs) for rank in range(SIZE)]


def folded(operands, combine):
    """The order of coll.h: fold(i, j) = fold(i, i + m) op fold(i + m, j), m the largest power of two below j - i."""
    if len(operands) == 1:
        return operands[0]
    middle = 1 << (len(operands) - 1).bit_length() - 1
    return combine(folded(operands[:middle], combine), folded(operands[middle:], combine))


__all__ = ["RANK", "SIZE", "VERSION", "all_values", "dist", "folded", "init", "since", "torch", "torch_coll", "values"]
