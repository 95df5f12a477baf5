# SPDX-License-Identifier: BSD-3-Clause
"""Every collective, as one of the ranks of collctl run: all of them run the same tests in the same order."""
import array
import gc
import threading
import time

import pytest

import coll

numpy = pytest.importorskip("numpy", reason="numpy is not installed (Debian: python3-numpy)")

FORMS = ("blocking", "non-blocking", "persistent")


@pytest.fixture(scope="module")
def comm():
    with coll.Communicator.from_launcher() as made:
        yield made


def call(comm, form, name, *args, **kwargs):
    """Returns the result of the collective, called in one of its forms."""
    if form == "blocking":
        return getattr(comm, name)(*args, **kwargs)
    if form == "non-blocking":
        return getattr(comm, "i" + name)(*args, **kwargs).wait()
    request = getattr(comm, name + "_init")(*args, **kwargs)
    request.start()
    while not request.test():
        coll.progress()
    result = request.result
    request.free()
    return result


def values(rank, count=12, dtype=numpy.int64):
    """Returns the input of `rank`: small numbers that differ between ranks and places."""
    return (numpy.arange(count) * 7 % 11 + 3 * rank + 1).astype(dtype)


def all_values(comm, *args, **kwargs):
    return [values(rank, *args, **kwargs) for rank in range(comm.size)]


def blocks_of(vector, ranks):
    return numpy.array_split(vector, ranks)


@pytest.mark.parametrize("form", FORMS)
class TestForms:
    def test_barrier(self, comm, form):
        assert call(comm, form, "barrier") is None

    def test_bcast_from_every_root(self, comm, form):
        for root in range(comm.size):
            data = values(comm.rank)
            assert call(comm, form, "bcast", data, root) is data
            assert (data == values(root)).all()

    def test_reduce(self, comm, form):
        for root in range(comm.size):
            result = call(comm, form, "reduce", values(comm.rank), None, coll.SUM, root)
            if comm.rank == root:
                assert (result == sum(all_values(comm))).all()
            else:
                assert result is None
            data = values(comm.rank)
            send = coll.IN_PLACE if comm.rank == root else data
            call(comm, form, "reduce", send, data if comm.rank == root else None, coll.MAX, root)
            if comm.rank == root:
                assert (data == numpy.maximum.reduce(all_values(comm))).all()

    def test_allreduce(self, comm, form):
        result = call(comm, form, "allreduce", values(comm.rank))
        assert (result == sum(all_values(comm))).all()
        data = values(comm.rank)
        call(comm, form, "allreduce", coll.IN_PLACE, data, coll.PROD)
        assert (data == numpy.prod(all_values(comm), axis=0)).all()

    def test_scan_and_exscan(self, comm, form):
        assert (call(comm, form, "scan", values(comm.rank)) == sum(all_values(comm)[:comm.rank + 1])).all()
        recv = numpy.full(12, -1)
        call(comm, form, "exscan", values(comm.rank), recv)
        assert (recv == (sum(all_values(comm)[:comm.rank]) if comm.rank else -1)).all()

    def test_scatter(self, comm, form):
        for root in range(comm.size):
            whole = values(root, 4 * comm.size)
            recv = numpy.zeros(4, numpy.int64)
            call(comm, form, "scatter", whole if comm.rank == root else None, recv, root)
            assert (recv == blocks_of(whole, comm.size)[comm.rank]).all()
            mine = coll.IN_PLACE if comm.rank == root else recv
            result = call(comm, form, "scatter", whole.copy() if comm.rank == root else None, mine, root)
            assert (result == (whole if comm.rank == root else recv)).all()

    def test_scatterv(self, comm, form):
        counts = [rank + 1 for rank in range(comm.size)]
        displs = [sum(counts[:rank]) + rank for rank in range(comm.size)]
        whole = values(9, sum(counts) + comm.size)
        recv = numpy.zeros(counts[comm.rank], numpy.int64)
        at_root = comm.rank == 0
        call(comm, form, "scatterv", whole if at_root else None, counts if at_root else None, recv,
             displs if at_root else None)
        assert (recv == whole[displs[comm.rank]:][:counts[comm.rank]]).all()

    def test_gather_and_allgather(self, comm, form):
        result = call(comm, form, "gather", values(comm.rank), None, comm.size - 1)
        if comm.rank == comm.size - 1:
            assert (result == all_values(comm)).all()
        result = call(comm, form, "allgather", values(comm.rank).reshape(3, 4))
        assert result.shape == (comm.size, 3, 4)
        assert (result.reshape(comm.size, 12) == all_values(comm)).all()
        recv = numpy.zeros((comm.size, 12), numpy.int64)
        recv[comm.rank] = values(comm.rank)
        call(comm, form, "allgather", coll.IN_PLACE, recv)
        assert (recv == all_values(comm)).all()

    def test_gatherv_and_allgatherv(self, comm, form):
        counts = [rank + 1 for rank in range(comm.size)]
        displs = [sum(counts[rank + 1:]) for rank in range(comm.size)]  # in reverse order
        wanted = numpy.concatenate([values(rank, rank + 1) for rank in reversed(range(comm.size))])
        recv = numpy.zeros(sum(counts), numpy.int64)
        call(comm, form, "gatherv", values(comm.rank, comm.rank + 1), recv, counts, displs)
        if comm.rank == 0:
            assert (recv == wanted).all()
        recv[:] = 0
        call(comm, form, "allgatherv", values(comm.rank, comm.rank + 1), recv, counts, displs)
        assert (recv == wanted).all()

    def test_alltoall(self, comm, form):
        wanted = numpy.concatenate([blocks_of(v, comm.size)[comm.rank] for v in all_values(comm, 3 * comm.size)])
        assert (call(comm, form, "alltoall", values(comm.rank, 3 * comm.size)) == wanted).all()
        data = values(comm.rank, 3 * comm.size)
        call(comm, form, "alltoall", coll.IN_PLACE, data)
        assert (data == wanted).all()

    def test_neighbor_exchange_around_a_ring(self, comm, form):
        left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
        for count in (1, 3000, 70_000):
            first, second = numpy.zeros(count), bytearray(3)
            filled = call(comm, form, "neighbor_exchange", [(right, numpy.full(count, comm.rank + 0.5)), (right, b"abc")],
                          [(left, first), (left, second)])
            assert filled[0] is first and filled[1] is second
            assert (first == left + 0.5).all() and second == b"abc"
        assert call(comm, form, "neighbor_exchange", [], []) == []

    def test_alltoallv(self, comm, form):
        # Rank a sends a + b + 1 elements to rank b.
        counts = [comm.rank + rank + 1 for rank in range(comm.size)]
        send = numpy.concatenate([numpy.full(counts[b], 100 * comm.rank + b) for b in range(comm.size)])
        recv = numpy.zeros(sum(counts), numpy.int64)
        call(comm, form, "alltoallv", send, counts, recv, counts)
        assert (recv == numpy.concatenate([numpy.full(counts[a], 100 * a + comm.rank) for a in range(comm.size)])).all()

    def test_reduce_scatter(self, comm, form):
        counts = [rank + 1 for rank in range(comm.size)]
        whole = sum(all_values(comm, sum(counts)))
        start = sum(counts[:comm.rank])
        recv = numpy.zeros(counts[comm.rank], numpy.int64)
        call(comm, form, "reduce_scatter", values(comm.rank, sum(counts)), recv, counts)
        assert (recv == whole[start:start + len(recv)]).all()
        whole = sum(all_values(comm, 2 * comm.size))
        data = values(comm.rank, 2 * comm.size)
        call(comm, form, "reduce_scatter_block", coll.IN_PLACE, data)
        assert (data[:2] == blocks_of(whole, comm.size)[comm.rank]).all()


