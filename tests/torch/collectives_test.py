# SPDX-License-Identifier: BSD-3-Clause
"""Every collective of the backend. run.py starts pytest on every rank of one job, so the tests run in step."""
import datetime
import operator
import warnings

import pytest

from job import COUNT, RANK, SIZE, VERSION, all_values, dist, folded, init, since, torch, torch_coll, values

REDUCED = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32,
           torch.float64, torch.complex64, torch.complex128]
MOVED = REDUCED + [torch.bool] + [getattr(torch, name) for name in (
    "float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64", "complex32") if hasattr(torch, name)]


@pytest.fixture(scope="module", autouse=True)
def job():
    init()
    yield
    dist.destroy_process_group()


def as_bytes(tensor):
    """The bytes of a tensor, so that tensors of types without comparison can be compared."""
    flat = tensor.contiguous().view(-1)
    return flat.to(torch.uint8) if tensor.dtype == torch.bool else flat.view(torch.uint8)


def any_values(count, dtype, seed):
    """A tensor of any type whose bytes depend on the seed; they are below 100, so that no value is NaN."""
    if dtype == torch.bool:
        return (torch.arange(count) + seed) % 3 == 0
    element = torch.empty(0, dtype=dtype).element_size()
    return ((torch.arange(count * element) * 3 + 17 * seed) % 100).to(torch.uint8).view(dtype)


def premul_sum(factor):
    """torch's operation with a factor, or a tensor of one; skips the test where this torch cannot make it."""
    make = getattr(torch.distributed, "_make_nccl_premul_sum", None)
    if make is not None:
        return make(factor)
    # A torch without NCCL lacks the factory, and from 2.0 on still loads a pickled one.
    op = dist.ReduceOp.__new__(dist.ReduceOp)
    if not hasattr(op, "__setstate__"):
        pytest.skip("this torch was built without the factory of PREMUL_SUM")
    op.__setstate__((int(dist.ReduceOp.PREMUL_SUM), factor))
    return op


