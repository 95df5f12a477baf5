// SPDX-License-Identifier: BSD-3-Clause
// Repeated calls whose instructions are counted: one thread runs both ranks, so that no rank waits and every
// run executes the same instructions. Runs under callgrind, which dumps the cost of each call under its name; check.py
// reads the dumps. Without callgrind it only runs.
//
//   in turn     one rank's blocking call, then the other's, which finds its data ready
//   nested      the first rank waits, and its progress hook makes the second rank's call: exchanges of one hop
//   side by side  non-blocking calls, tested alternately
#include <valgrind/callgrind.h>

#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "coll/coll.h"

namespace {

constexpr int warm = 300;  // until every slot of the staging ring has been used
constexpr int counted = 100;
constexpr size_t longest = size_t(1) << 20;

struct Meeting {
  std::barrier<> barrier{2};
  std::vector<char> slots[2];
};
struct Seat {
  Meeting* meeting;
  int rank;
};

int allgather(const void* send, void* recv, size_t bytes, void* context) {
  const Seat& seat = *static_cast<Seat*>(context);
  Meeting& meeting = *seat.meeting;
  auto* mine = static_cast<const char*>(send);
  meeting.slots[seat.rank].assign(mine, mine + bytes);
  meeting.barrier.arrive_and_wait();
  for (size_t r = 0; r < 2; r++) memcpy(static_cast<char*>(recv) + r * bytes, meeting.slots[r].data(), bytes);
  meeting.barrier.arrive_and_wait();
  return 0;
}

void must(coll_status status) {
  if (status == COLL_OK) return;
  fprintf(stderr, "%s\n", coll_last_error());
  exit(1);
}

struct Rank {
  coll_comm* comm = nullptr;
  std::vector<float> in = std::vector<float>(2 * longest / sizeof(float), 1);
  std::vector<float> out = std::vector<float>(2 * longest / sizeof(float));
};

class Calls {
 public:
  Calls() {
    Meeting meeting;
    Seat seats[2] = {{&meeting, 0}, {&meeting, 1}};
    const auto create = [&](int r) {
      coll_bootstrap bootstrap = {sizeof bootstrap, r, 2, allgather, &seats[r]};
      must(coll_comm_create(&bootstrap, &ranks_[r].comm));
    };
    std::thread other(create, 1);
    create(0);
    other.join();
  }
  ~Calls() {
    for (Rank& rank : ranks_) coll_comm_free(rank.comm);
  }

  using Blocking = std::function<coll_status(Rank&)>;
  using Starting = std::function<coll_status(Rank&, coll_request**)>;

  void in_turn(const std::string& name, int first, const Blocking& call) {
    count(name, [&] {
      must(call(ranks_[first]));
      must(call(ranks_[1 - first]));
    });
  }
  void nested(const std::string& name, const Blocking& call) {
    struct Hook {
      const Blocking& call;
      Rank& other;
      bool called = false;
    };
    count(name, [&] {
      Hook hook{call, ranks_[1]};
      must(coll_comm_set_progress(
          ranks_[0].comm,
          [](void* context) {
            Hook& waiting = *static_cast<Hook*>(context);
            if (waiting.called) return;
            waiting.called = true;
            must(waiting.call(waiting.other));
          },
          &hook));
      must(call(ranks_[0]));
    });
    must(coll_comm_set_progress(ranks_[0].comm, nullptr, nullptr));
  }
  void side_by_side(const std::string& name, const Starting& start) {
    count(name, [&] {
      coll_request* requests[2];
      for (int r = 0; r < 2; r++) must(start(ranks_[r], &requests[r]));
      for (int done[2] = {0, 0}; !done[0] || !done[1];)
        for (int r = 0; r < 2; r++)
          if (!done[r]) must(coll_test(&requests[r], &done[r]));
    });
  }

