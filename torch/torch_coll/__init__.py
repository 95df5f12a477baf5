# SPDX-License-Identifier: BSD-3-Clause
"""libcoll as a backend of torch.distributed, for CPU tensors of processes on one node.

    import torch_coll                                    # registers it; torch 2.14 finds it by itself
    torch.distributed.init_process_group("coll")         # or "cpu:coll,cuda:nccl"

Collectives run in libcoll. Messages between two ranks, sparse tensors and monitored barriers run in an inner gloo
group, and so does everything in groups whose ranks are on several nodes. """
import atexit
import datetime
import inspect
import logging
import math
from typing import Any, Optional, Sequence, Union

import torch
import torch.distributed as dist

from . import _C

__all__ = ["abort", "describe", "empty", "register", "set_timeout", "use_for_tensors"]

_log = logging.getLogger("torch_coll")


def _create(store: Any, rank: int, size: int, timeout: datetime.timedelta) -> Any:
    """The backend of one group; collective over its ranks."""
    gloo = dist.ProcessGroupGloo(dist.PrefixStore("coll/gloo", store), rank, size, timeout=timeout)
    if not _C.on_one_node(store, rank, size):
        if rank == 0:
            _log.warning("the %d ranks of a group are on several nodes: gloo serves it, not libcoll", size)
        return gloo
    backend = _C.create(store, rank, size, timeout, gloo)
    if rank == 0:
        _log.info("%s", _C.describe(backend))
    return backend


def register() -> None:
    """Registers the backend "coll". Importing the package does so; a second call does nothing."""
    if "COLL" in dist.Backend._plugins:
        return
    options = {}
    if "devices" in inspect.signature(dist.Backend.register_backend).parameters:  # since 2.0
        options["devices"] = ["cpu"]
    dist.Backend.register_backend("coll", _create, **options)


def _backend(group: Optional[Any]) -> Any:
    group = dist.distributed_c10d._get_default_group() if group is None else group
    return group._get_backend(torch.device("cpu")) if hasattr(group, "_get_backend") else group


def set_timeout(timeout: datetime.timedelta, group: Optional[Any] = None) -> None:
    """Sets the timeout of collectives of a group that are called from now on."""
    _C.set_timeout(_backend(group), timeout)


def abort(group: Optional[Any] = None) -> None:
    """Ends all collectives of a group, on all ranks, within a second; they raise. The group is unusable then."""
    _C.abort(_backend(group))


def describe(group: Optional[Any] = None) -> str:
    """One line about a group's communicator: ranks, hierarchy, transport."""
    return str(_C.describe(_backend(group)))


def empty(*shape: Union[int, Sequence[int]], dtype: Optional[torch.dtype] = None) -> torch.Tensor:
    """A tensor with unspecified contents, in memory that the peers can map: collectives on it copy data once instead of
    twice, and reductions read operands in place."""
    extents = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    kind = torch.get_default_dtype() if dtype is None else dtype
    element = torch.empty((), dtype=kind).element_size()
    memory = _C.shared_bytes(math.prod(extents) * element)  # type: ignore[arg-type]
    return memory.view(kind).view(extents)


def use_for_tensors(least_bytes: int = 1 << 16) -> None:
    """Takes the memory of all CPU tensors of at least that size, from now on, from memory that the peers can map. It
    counts as shared memory of the process."""
    _C.use_for_tensors(least_bytes)


# The worker must not run while the interpreter and torch's static objects end.
atexit.register(_C.stop_worker)
register()