class TestReductions:
    @pytest.mark.parametrize("dtype", REDUCED, ids=str)
    def test_sum_avg_product(self, dtype):
        tensor = values(RANK, dtype=dtype)
        dist.all_reduce(tensor)
        assert torch.equal(tensor, folded(all_values(dtype=dtype), operator.add))
        tensor = values(RANK, dtype=dtype)
        dist.all_reduce(tensor, dist.ReduceOp.AVG)
        total = folded(all_values(dtype=dtype), operator.add)
        if dtype.is_complex:  # divided as pairs of real numbers
            exact = torch.view_as_complex(torch.view_as_real(total) / SIZE)
        else:
            exact = total / SIZE if dtype.is_floating_point else total.div(SIZE, rounding_mode="trunc")
        assert torch.equal(tensor, exact)
        if not dtype.is_complex:  # torch sums complex numbers only
            tensor = values(RANK, 4, dtype) % 3 + 1
            dist.all_reduce(tensor, dist.ReduceOp.PRODUCT)
            assert torch.equal(tensor, folded([v % 3 + 1 for v in all_values(4, dtype)], operator.mul))

    @pytest.mark.parametrize("dtype", [d for d in REDUCED if not d.is_complex], ids=str)
    def test_min_max(self, dtype):
        for op, function in ((dist.ReduceOp.MIN, torch.minimum), (dist.ReduceOp.MAX, torch.maximum)):
            tensor = values(RANK, dtype=dtype)
            dist.all_reduce(tensor, op)
            assert torch.equal(tensor, folded(all_values(dtype=dtype), function))

    @pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64], ids=str)
    def test_bits(self, dtype):
        for op, function in ((dist.ReduceOp.BAND, operator.and_), (dist.ReduceOp.BOR, operator.or_),
                             (dist.ReduceOp.BXOR, operator.xor)):
            tensor = values(RANK, dtype=dtype)
            dist.all_reduce(tensor, op)
            assert torch.equal(tensor, folded(all_values(dtype=dtype), function))

    def test_bool_is_logical(self):
        for op, function in ((dist.ReduceOp.SUM, operator.or_), (dist.ReduceOp.MAX, operator.or_),
                             (dist.ReduceOp.PRODUCT, operator.and_), (dist.ReduceOp.MIN, operator.and_),
                             (dist.ReduceOp.BXOR, operator.xor)):
            tensor = any_values(9, torch.bool, RANK)
            dist.all_reduce(tensor, op)
            assert torch.equal(tensor, folded([any_values(9, torch.bool, r) for r in range(SIZE)], function))

    def test_premul_sum(self):
        # The factory of torch 1.13 takes a list of tensors.
        in_tensor = torch.tensor([0.3]) if VERSION >= (2, 0) else [torch.tensor([0.3])]
        for given, factor in ((0.7, 0.7), (in_tensor, 0.3)):
            tensor = values(RANK)
            dist.all_reduce(tensor, premul_sum(given))
            assert torch.equal(tensor, folded([v * factor for v in all_values()], operator.add))
        for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.complex64):
            # Each product is rounded to the type; 16-bit floats are then summed in float.
            wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
            products = [(v * torch.tensor(0.7, dtype=dtype)).to(wide) for v in all_values(dtype=dtype)]
            tensor = values(RANK, dtype=dtype)
            dist.all_reduce(tensor, premul_sum(0.7))
            assert torch.equal(tensor, folded(products, operator.add).to(dtype))
        total = folded([v * 0.7 for v in all_values(4 * SIZE)], operator.add)
        for root in range(SIZE):
            tensor = values(RANK, 4 * SIZE)
            dist.reduce(tensor, root, premul_sum(0.7))
            assert torch.equal(tensor, total if RANK == root else values(RANK, 4 * SIZE))
        output, inputs = torch.empty(4), list(values(RANK, 4 * SIZE).chunk(SIZE))
        dist.reduce_scatter(output, inputs, premul_sum(0.7))
        assert torch.equal(output, total.chunk(SIZE)[RANK])
        assert all(torch.equal(a, b) for a, b in zip(inputs, values(RANK, 4 * SIZE).chunk(SIZE)))
        with pytest.raises((TypeError, RuntimeError), match="PREMUL_SUM is not defined for"):
            dist.all_reduce(values(RANK, dtype=torch.int32), premul_sum(0.7))

    def test_what_is_not_defined_is_refused(self):
        for dtype, op in ((torch.float32, dist.ReduceOp.BAND), (torch.complex64, dist.ReduceOp.MAX),
                          (torch.bool, dist.ReduceOp.AVG)):
            with pytest.raises((TypeError, RuntimeError, ValueError), match="not (defined|supported|support)"):
                dist.all_reduce(torch.zeros(3, dtype=dtype), op)

    def test_order_is_that_of_libcoll_and_near_gloo(self):
        generator = torch.Generator().manual_seed(3)
        parts = [torch.randn(100003, generator=generator) * 10.0 ** ((r * 3) % 7 - 3) for r in range(SIZE)]
        tensor = parts[RANK].clone()
        dist.all_reduce(tensor)
        assert torch.equal(tensor, folded(parts, operator.add))
        gloo = dist.new_group(backend="gloo")
        other = parts[RANK].clone()
        dist.all_reduce(other, group=gloo)
        # SIZE additions in gloo's order, log2 SIZE in libcoll's, each rounded once.
        bound = (SIZE.bit_length() + SIZE) * torch.finfo(torch.float32).eps * sum(part.abs() for part in parts)
        assert ((tensor - other).abs() <= bound).all()

    def test_reduce(self):
        for root in range(SIZE):
            tensor = values(RANK)
            dist.reduce(tensor, root, dist.ReduceOp.AVG)
            if RANK == root:
                assert torch.equal(tensor, folded(all_values(), operator.add) / SIZE)
            else:
                assert torch.equal(tensor, values(RANK))

    @pytest.mark.parametrize("op", ["SUM", "AVG"])
    def test_reduce_scatter(self, op):
        reduce_op = getattr(dist.ReduceOp, op)
        total = folded(all_values(4 * SIZE), operator.add) / (SIZE if op == "AVG" else 1)
        output = torch.empty(4)
        dist.reduce_scatter(output, list(values(RANK, 4 * SIZE).chunk(SIZE)), reduce_op)
        assert torch.equal(output, total.chunk(SIZE)[RANK])
        scatter_tensor = getattr(dist, "reduce_scatter_tensor", None) or dist._reduce_scatter_base
        output = torch.empty(4)
        scatter_tensor(output, values(RANK, 4 * SIZE), reduce_op)
        assert torch.equal(output, total.chunk(SIZE)[RANK])
        whole = values(RANK, 4 * SIZE)  # an output inside the input, as sharded data parallel has it
        scatter_tensor(whole[4 * RANK:4 * RANK + 4], whole, reduce_op)
        assert torch.equal(whole[4 * RANK:4 * RANK + 4], total.chunk(SIZE)[RANK])

    def test_reduce_scatter_of_unequal_blocks(self):
        inputs = [torch.full((r + 1,), float(RANK + r)) for r in range(SIZE)]
        output = torch.empty(RANK + 1)
        dist.reduce_scatter(output, inputs)
        assert torch.equal(output, torch.full((RANK + 1,), float(sum(range(SIZE)) + SIZE * RANK)))


