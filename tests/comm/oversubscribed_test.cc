// SPDX-License-Identifier: BSD-3-Clause
// Oversubscription. The time limits are generous: they detect ranks that spin on the core of a peer that they wait for,
// which costs a time slice per step, a hundred times the limit.
#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "comm/collectives.h"
#include "topo/machine.h"

using namespace ranks;

namespace {

// Yields of this thread so far.
thread_local int yields = 0;

}  // namespace

// In place of the C library's.
extern "C" int sched_yield() noexcept {
  yields++;
  return int(syscall(SYS_sched_yield));
}

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

// Runs all ranks on two cores of the machine.
class TwoCores {
 public:
  TwoCores() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t two;
    CPU_ZERO(&two);
    for (int cpu : coll::topo::current_cpus())
      if (CPU_COUNT(&two) < 2) CPU_SET(cpu, &two);
    sched_setaffinity(0, sizeof two, &two);
  }
  ~TwoCores() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

TEST(Oversubscribed, EightRanksOnTwoCoresAreQuick) {
  TwoCores two;
  run_processes(8, [](Context& c) { many_small_ones(c, false); });
}
TEST(Oversubscribed, EightRanksWithASessionEachAreQuick) {
  TwoCores two;
  run_processes(8, [](Context& c) { many_small_ones(c, true); });
}
void bind_to(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}
// The first core that this process may use.
void bind_to_one_core() { bind_to(coll::topo::current_cpus().front()); }

// Ranks that are bound to one core are oversubscribed even if other cores are free.
TEST(Oversubscribed, TwoRanksBoundToOneCore) {
  run_processes(2, [](Context& c) {
    bind_to_one_core();
    many_small_ones(c, false);
  });
}

// A rank that tests in a loop keeps the core from the peer that it waits for, until its time slice ends.
TEST(Oversubscribed, TestsInALoopYieldOnASharedCoreOnly) {
  const std::vector<int> cpus = coll::topo::current_cpus();
  for (bool shared : {true, false}) {
    if (!shared && cpus.size() < 2) GTEST_SKIP() << "needs two processors";
    run_processes(2, [&](Context& c) {
      bind_to(cpus[shared ? 0 : size_t(c.rank)]);
      coll_comm* comm = c.comm();
      constexpr int tests = 640, tests_per_yield = 64;
      uint32_t one = 1, sum = 0;
      coll_request* request = nullptr;
      if (c.rank == 0) {
        RANK_CHECK(c, coll_iallreduce(&one, &sum, 1, COLL_UINT32, COLL_SUM, comm, &request) == COLL_OK);
        const int before = yields;
        int done = 0;
        for (int i = 0; i < tests; i++) RANK_CHECK(c, coll_test(&request, &done) == COLL_OK && done == 0);
        const int expected = shared ? tests / tests_per_yield : 0;
        if (yields - before != expected)
          c.fail(std::to_string(yields - before) + " yields, expected " + std::to_string(expected));
      }
      c.meet();  // rank 1 starts afterwards
      if (c.rank == 1) RANK_CHECK(c, coll_iallreduce(&one, &sum, 1, COLL_UINT32, COLL_SUM, comm, &request) == COLL_OK);
      RANK_CHECK(c, coll_wait(&request) == COLL_OK && sum == 2);
      RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    });
  }
}