 private:
  void count(const std::string& name, const std::function<void()>& both) {
    for (int i = 0; i < warm; i++) both();
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
    for (int i = 0; i < counted; i++) both();
    CALLGRIND_DUMP_STATS_AT(name.c_str());
    CALLGRIND_STOP_INSTRUMENTATION;
    printf("%s\n", name.c_str());
  }
  Rank ranks_[2];
};

size_t floats(size_t bytes) { return bytes / sizeof(float); }
std::string named(const char* collective, size_t bytes) {
  return std::string(collective) + " " + std::to_string(bytes);
}

// A size that the latency path would serve, in chunks that the C library copies with its short loop.
void planned() {
  setenv("COLL_BCAST", "flat_read:chunk=4096,depth=16", 1);
  setenv("COLL_REDUCE", "flat:chunk=4096,depth=16", 1);
  setenv("COLL_GATHER", "sequential_read:chunk=4096,depth=16", 1);
  Calls calls;
  constexpr size_t n = 16384 / sizeof(float);
  calls.in_turn("bcast 16384", 0, [](Rank& r) { return coll_bcast(r.in.data(), n, COLL_FLOAT, 0, r.comm); });
  calls.in_turn("reduce 16384", 1,
                [](Rank& r) { return coll_reduce(r.in.data(), r.out.data(), n, COLL_FLOAT, COLL_SUM, 0, r.comm); });
  calls.in_turn("gather 16384", 1,
                [](Rank& r) { return coll_gather(r.in.data(), r.out.data(), n, COLL_FLOAT, 0, r.comm); });
}

}  // namespace

int main() {
  // Threads of one process could access each other's buffers; ordinary ranks cannot.
  setenv("COLL_TRANSPORT", "shm", 1);
  Calls calls;
  calls.nested("barrier", [](Rank& r) { return coll_barrier(r.comm); });
  for (size_t bytes : {8, 1024}) {
    const size_t n = floats(bytes);
    calls.nested(named("allreduce", bytes),
                 [=](Rank& r) { return coll_allreduce(r.in.data(), r.out.data(), n, COLL_FLOAT, COLL_SUM, r.comm); });
  }
  calls.nested("allgather 64",
               [](Rank& r) { return coll_allgather(r.in.data(), r.out.data(), floats(64), COLL_FLOAT, r.comm); });
  calls.nested("alltoall 64",
               [](Rank& r) { return coll_alltoall(r.in.data(), r.out.data(), floats(64), COLL_FLOAT, r.comm); });
  for (size_t bytes : {8, 1024}) {
    const size_t n = floats(bytes);
    calls.in_turn(named("bcast", bytes), 0, [=](Rank& r) { return coll_bcast(r.in.data(), n, COLL_FLOAT, 0, r.comm); });
    calls.in_turn(named("reduce", bytes), 1,
                  [=](Rank& r) { return coll_reduce(r.in.data(), r.out.data(), n, COLL_FLOAT, COLL_SUM, 0, r.comm); });
  }
  calls.in_turn("gather 64", 1,
                [](Rank& r) { return coll_gather(r.in.data(), r.out.data(), floats(64), COLL_FLOAT, 0, r.comm); });
  calls.in_turn("scatter 64", 0,
                [](Rank& r) { return coll_scatter(r.in.data(), r.out.data(), floats(64), COLL_FLOAT, 0, r.comm); });
  calls.in_turn("scan 1024", 0, [](Rank& r) {
    return coll_scan(r.in.data(), r.out.data(), floats(1024), COLL_FLOAT, COLL_SUM, r.comm);
  });
  calls.side_by_side("iallreduce 8", [](Rank& r, coll_request** request) {
    return coll_iallreduce(r.in.data(), r.out.data(), floats(8), COLL_FLOAT, COLL_SUM, r.comm, request);
  });
  for (size_t bytes : {65536, 1048576})
    calls.side_by_side(named("iallreduce", bytes), [n = floats(bytes)](Rank& r, coll_request** request) {
      return coll_iallreduce(r.in.data(), r.out.data(), n, COLL_FLOAT, COLL_SUM, r.comm, request);
    });
  calls.side_by_side("iallgather 8192", [](Rank& r, coll_request** request) {
    return coll_iallgather(r.in.data(), r.out.data(), floats(8192), COLL_FLOAT, r.comm, request);
  });
  calls.side_by_side("ialltoall 8192", [](Rank& r, coll_request** request) {
    return coll_ialltoall(r.in.data(), r.out.data(), floats(8192), COLL_FLOAT, r.comm, request);
  });
  planned();
  return 0;
}