class TestMoves:
    @pytest.mark.parametrize("dtype", MOVED, ids=str)
    def test_every_type(self, dtype):
        mine, everything = any_values(6, dtype, RANK), [any_values(6, dtype, r) for r in range(SIZE)]
        tensor = mine.clone()
        dist.broadcast(tensor, SIZE - 1)
        assert torch.equal(as_bytes(tensor), as_bytes(everything[-1]))
        outputs = [torch.empty_like(mine) for _ in range(SIZE)]
        dist.all_gather(outputs, mine)
        assert all(torch.equal(as_bytes(a), as_bytes(b)) for a, b in zip(outputs, everything))
        inputs = list(any_values(6 * SIZE, dtype, RANK).chunk(SIZE))
        dist.all_to_all(outputs, inputs)
        for r in range(SIZE):
            assert torch.equal(as_bytes(outputs[r]), as_bytes(any_values(6 * SIZE, dtype, r).chunk(SIZE)[RANK]))

    def test_gather_and_scatter(self):
        for root in range(SIZE):
            outputs = [torch.empty(COUNT) for _ in range(SIZE)] if RANK == root else None
            dist.gather(values(RANK), outputs, root)
            if RANK == root:
                assert all(torch.equal(a, b) for a, b in zip(outputs, all_values()))
            output = torch.empty(COUNT)
            dist.scatter(output, all_values() if RANK == root else None, root)
            assert torch.equal(output, values(RANK))

    def test_all_gather_into_tensor(self):
        gather = getattr(dist, "all_gather_into_tensor", None) or dist._all_gather_base
        output = torch.empty(SIZE, 24)
        gather(output, values(RANK))
        assert torch.equal(output, torch.stack(all_values()))
        output = torch.zeros(24 * SIZE)  # an input inside the output, as sharded data parallel has it
        output[24 * RANK:24 * RANK + 24] = values(RANK)
        gather(output, output[24 * RANK:24 * RANK + 24])
        assert torch.equal(output, torch.cat(all_values()))

    @since(2, 0)
    def test_all_gather_of_unequal_blocks(self):
        outputs = [torch.empty(r + 1) for r in range(SIZE)]
        dist.all_gather(outputs, torch.full((RANK + 1,), float(RANK)))
        assert all(torch.equal(outputs[r], torch.full((r + 1,), float(r))) for r in range(SIZE))

    def test_all_to_all_single(self):
        output = torch.empty(2 * SIZE)
        dist.all_to_all_single(output, values(RANK, 2 * SIZE))
        assert torch.equal(output, torch.cat([values(r, 2 * SIZE).chunk(SIZE)[RANK] for r in range(SIZE)]))
        sends = [RANK + r + 1 for r in range(SIZE)]  # rank a sends a + b + 1 rows to rank b
        rows = torch.cat([torch.full((sends[b], 3), float(100 * RANK + b)) for b in range(SIZE)])
        output = torch.empty(sum(sends), 3)
        dist.all_to_all_single(output, rows, sends, sends)
        assert torch.equal(output, torch.cat([torch.full((sends[a], 3), float(100 * a + RANK)) for a in range(SIZE)]))

    def test_tensors_that_are_not_contiguous(self):
        whole = torch.zeros(6, 8)
        part = whole[:, ::2].t()
        assert not part.is_contiguous()
        part.copy_(values(RANK).view(4, COUNT // 4))
        dist.all_reduce(part)
        assert torch.equal(part, folded(all_values(), operator.add).view(4, COUNT // 4))
        assert (whole[:, 1::2] == 0).all()
        outputs = [torch.zeros(6, 4).t() for _ in range(SIZE)]
        dist.all_gather(outputs, values(RANK).view(6, 4).t())
        assert all(torch.equal(outputs[r], values(r).view(6, 4).t()) for r in range(SIZE))
        tensor = torch.zeros(4, 6).t() if RANK else values(0).view(4, COUNT // 4).t()
        dist.broadcast(tensor, 0)
        assert torch.equal(tensor, values(0).view(4, COUNT // 4).t())

    def test_lazy_negation(self):
        tensor = (values(RANK, dtype=torch.complex64) * 1j).conj().imag
        assert tensor.is_neg()
        outputs = [torch.empty(COUNT) for _ in range(SIZE)]
        dist.all_gather(outputs, tensor)
        assert torch.equal(outputs[-1], -values(SIZE - 1))

    def test_empty_tensors(self):
        tensor = torch.empty(0)
        dist.all_reduce(tensor)
        dist.broadcast(tensor, 0)
        dist.barrier()

    def test_parameters_and_inference_tensors(self):
        parameter = torch.nn.Parameter(values(RANK))
        dist.broadcast(parameter.detach(), 0)
        assert torch.equal(parameter, values(0))
        with torch.inference_mode():
            tensor = values(RANK).view(4, COUNT // 4).t()
            dist.all_reduce(tensor)
        assert torch.equal(tensor, folded(all_values(), operator.add).view(4, COUNT // 4).t())

    def test_memory_that_peers_map(self):
        tensor = torch_coll.empty(70000, 3)
        assert tensor.shape == (70000, 3) and tensor.dtype == torch.float32
        tensor.fill_(RANK + 1)
        dist.all_reduce(tensor)
        assert (tensor == sum(range(1, SIZE + 1))).all()
        assert torch_coll.empty((2, 2), dtype=torch.float64).dtype == torch.float64

    def test_wrong_tensors_are_refused(self):
        with pytest.raises((RuntimeError, ValueError), match="elements for .* blocks|output tensor size"):
            (getattr(dist, "all_gather_into_tensor", None) or dist._all_gather_base)(torch.empty(5), torch.empty(7))
        with pytest.raises((RuntimeError, ValueError), match="rows cannot be split|do not add up"):
            splits = [] if SIZE > 1 else [3]  # even splits that do not divide SIZE + 1; one whose sum is wrong
            dist.all_to_all_single(torch.empty(SIZE + 1), torch.empty(SIZE + 1), splits, splits)


class TestOthers:
    def test_messages_by_gloo(self):
        to, source = (RANK + 1) % SIZE, (RANK - 1) % SIZE
        if SIZE == 1:
            pytest.skip("one rank has no other to send to")
        work = dist.isend(values(RANK), to)
        tensor = torch.empty(COUNT)
        dist.recv(tensor, source)
        work.wait()
        assert torch.equal(tensor, values(source))
        if RANK == 0:
            for _ in range(SIZE - 1):
                tensor = torch.empty(1)
                sender = dist.recv(tensor)
                assert tensor.item() == sender
        else:
            dist.send(torch.tensor([float(RANK)]), 0)

    def test_sparse(self):
        indices = torch.tensor([[RANK, SIZE]])
        tensor = torch.sparse_coo_tensor(indices, torch.ones(2), (SIZE + 1,))
        dist.all_reduce(tensor)
        assert torch.equal(tensor.to_dense(), torch.tensor([1.0] * SIZE + [float(SIZE)]))

    def test_objects(self):
        objects = [None] * SIZE
        dist.all_gather_object(objects, {"rank": RANK, "text": "x" * RANK})
        assert objects == [{"rank": r, "text": "x" * r} for r in range(SIZE)]
        shared = [["from", RANK]]
        dist.broadcast_object_list(shared, SIZE - 1)
        assert shared == [["from", SIZE - 1]]
        gathered = [None] * SIZE if RANK == 0 else None
        dist.gather_object(RANK, gathered)
        assert gathered is None or gathered == list(range(SIZE))
        got = [None]
        dist.scatter_object_list(got, [str(r) for r in range(SIZE)] if RANK == 0 else None)
        assert got == [str(RANK)]

    def test_all_reduce_coalesced(self):
        tensors = [values(RANK, n) for n in (1, 5, 1000)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch calls it deprecated
            dist.all_reduce_coalesced(tensors)
        for n, tensor in zip((1, 5, 1000), tensors):
            assert torch.equal(tensor, folded(all_values(n), operator.add))

    @since(2, 1)
    def test_coalescing_manager(self):
        from torch.distributed.distributed_c10d import _coalescing_manager
        for device in (None, torch.device("cpu")):
            tensors = [values(RANK, n) for n in (2, 30)]
            with _coalescing_manager(device=device, async_ops=True) as manager:
                for tensor in tensors:
                    dist.all_reduce(tensor)
            manager.wait()
            for n, tensor in zip((2, 30), tensors):
                assert torch.equal(tensor, folded(all_values(n), operator.add))
        outputs = [torch.empty(SIZE * n) for n in (2, 3)]
        with _coalescing_manager():
            for n, output in zip((2, 3), outputs):
                dist.all_gather_into_tensor(output, values(RANK, n))
        for n, output in zip((2, 3), outputs):
            assert torch.equal(output, torch.cat(all_values(n)))
        outputs = [torch.empty(n) for n in (2, 3)]
        with _coalescing_manager():
            for n, output in zip((2, 3), outputs):
                dist.reduce_scatter_tensor(output, values(RANK, n * SIZE))
        for n, output in zip((2, 3), outputs):
            assert torch.equal(output, folded(all_values(n * SIZE), operator.add).chunk(SIZE)[RANK])

    def test_groups(self):
        odd = dist.new_group([r for r in range(SIZE) if r % 2 == 1] or [0])
        even = dist.new_group([r for r in range(SIZE) if r % 2 == 0])
        mine = [r for r in range(SIZE) if r % 2 == RANK % 2]
        tensor = values(RANK)
        dist.all_reduce(tensor, group=odd if RANK % 2 else even)
        assert torch.equal(tensor, folded([values(r) for r in mine], operator.add))
        root = mine[-1]
        tensor = values(RANK)
        dist.broadcast(tensor, root, group=odd if RANK % 2 else even)
        assert torch.equal(tensor, values(root))

    def test_name_and_description(self):
        assert dist.get_backend() in ("coll", "COLL")
        assert f"{SIZE} rank" in torch_coll.describe()
        torch_coll.register()  # a second time

    def test_monitored_barrier(self):
        if VERSION < (2, 14):  # torch supports it with gloo only
            with pytest.raises((ValueError, RuntimeError)):
                dist.monitored_barrier()
        else:
            dist.monitored_barrier()

    @since(2, 0)
    def test_backend_by_device(self):
        group = dist.new_group(backend="cpu:coll")
        tensor = values(RANK)
        dist.all_reduce(tensor, group=group)
        assert torch.equal(tensor, folded(all_values(), operator.add))

    @since(2, 1)
    def test_functional_collectives_compiled(self):
        import torch.distributed._functional_collectives as functional

        def step(x):
            total = functional.all_reduce(x * 2, "sum", list(range(SIZE)))
            parts = functional.reduce_scatter_tensor(total, "sum", 0, list(range(SIZE)))
            return functional.all_gather_tensor(parts, 0, list(range(SIZE))) + 1

        x = values(RANK, 4 * SIZE)
        wanted = folded(all_values(4 * SIZE), operator.add) * 2 * SIZE + 1
        assert torch.equal(step(x), wanted)
        for backend in ("aot_eager", "inductor"):
            torch._dynamo.reset()
            try:
                result = torch.compile(step, backend=backend, fullgraph=True)(x)
            except RuntimeError as problem:
                if "not supported on Python" in str(problem):
                    pytest.skip(str(problem))
                raise
            assert torch.equal(result, wanted), backend


@since(2, 14)
def test_a_group_is_split():
    """Calls what dist.split_group() calls, which itself needs an accelerator. The order of the ranks is the caller's."""
    parent = dist.distributed_c10d._get_default_group()
    assert parent._get_backend(torch.device("cpu")).supports_splitting
    for number, ranks in enumerate((list(range(SIZE))[::-1], list(range((SIZE + 1) // 2)))):
        part = parent.split_group(ranks, timeout=datetime.timedelta(seconds=60), group_name=f"part {number}", group_desc="part")
        if RANK not in ranks:
            assert part is None
            continue
        assert (part.rank(), part.size()) == (ranks.index(RANK), len(ranks))
        backend = part._get_backend(torch.device("cpu"))
        assert backend.name() == "coll"
        tensor = values(RANK)
        part.allreduce([tensor]).wait()
        assert torch.equal(tensor, folded([values(rank) for rank in ranks], operator.add))
        tensor = values(RANK)
        part.broadcast(tensor, 0).wait()
        assert torch.equal(tensor, values(ranks[0]))
        if len(ranks) > 1:  # by the inner gloo group
            other = torch.empty_like(tensor)
            if part.rank() == 0:
                part.send([values(RANK)], 1, 0).wait()
            elif part.rank() == 1:
                part.recv([other], 0, 0).wait()
                assert torch.equal(other, values(ranks[0]))
    dist.barrier()


def test_version_is_one_that_the_table_has():
    assert VERSION in ((1, 13), (2, 6), (2, 14)), "docs/pytorch.md has no column for this torch"
