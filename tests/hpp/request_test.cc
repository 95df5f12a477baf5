// SPDX-License-Identifier: BSD-3-Clause
#include "hpp/ranks_of.h"

namespace {

using ranks::Context;

template <class R>
concept CanBroadcastLater = requires(coll::Communicator& comm, R&& r) {
  comm.ibcast(std::forward<R>(r), 0);
};
static_assert(CanBroadcastLater<std::vector<int>&> && CanBroadcastLater<std::span<int>>);
static_assert(!CanBroadcastLater<std::vector<int>>, "a temporary would be gone before the broadcast is over");

TEST(Request, EmptyIsComplete) {
  coll::Request request;
  EXPECT_TRUE(request.test());
  request.wait();
  EXPECT_THROW(request.start(), coll::Error);
}

TEST(Request, NonBlockingCollectivesOverlap) {
  ranks::run(4, [](Context& context, coll::Communicator& comm) {
    std::vector<int> a(50000, comm.rank()), a_sum(50000), b(300, comm.rank() == 3 ? 9 : 0), c(20, comm.rank()),
        c_max(20);
    std::vector<coll::Request> requests;
    requests.push_back(comm.iallreduce(a, a_sum, coll::sum));
    requests.push_back(comm.ibcast(b, 3));
    requests.push_back(comm.ireduce(c, std::span(c_max), coll::max, 1));
    requests.push_back(comm.ibarrier());
    std::size_t done = 0;
    while (done < requests.size()) {
      done = 0;
      for (coll::Request& request : requests) done += request.test() ? 1 : 0;
    }
    for (int value : a_sum) RANK_CHECK(context, value == 6);
    for (int value : b) RANK_CHECK(context, value == 9);
    if (comm.rank() == 1)
      for (int value : c_max) RANK_CHECK(context, value == 3);
  });
}

TEST(Request, PersistentOnesRunAgainOnNewContents) {
  ranks::run(3, [](Context& context, coll::Communicator& comm) {
    std::vector<double> send(1000), recv(1000), row(64);
    coll::Request allreduce = comm.allreduce_init(send, recv, coll::sum);
    coll::Request bcast = comm.bcast_init(row, 1);
    coll::Request reduce = comm.reduce_init(send, recv, coll::max, 0);
    coll::Request barrier = comm.barrier_init();
    for (int round = 0; round < 20; round++) {
      send.assign(send.size(), comm.rank() + round);
      if (comm.rank() == 1) row.assign(row.size(), round);
      allreduce.start();
      bcast.start();
      allreduce.wait();
      bcast.wait();
      RANK_CHECK(context, recv.front() == 3 + 3 * round && recv.back() == recv.front());
      RANK_CHECK(context, row.back() == round);
      reduce.start();
      while (!reduce.test()) {}
      if (comm.rank() == 0) RANK_CHECK(context, recv.back() == 2 + round);
      barrier.start();
      barrier.wait();
    }
  });
}

TEST(Request, StartingTwiceIsAnError) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    std::vector<int> values(4, 1);
    coll::Request request = comm.allreduce_init(coll::in_place, values, coll::sum);
    // Rank 1 enters late, so that the request of rank 0 is still active.
    if (comm.rank() == 0) {
      request.start();
      try {
        request.start();
        context.fail("an active request was started");
      } catch (const coll::Error& error) { RANK_CHECK(context, error.status() == COLL_ERR_STATE); }
      context.meet();
    } else {
      context.meet();
      request.start();
    }
    request.wait();
    RANK_CHECK(context, values[3] == 2);
  });
}

TEST(Request, TheDestructorWaits) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    std::vector<int> values(100000, comm.rank());
    {
      coll::Request request = comm.iallreduce(coll::in_place, values, coll::sum);
      coll::Request moved = std::move(request);
    }
    for (int value : values) RANK_CHECK(context, value == 1);
    {
      coll::Request persistent = comm.allreduce_init(coll::in_place, values, coll::sum);
      persistent.start();
    }
    RANK_CHECK(context, values.back() == 2);
  });
}