class TestBuffers:
    @pytest.mark.parametrize("dtype", "i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 g c8 c16".split())
    def test_types_of_numpy(self, comm, dtype):
        result = comm.allreduce(values(comm.rank, 5, dtype))
        assert result.dtype == numpy.dtype(dtype)
        assert (result == sum(all_values(comm, 5, dtype))).all()

    def test_logical_and_of_bools(self, comm):
        mine = numpy.array([True, comm.rank == 0])
        assert comm.allreduce(mine, op=coll.LAND).tolist() == [True, comm.size == 1]

    def test_bfloat16_in_uint16(self, comm):
        ones = numpy.full(3, 0x3f80, numpy.uint16)
        assert comm.allreduce(ones, datatype=coll.BFLOAT16).tolist() == [
            int(numpy.float32(comm.size).view(numpy.uint32) >> 16)] * 3

    def test_pairs(self, comm):
        pair = numpy.dtype([("value", "f4"), ("index", "i4")])
        mine = numpy.array([(5 - comm.rank, comm.rank)], pair)
        least = comm.allreduce(mine, op=coll.MINLOC)
        assert least.tolist() == [(6 - comm.size, comm.size - 1)]

    def test_elements_without_a_datatype_are_moved(self, comm):
        for dtype in ("S5", "U3", "M8[s]", "m8[ms]", ">f8", [("a", "i1"), ("b", "f8", (3,))]):
            data = numpy.zeros(4, dtype)
            if comm.rank == 0:
                data = numpy.frombuffer(bytes(i % 5 for i in range(data.nbytes)), dtype).copy()
            comm.bcast(data)
            assert data.tobytes() == bytes(i % 5 for i in range(data.nbytes)), dtype

    def test_other_buffers(self, comm):
        data = bytearray(b"abc" if comm.rank == 0 else b"...")
        comm.bcast(data)
        assert data == b"abc"
        data += b"d"  # no longer held
        sums = comm.allreduce(array.array("d", [1.5, comm.rank]))
        assert sums.tolist() == [1.5 * comm.size, sum(range(comm.size))]
        recv = bytearray(2 * comm.size)
        comm.allgather(bytes([comm.rank, 7]), recv)
        assert recv == b"".join(bytes([rank, 7]) for rank in range(comm.size))

    def test_nothing(self, comm):
        assert comm.allreduce(numpy.empty(0)).shape == (0,)
        comm.bcast(bytearray())

    def test_memory_that_peers_map(self, comm):
        data = coll.empty((3, 70000), numpy.float32)
        data[:] = comm.rank + 1
        part = data[1]
        del data
        comm.allreduce(coll.IN_PLACE, part)
        assert (part == sum(range(1, comm.size + 1))).all()

    def test_wrong_buffers_are_refused_before_the_call(self, comm):
        good = numpy.zeros(4)
        with pytest.raises(ValueError, match="send is not C-contiguous"):
            comm.allreduce(numpy.zeros((4, 4))[:, 0], good)
        with pytest.raises(ValueError, match="recv is read-only"):
            read_only = good.copy()
            read_only.flags.writeable = False
            comm.allreduce(good, read_only)
        with pytest.raises((BufferError, ValueError), match="recv"):
            comm.allreduce(b"12345678", b"12345678")
        with pytest.raises(ValueError, match="send has 3 elements; 4 are needed"):
            comm.allreduce(numpy.zeros(3), good)
        with pytest.raises(ValueError, match="different datatypes: .*float.*double"):
            comm.allreduce(numpy.zeros(4, numpy.float32), good)
        with pytest.raises(TypeError, match="Python objects"):
            comm.bcast(numpy.array([object()]))
        with pytest.raises(TypeError, match="buffer"):
            comm.bcast(7)
        with pytest.raises(ValueError, match="reach to 9"):
            comm.gatherv(good, good, [9] * comm.size, [0] * comm.size, root=comm.rank)
        with pytest.raises(ValueError, match="entries, for"):
            comm.allgatherv(good, good, [0] * (comm.size + 1))
        with pytest.raises(coll.Error, match="root") as raised:
            comm.bcast(good, comm.size)
        assert raised.value.status == coll.Status.ROOT


