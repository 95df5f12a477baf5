# SPDX-License-Identifier: BSD-3-Clause
"""Asynchronous works: futures, threads, profiler, order; in all ranks of one job in lockstep."""
import datetime
import operator
import threading
import time

import pytest

from job import RANK, SIZE, all_values, dist, folded, init, torch, values


@pytest.fixture(scope="module", autouse=True)
def job():
    init()
    yield
    dist.destroy_process_group()


def test_works_complete_in_any_order():
    tensors = [values(RANK, n) for n in (1, 100, 300000, 7)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for k in (2, 0, 3, 1):
        assert works[k].wait()
        assert works[k].is_completed() and works[k].is_success()
        n = tensors[k].numel()
        assert torch.equal(tensors[k], folded(all_values(n), operator.add))
        assert torch.equal(works[k].result()[0], tensors[k])


def test_a_work_completes_while_no_thread_waits():
    tensor = values(RANK, 3000000)
    work = dist.all_reduce(tensor, async_op=True)
    deadline = time.monotonic() + 60
    future = work.get_future()
    while not future.done():
        time.sleep(0.001)
        assert time.monotonic() < deadline
    assert work.is_completed()
    assert torch.equal(tensor, folded(all_values(3000000), operator.add))


def test_a_work_that_is_dropped_completes():
    tensors = [values(RANK, 50000) for _ in range(5)]
    for tensor in tensors:
        dist.all_reduce(tensor, async_op=True)
    dist.barrier()
    for tensor in tensors:
        deadline = time.monotonic() + 60
        while not torch.equal(tensor, folded(all_values(50000), operator.add)):
            assert time.monotonic() < deadline


def test_futures_and_their_callbacks():
    tensor = values(RANK)
    future = dist.all_reduce(tensor, async_op=True).get_future()
    doubled = future.then(lambda done: done.value()[0] * 2)
    assert torch.equal(doubled.wait(), folded(all_values(), operator.add) * 2)
    chained = []

    def again(done):
        chained.append(dist.all_reduce(done.value()[0], async_op=True))
        return chained[0].get_future()

    tensor = values(RANK)
    dist.all_reduce(tensor, async_op=True).get_future().then(again).wait()
    chained[0].wait()
    assert torch.equal(tensor, folded(all_values(), operator.add) * SIZE)


def test_groups_of_several_threads():
    groups = [dist.new_group() for _ in range(3)]
    problems = []

    def run(group, seed):
        try:
            for n in (1, 1000, 200000):
                tensor = values(RANK + seed, n)
                dist.all_reduce(tensor, group=group)
                assert torch.equal(tensor, folded([values(r + seed, n) for r in range(SIZE)], operator.add))
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(group, k)) for k, group in enumerate(groups)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_works_of_two_groups_in_opposite_order():
    first, second = dist.new_group(), dist.new_group()
    a, b = values(RANK, 100000), values(RANK + 1, 100000)
    pairs = [(a, first), (b, second)]
    works = [dist.all_reduce(tensor, group=group, async_op=True) for tensor, group in (pairs if RANK else pairs[::-1])]
    for work in works:
        work.wait()
    assert torch.equal(a, folded(all_values(100000), operator.add))


def test_profiler_sees_collectives():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        dist.all_reduce(values(RANK))
        dist.broadcast(values(RANK), 0)
    names = {event.key for event in profile.key_averages()}
    assert {"coll:all_reduce", "coll:broadcast"} <= names


def test_a_wait_of_its_own_limit():
    if SIZE == 1:
        pytest.skip("one rank has no other to wait for")
    tensor = values(RANK)
    if RANK == 0:
        work = dist.all_reduce(tensor, async_op=True)
        with pytest.raises(RuntimeError, match="not complete after 50 ms"):
            work.wait(datetime.timedelta(milliseconds=50))
        dist.send(torch.zeros(1), 1)
        for r in range(2, SIZE):
            dist.send(torch.zeros(1), r)
        work.wait()
    else:
        dist.recv(torch.zeros(1), 0)
        dist.all_reduce(tensor)
    assert torch.equal(tensor, folded(all_values(), operator.add))


def test_sequence_numbers():
    group = dist.new_group()
    backend = group._get_backend(torch.device("cpu")) if hasattr(group, "_get_backend") else group
    before = backend._get_sequence_number_for_group()
    dist.all_reduce(values(RANK), group=group)
    dist.barrier(group)
    assert backend._get_sequence_number_for_group() == before + 2


def test_forked_workers_of_a_loader():
    loader = torch.utils.data.DataLoader(torch.arange(40.0).view(20, 2), batch_size=5, num_workers=2)
    total = torch.zeros(2)
    for batch in loader:
        dist.all_reduce(batch)
        total += batch.sum(0)
    assert torch.equal(total, torch.arange(40.0).view(20, 2).sum(0) * SIZE)