TEST(Request, KeepsItsCommunicator) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    int value = comm.rank() + 1;
    coll::Request request;
    {
      std::optional<coll::Communicator> other = comm.split(0);
      request = other->iallreduce(coll::in_place, std::span(&value, 1), coll::prod);
    }
    request.wait();
    RANK_CHECK(context, value == 2);
  });
}

// The Communicator does not manage a request that was created with coll.h.
TEST(Request, OfTheHandleOutlivesTheCommunicator) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    coll_request* request = nullptr;
    {
      std::optional<coll::Communicator> other = comm.split(0);
      RANK_CHECK(context, coll_ibarrier(other->handle(), &request) == COLL_OK);
    }
    RANK_CHECK(context, coll_wait(&request) == COLL_OK);
  });
}

coll_status status_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const coll::Error& error) { return error.status(); }
  return COLL_OK;
}

TEST(Request, OnlyPersistentOnesAreStarted) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    coll::Request once = comm.ibarrier();
    RANK_CHECK(context, status_of([&] { once.start(); }) == COLL_ERR_STATE);
    once.wait();
    once.wait();  // complete
    RANK_CHECK(context, once.test());
    std::vector<int> values(1, comm.rank());
    coll::Request often = comm.allreduce_init(coll::in_place, values, coll::sum);
    often.wait();  // not started: complete
    coll::Request moved = std::move(often);
    RANK_CHECK(context, often.test());  // NOLINT(bugprone-use-after-move): the test is about that
    RANK_CHECK(context, status_of([&] { often.start(); }) == COLL_ERR_ARG);
    moved.start();
    moved.wait();
    RANK_CHECK(context, values[0] == 1);
  });
}

TEST(Request, AssignmentWaitsForTheOldOne) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    std::vector<int> values(100000, comm.rank());
    coll::Request request = comm.iallreduce(coll::in_place, values, coll::sum);
    request = comm.ibarrier();
    for (int value : values) RANK_CHECK(context, value == 1);
    request.wait();
  });
}

TEST(Request, ProgressAdvancesThoseOfAllCommunicators) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    std::optional<coll::Communicator> other = comm.split(0);
    std::vector<int> values(100000, comm.rank()), more(values);
    coll::Request first = comm.iallreduce(coll::in_place, values, coll::sum);
    coll::Request second = other->iallreduce(coll::in_place, more, coll::sum);
    while (!first.test()) coll::progress();
    second.wait();
    RANK_CHECK(context, values.back() == 1 && more.back() == 1);
  });
}

// Any thread may abort; every rank gets the reason.
TEST(Request, AbortEndsTheWait) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    if (comm.rank() == 1) {
      comm.abort(COLL_ERR_TOPOLOGY);
      RANK_CHECK(context, status_of([&] { comm.barrier(); }) == COLL_ERR_ABORTED);
      return;
    }
    coll::Request request;
    RANK_CHECK(context, status_of([&] {
                          request = comm.ibarrier();
                          request.wait();
                        }) == COLL_ERR_ABORTED);
    RANK_CHECK(context, status_of([&] { comm.abort(COLL_OK); }) == COLL_ERR_ARG);
  });
}

// The wait throws the status of execution, and the request is complete afterwards; dropping a request throws nothing.
TEST(Request, ThatFailedIsComplete) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    std::vector<int> values(1, 1);
    if (comm.rank() == 1) {
      comm.barrier();
      return;  // frees the communicator
    }
    coll::Request often = comm.allreduce_init(coll::in_place, values, coll::sum);
    comm.barrier();
    coll::Request once = comm.ibarrier(), dropped = comm.ibarrier();
    often.start();
    RANK_CHECK(context, status_of([&] { once.wait(); }) == COLL_ERR_PEER_DIED);
    RANK_CHECK(context, once.test());
    RANK_CHECK(context, status_of([&] {
                          while (!often.test()) {}
                        }) == COLL_ERR_PEER_DIED);
    RANK_CHECK(context, status_of([&] { often.wait(); }) == COLL_ERR_PEER_DIED);
    RANK_CHECK(context, status_of([&] { often.start(); }) == COLL_ERR_PEER_DIED);
    once = std::move(dropped);
  });
}

}  // namespace