class TestOperations:
    def test_in_rank_order(self, comm):
        def then(lower, inout):
            """Composes x -> a x + b: first the lower rank's, then the other; modulo a prime."""
            inout["b"] = (inout["a"] * lower["b"] + inout["b"]) % 10007
            inout["a"] = inout["a"] * lower["a"] % 10007

        affine = numpy.dtype([("a", "i8"), ("b", "i8")])
        maps = [numpy.array([(3 + rank + i, 5 * rank + i) for i in range(4)], affine) for rank in range(comm.size)]
        wanted = maps[0].copy()
        for later in maps[1:]:
            following = later.copy()
            then(wanted, following)
            wanted = following
        op = coll.Operation(then, commutative=False, dtype=affine)
        assert (comm.allreduce(maps[comm.rank], op=op) == wanted).all()
        assert (comm.iallreduce(maps[comm.rank], op=op).wait() == wanted).all()
        op.free()
        with pytest.raises(ValueError, match="freed"):
            comm.allreduce(maps[comm.rank], op=op)

    def test_views_have_the_type_of_the_elements(self, comm):
        seen = set()

        def add(lower, inout):
            seen.add(str(inout.dtype))
            inout += lower

        op = coll.Operation(add)
        assert (comm.allreduce(values(comm.rank, 9, "f4"), op=op) == sum(all_values(comm, 9, "f4"))).all()
        assert seen <= {"float32"}

    def test_scaled_sums(self, comm):
        for dtype in ("i4", "f2", "f4", "f8", "g", "c8", "c16"):
            factors = [numpy.dtype(dtype).type(2 + rank) for rank in range(comm.size)]
            op = coll.ScaledSum(factors[comm.rank])
            wanted = sum(factor * one for factor, one in zip(factors, all_values(comm, 9, dtype)))
            assert (comm.allreduce(values(comm.rank, 9, dtype), op=op) == wanted).all()
            request = comm.iallreduce(values(comm.rank, 9, dtype), op=op)
            op.free()
            assert (request.wait() == wanted).all()
            with pytest.raises(ValueError, match="freed"):
                comm.allreduce(values(comm.rank), op=op)
        mean = coll.ScaledSum(1 / comm.size, coll.FLOAT)
        assert numpy.allclose(comm.allreduce(numpy.full(5, comm.rank, "f4"), op=mean), (comm.size - 1) / 2)
        turn = coll.ScaledSum(1j, coll.COMPLEX_DOUBLE)
        assert (comm.allreduce(numpy.full(2, 1 + 2j), op=turn) == comm.size * (-2 + 1j)).all()
        # 257 is no number of bfloat16: the factor is rounded to 256.
        brain = coll.ScaledSum(257, coll.BFLOAT16)
        three = numpy.full(3, 0x4040, numpy.uint16)
        comm.allreduce(coll.IN_PLACE, three, op=brain, datatype=coll.BFLOAT16)
        wanted = numpy.array([768 * comm.size], "f4").view("u4")[0] >> 16
        assert comm.size > 3 or (three == wanted).all()

    def test_wrong_factors(self, comm):
        with pytest.raises(TypeError, match="name its datatype"):
            coll.ScaledSum(0.5)
        with pytest.raises(ValueError, match="has 2 elements"):
            coll.ScaledSum(numpy.ones(2))
        with pytest.raises(ValueError, match="sums are of numbers"):
            coll.ScaledSum(1, coll.BYTE)
        with pytest.raises(coll.Error, match="not defined for datatype bool") as raised:
            coll.ScaledSum(numpy.bool_(True))
        assert raised.value.status == coll.Status.OP
        with pytest.raises(coll.Error, match="a scaled sum of float, not of double"):
            comm.allreduce(numpy.ones(3), op=coll.ScaledSum(0.5, coll.FLOAT))

    def test_an_exception_is_raised_by_the_collective(self, comm):
        def fail(lower, inout):
            raise ZeroDivisionError("planted")

        op = coll.Operation(fail)
        called = 0
        try:
            comm.reduce(values(comm.rank), op=op)
        except ZeroDivisionError:
            called = 1
        total = comm.allreduce(numpy.array([called]))
        assert total[0] >= (1 if comm.size > 1 else 0)  # libcoll decides which ranks combine
        assert (comm.allreduce(values(comm.rank)) == sum(all_values(comm))).all()


