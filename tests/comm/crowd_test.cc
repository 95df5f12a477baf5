// SPDX-License-Identifier: BSD-3-Clause
// More ranks than cores. The bounds are generous: what they catch is ranks that spin away the core of whom they wait for,
// which costs a time slice per step, a hundred times what is allowed here.
#include <sched.h>

#include "comm/collectives.h"

using namespace ranks;

namespace {

void many_small_ones(Context& c, bool own_session) {
  if (own_session) setsid();
  coll_comm* comm = c.comm();
  c.meet();
  int64_t begin = now_ns();
  uint32_t one = 1, sum = 0;
  constexpr int rounds = 300;
  for (int i = 0; i < rounds; i++) {
    RANK_CHECK(c, coll_allreduce(&one, &sum, 1, COLL_UINT32, COLL_SUM, comm) == COLL_OK && sum == uint32_t(c.ranks));
    RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
    RANK_CHECK(c, coll_bcast(&sum, 1, COLL_UINT32, i % c.ranks, comm) == COLL_OK);
  }
  std::vector<uint32_t> in(50'000, 1), out(in.size());
  for (int i = 0; i < 10; i++) {
    RANK_CHECK(c, coll_allreduce(in.data(), out.data(), in.size(), COLL_UINT32, COLL_SUM, comm) == COLL_OK);
    RANK_CHECK(c, out[49'999] == uint32_t(c.ranks));
  }
  int64_t took_ms = (now_ns() - begin) / 1'000'000;
  if (c.rank == 0)
    printf("%d ranks%s: %lld ms\n", c.ranks, own_session ? ", a session each" : "", static_cast<long long>(took_ms));
  fflush(stdout);
  if (took_ms > 4000 * slowness) c.fail("took " + std::to_string(took_ms) + " ms");
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
}

// All on two cores, whatever the machine has.
class TwoCores {
 public:
  TwoCores() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t two;
    CPU_ZERO(&two);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; cpu++)
      if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &two);
    sched_setaffinity(0, sizeof two, &two);
  }
  ~TwoCores() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

TEST(Crowd, EightRanksOnTwoCoresAreQuick) {
  TwoCores two;
  run_processes(8, [](Context& c) { many_small_ones(c, false); });
}
TEST(Crowd, EightRanksWithASessionEachAreQuick) {
  TwoCores two;
  run_processes(8, [](Context& c) { many_small_ones(c, true); });
}
// Ranks bound to the same core are a crowd also where other cores are free.
TEST(Crowd, TwoRanksBoundToOneCore) {
  run_processes(2, [](Context& c) {
    cpu_set_t mine, one;
    sched_getaffinity(0, sizeof mine, &mine);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
      if (CPU_ISSET(cpu, &mine)) {
        CPU_SET(cpu, &one);
        break;
      }
    sched_setaffinity(0, sizeof one, &one);
    many_small_ones(c, false);
  });
}

}  // namespace
