# SPDX-License-Identifier: BSD-3-Clause
"""Training and serving: DDP, FSDP, FSDP2, tensor parallel, checkpoints; on all ranks of one job in lockstep. Each
result is compared with that of one process on the whole batch."""
import copy
import os
import tempfile

import pytest

from job import RANK, SIZE, dist, init, since, torch


@pytest.fixture(scope="module", autouse=True)
def job():
    init()
    yield
    dist.destroy_process_group()


def model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8))


def batch():
    return torch.randn(4 * SIZE, 16, generator=torch.Generator().manual_seed(5))


def trained(network, inputs, steps=3):
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        network(inputs).square().mean().backward()
        optimizer.step()
    return network


def expect_close(parameters, reference):
    for ours, theirs in zip(parameters, reference.parameters()):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"gradient_as_bucket_view": True}, {"static_graph": True},
                                     {"find_unused_parameters": True}], ids=str)
def test_ddp(options):
    reference = trained(model(), batch())
    network = torch.nn.parallel.DistributedDataParallel(model(), bucket_cap_mb=0.002, **options)
    trained(network, batch().chunk(SIZE)[RANK])
    expect_close(network.module.parameters(), reference)


def test_ddp_with_16_bit_gradients():
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    network = torch.nn.parallel.DistributedDataParallel(model())
    network.register_comm_hook(None, default_hooks.fp16_compress_hook)
    trained(network, batch().chunk(SIZE)[RANK])
    for ours, theirs in zip(network.module.parameters(), trained(model(), batch()).parameters()):
        torch.testing.assert_close(ours, theirs, rtol=0.05, atol=0.01)


@since(2, 0)
def test_zero_redundancy_optimizer():
    from torch.distributed.optim import ZeroRedundancyOptimizer
    network = torch.nn.parallel.DistributedDataParallel(model())
    optimizer = ZeroRedundancyOptimizer(network.parameters(), torch.optim.SGD, lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        network(batch().chunk(SIZE)[RANK]).square().mean().backward()
        optimizer.step()
    expect_close(network.module.parameters(), trained(model(), batch()))


@since(2, 6)
def test_fsdp():
    from torch.distributed.fsdp import FullyShardedDataParallel
    reference = trained(model(), batch())
    network = FullyShardedDataParallel(model(), device_id=torch.device("cpu"))
    trained(network, batch().chunk(SIZE)[RANK])
    with FullyShardedDataParallel.summon_full_params(network):
        expect_close(network.parameters(), reference)


@since(2, 14)  # 2.6 has it for accelerators only, with any backend
def test_fsdp2():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    reference = trained(model(), batch())
    network = model()
    mesh = init_device_mesh("cpu", (SIZE,))
    for layer in (network[0], network[2], network):
        fully_shard(layer, mesh=mesh)
    trained(network, batch().chunk(SIZE)[RANK])
    expect_close([parameter.full_tensor() for parameter in network.parameters()], reference)


def full(tensor):
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def expect_checkpoint(network):
    """Saves the state of a network of distributed tensors, and loads it again."""
    import torch.distributed.checkpoint as checkpoint
    folder = [tempfile.mkdtemp() if RANK == 0 else None]
    dist.broadcast_object_list(folder, 0)
    state = network.state_dict()
    checkpoint.save(state, checkpoint_id=os.path.join(folder[0], "state"))
    loaded = copy.deepcopy(state)
    for tensor in loaded.values():
        tensor.zero_()
    checkpoint.load(loaded, checkpoint_id=os.path.join(folder[0], "state"))
    for name, tensor in state.items():
        assert torch.equal(full(loaded[name]), full(tensor))


@since(2, 6)
def test_tensor_parallel():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    reference = trained(model(), batch())
    network = parallelize_module(model(), init_device_mesh("cpu", (SIZE,)),
                                 {"0": ColwiseParallel(), "2": RowwiseParallel()})
    trained(network, batch())
    expect_close([full(parameter) for parameter in network.parameters()], reference)
    expect_checkpoint(network)