class TestLives:
    def test_split(self, comm):
        part = comm.split(comm.rank % 2, -comm.rank)
        members = [r for r in reversed(range(comm.size)) if r % 2 == comm.rank % 2]
        assert (part.rank, part.size) == (members.index(comm.rank), len(members))
        assert part.allreduce(numpy.array([comm.rank]))[0] == sum(members)
        part.close()
        part.close()
        with pytest.raises(ValueError, match="closed"):
            part.barrier()
        alone = comm.split(None if comm.rank else 0)
        assert (alone is None) == (comm.rank > 0)

    def test_many_requests_in_any_order(self, comm):
        requests = [comm.iallreduce(values(comm.rank + k)) for k in range(20)]
        for k in sorted(range(20), key=lambda k: k * 7 % 20):
            assert (requests[k].wait() == sum(values(rank + k) for rank in range(comm.size))).all()
            assert requests[k].test()

    def test_a_dropped_request_completes(self, comm):
        recv = numpy.zeros(100000)
        request = comm.iallreduce(numpy.full(100000, comm.rank + 1.0), recv)
        del request
        gc.collect()
        deadline = time.monotonic() + 30
        while coll.requests._dropped:
            coll.progress()
            assert time.monotonic() < deadline
        assert (recv == sum(range(1, comm.size + 1))).all()

    def test_a_persistent_request_runs_often(self, comm):
        send, recv = numpy.zeros(3), numpy.zeros(3)
        request = comm.allreduce_init(send, recv)
        for k in range(5):
            send[:] = k + comm.rank
            request.start()
            request.wait()
            assert (recv == k * comm.size + sum(range(comm.size))).all()
        request.free()

    def test_other_threads_run_while_a_collective_waits(self, comm):
        ticks, stop = [], threading.Event()

        def tick():
            while not stop.wait(0.001):
                ticks.append(1)

        thread = threading.Thread(target=tick)
        thread.start()
        if comm.rank == 0:
            time.sleep(0.2)
        before = len(ticks)
        comm.barrier()
        if comm.size > 1 and comm.rank > 0:
            assert len(ticks) > before
        stop.set()
        thread.join()

    def test_abort(self, comm):
        part = comm.split(0)
        if comm.rank == comm.size - 1:
            part.abort()
            with pytest.raises(coll.Aborted):
                part.barrier()
        else:
            with pytest.raises(coll.Aborted) as raised:
                for _ in range(2):
                    part.barrier()
            assert raised.value.status == coll.Status.ABORTED
        comm.barrier()

    def test_description(self, comm):
        assert f"{comm.size} rank" in comm.describe()
        assert repr(comm) == f"<coll.Communicator, rank {comm.rank} of {comm.size}>"
        assert coll.library_version().count(".") == 2