// Returns the median time of an allreduce in nanoseconds, of two ranks on one core: bound to it before the communicator
// is created, or only then, after the library has seen two ranks on two cores.
int64_t allreduce_on_one_core_ns(size_t bytes, bool bound_before, std::atomic<int64_t>& median) {
  run_processes(2, [&](Context& c) {
    if (bound_before) bind_to_one_core();
    coll_comm* comm = c.comm();
    bind_to_one_core();
    std::vector<uint32_t> in(bytes / sizeof(uint32_t), 1), out(in.size());
    std::vector<int64_t> took;
    // The first calls touch memory for payloads, which takes several times as long as the call.
    constexpr int first = 100, timed = 60;
    for (int i = 0; i < first + timed; i++) {
      RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
      const int64_t begin = now_ns();
      for (int k = 0; k < 10; k++)
        RANK_CHECK(c, coll_allreduce(in.data(), out.data(), in.size(), COLL_UINT32, COLL_SUM, comm) == COLL_OK);
      if (i >= first) took.push_back((now_ns() - begin) / 10);
    }
    std::sort(took.begin(), took.end());
    if (c.rank == 0) median = took[took.size() / 2];
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
  return median;
}

// A launcher may bind no rank, so that both get onto one core. A rank that spins until its time slice ends takes 100 to
// 200 times as long as one that yields the core.
TEST(Oversubscribed, TwoRanksThatMeetOnOneCoreGiveItUp) {
  TwoCores two;
  if (coll::topo::current_cpus().size() < 2) GTEST_SKIP() << "needs two processors";
  auto* median = static_cast<std::atomic<int64_t>*>(
      mmap(nullptr, sizeof(std::atomic<int64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (size_t bytes : {size_t(8), size_t(8) << 10, size_t(64) << 10, size_t(1) << 20}) {
    int64_t bound = INT64_MAX, moved = INT64_MAX;
    for (int round = 0; round < 3; round++) {  // the minimum: other load can only lengthen a median
      bound = std::min(bound, allreduce_on_one_core_ns(bytes, true, *median));
      moved = std::min(moved, allreduce_on_one_core_ns(bytes, false, *median));
    }
    printf("%zu B: %lld ns bound, %lld ns moved\n", bytes, static_cast<long long>(bound),
           static_cast<long long>(moved));
    EXPECT_LT(moved, (slowness == 1 ? 1.7 : 5) * double(bound)) << bytes;
  }
  munmap(median, sizeof(std::atomic<int64_t>));
}

// Number of interrupts so far by which other processors made this one run a function; -1 if the kernel does not count
// them.
int64_t function_call_interrupts(int cpu) {
  std::ifstream file("/proc/interrupts");
  std::string line, name;
  std::getline(file, line);
  int column = -1, columns = 0;
  for (std::istringstream header(line); header >> name; columns++)
    if (name == "CPU" + std::to_string(cpu)) column = columns;
  while (std::getline(file, line)) {
    if (column < 0 || line.find("Function call interrupts") == std::string::npos) continue;
    std::istringstream numbers(line);
    int64_t count = -1;
    numbers >> name;
    for (int i = 0; i <= column; i++) numbers >> count;
    return count;
  }
  return -1;
}

// Seven ranks on one core wait for an eighth that computes on another core, and must not interrupt it: other work of
// the machine interrupts it a few times per second. A system-wide barrier for every sleep would cause 1,000 to 5,000
// interrupts.
TEST(Oversubscribed, RanksThatWaitDoNotInterruptOneThatComputes) {
  const std::vector<int> cpus = coll::topo::current_cpus();
  if (cpus.size() < 2) GTEST_SKIP() << "needs two processors";
  if (function_call_interrupts(cpus[1]) < 0) GTEST_SKIP() << "/proc/interrupts does not count function calls";
  for (bool blocking : {true, false})
    run_processes(8, [&](Context& c) {
      coll_comm* comm = c.comm();
      bind_to(cpus[c.rank == 0 ? 1 : 0]);
      RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
      uint32_t one = 1, sum = 0;
      if (c.rank == 0) {
        usleep(200'000);
        const int64_t begin = now_ns(), before = function_call_interrupts(cpus[1]);
        while (now_ns() - begin < 1'000'000'000) {}
        const int64_t interrupts = function_call_interrupts(cpus[1]) - before;
        printf("%s: %lld interrupts in a second\n", blocking ? "blocking" : "non-blocking",
               static_cast<long long>(interrupts));
        fflush(stdout);
        RANK_CHECK(c, interrupts < 200);
      }
      if (blocking) {
        RANK_CHECK(c, coll_allreduce(&one, &sum, 1, COLL_UINT32, COLL_SUM, comm) == COLL_OK);
      } else {
        coll_request* request = nullptr;
        RANK_CHECK(c, coll_iallreduce(&one, &sum, 1, COLL_UINT32, COLL_SUM, comm, &request) == COLL_OK);
        RANK_CHECK(c, coll_wait(&request) == COLL_OK);
      }
      RANK_CHECK(c, sum == 8 && coll_comm_free(comm) == COLL_OK);
    });
}

}  // namespace
