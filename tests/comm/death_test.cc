// SPDX-License-Identifier: BSD-3-Clause
// A rank is killed, or executes another program: the others get PEER_DIED within a second in every state, and no
// resources leak.
#include <dirent.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <tuple>

#include "../seed.h"
#include "comm/collectives.h"

using namespace ranks;

namespace {

[[noreturn]] void die(Context& c) {
  c.shared->moment_ns = now_ns();
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

// The victim's second thread ends it, whatever the first one is doing.
void die_later(Context& c, int after_us) {
  std::thread([&c, after_us] {
    usleep(useconds_t(after_us));
    die(c);
  }).detach();
}

void notices_in_time(Context& c, coll_status status, int64_t limit_ns = 1'000'000'000) {
  int64_t noticed = now_ns();
  RANK_CHECK(c, status == COLL_ERR_PEER_DIED);
  RANK_CHECK(c, strstr(coll_last_error(), "must be freed") != nullptr);
  int64_t moment = c.shared->moment_ns;
  RANK_CHECK(c, moment != 0);
  if (noticed - moment > limit_ns * slowness)
    c.fail("took " + std::to_string((noticed - moment) / 1'000'000) + " ms to notice");
}

// Uses the communicator on a survivor: runs one operation and returns its status.
struct Use {
  const char* name;
  std::function<coll_status(Context&, coll_comm*, std::vector<uint32_t>&, std::vector<uint32_t>&, int turn)> once;
};

coll_status blocking(Context& c, coll_comm* comm, std::vector<uint32_t>& in, std::vector<uint32_t>& out, int turn) {
  switch (turn % 4) {
    case 0: return coll_allreduce(in.data(), out.data(), in.size(), COLL_UINT32, COLL_SUM, comm);
    case 1: return coll_bcast(out.data(), out.size(), COLL_UINT32, turn / 4 % c.ranks, comm);
    case 2: return coll_reduce(in.data(), out.data(), in.size(), COLL_UINT32, COLL_SUM, turn / 4 % c.ranks, comm);
    default: return coll_barrier(comm);
  }
}

coll_status begin(Context& c, coll_comm* comm, std::vector<uint32_t>& in, std::vector<uint32_t>& out, int turn,
                  coll_request** request) {
  switch (turn % 3) {
    case 0: return coll_iallreduce(in.data(), out.data(), in.size(), COLL_UINT32, COLL_SUM, comm, request);
    case 1: return coll_ibcast(out.data(), out.size(), COLL_UINT32, turn / 4 % c.ranks, comm, request);
    default: return coll_ibarrier(comm, request);
  }
}
coll_status waiting(Context& c, coll_comm* comm, std::vector<uint32_t>& in, std::vector<uint32_t>& out, int turn) {
  coll_request* request = nullptr;
  coll_status status = begin(c, comm, in, out, turn, &request);
  return status != COLL_OK ? status : coll_wait(&request);
}
coll_status testing_(Context& c, coll_comm* comm, std::vector<uint32_t>& in, std::vector<uint32_t>& out, int turn) {
  coll_request* request = nullptr;
  coll_status status = begin(c, comm, in, out, turn, &request);
  for (int done = 0; done == 0 && status == COLL_OK;) status = coll_test(&request, &done);
  return status;
}
// Several requests are active: those behind the failed one must fail, too.
coll_status several(Context& c, coll_comm* comm, std::vector<uint32_t>& in, std::vector<uint32_t>& out, int turn) {
  std::vector<std::vector<uint32_t>> results(9, out);
  coll_request* requests[9] = {};
  coll_status worst = COLL_OK;
  for (size_t i = 0; i < 9 && worst == COLL_OK; i++)
    worst = begin(c, comm, in, results[i], turn * 9 + int(i), &requests[i]);
  for (coll_request*& request : requests) {
    coll_status status = coll_wait(&request);
    if (status != COLL_OK) worst = status;
  }
  return worst;
}

const Use uses[] = {{"blocking", blocking}, {"waiting", waiting}, {"testing", testing_}, {"several", several}};

std::vector<std::string> shared_memory_names() {
  std::vector<std::string> names;
  DIR* directory = opendir("/dev/shm");
  if (directory == nullptr) return names;
  while (dirent* entry = readdir(directory)) names.push_back(entry->d_name);
  closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

// Looks at the pages of all processes if the module is loaded and this process is root; no other test may use the
// module meanwhile. The module unpins those of the last process a moment later.
void nothing_is_pinned() {
  long pages = 0;
  for (int look = 0; look < 200; look++) {
    std::ifstream stats("/sys/kernel/debug/kcoll/stats");
    if (!stats) {
      EXPECT_EQ(getenv("KCOLL_VM"), nullptr) << "debugfs is missing";
      return;
    }
    pages = -1;
    for (std::string word; stats >> word;)
      if (word == "pinned_pages") stats >> pages;
    if (pages == 0) return;
    usleep(10'000);
  }
  ADD_FAILURE() << pages << " pages are still pinned";
}

void nothing_is_left(const std::vector<std::string>& before) {
  nothing_is_pinned();
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD) << "a process is left";
  for (const std::string& name : shared_memory_names())
    EXPECT_TRUE(std::binary_search(before.begin(), before.end(), name) || name.find("coll") == std::string::npos)
        << name;
}

// A program that computes between its tests must not need many of them to learn of a death.
TEST(DeathOfAPeer, IsNoticedByTheFirstTestAfterAnInterval) {
  run_processes(
      3,
      [](Context& c) {
        coll_comm* comm = c.comm();
        std::vector<uint32_t> in(1000, 1), out(1000);
        RANK_CHECK(c, coll_allreduce(in.data(), out.data(), 1000, COLL_UINT32, COLL_SUM, comm) == COLL_OK);
        if (c.rank == 1) die(c);
        coll_request* request = nullptr;
        coll_status status = coll_iallreduce(in.data(), out.data(), 1000, COLL_UINT32, COLL_SUM, comm, &request);
        int done = 0, tests = 0;
        for (; done == 0 && status == COLL_OK; tests++) {
          usleep(100'000);
          status = coll_test(&request, &done);
        }
        notices_in_time(c, status);
        if (tests > 9 * slowness) c.fail(std::to_string(tests) + " tests were needed");
        RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
      },
      1, 10);
}

enum class Point { before, between, middle, asleep };
const char* name_of(Point point) {
  const char* names[] = {"before", "between", "middle", "asleep"};
  return names[int(point)];
}

class Death : public testing::TestWithParam<std::tuple<const char*, int, Point>> {};

// Kills the first and the last rank, each in a run of its own. Where a run takes seconds (emulated machines,
// sanitizers), the operations run one after the other; in emulated machines with many ranks, only those that move data.
std::vector<int> victims(int ranks, size_t elements, int run) {
  if (!emulated() && slowness == 1) return {0, ranks - 1};
  if (emulated() && ranks > 4 && elements < 1000) return {};
  return {(run * 3 + ranks - 1) % ranks};
}

TEST_P(Death, IsNoticedByEverySurvivor) {
  auto [transport, ranks, point] = GetParam();
  Environment forced("COLL_TRANSPORT", transport);
  auto before = shared_memory_names();
  int run = int(point);
  for (const Use& use : uses)
    for (size_t n : {size_t(2), size_t(40'000)})
      for (int victim : victims(ranks, n, run++)) {
        SCOPED_TRACE(std::string(use.name) + ", " + std::to_string(n) + " elements, victim " + std::to_string(victim));
        run_processes(
            ranks,
            [&, point = point](Context& c) {
              coll_comm* comm = c.comm();
              std::vector<uint32_t> in(n, 1), out(n);
              for (int turn = 0; turn < 3; turn++) RANK_CHECK(c, use.once(c, comm, in, out, turn) == COLL_OK);
              c.meet();
              if (c.rank == victim) {
                if (point == Point::before) die(c);
                if (point == Point::asleep) usleep(60'000), die(c);
                if (point == Point::middle) die_later(c, 1000 + 2000 * (run % 4));
              }
              coll_status status = COLL_OK;
              for (int turn = 3; status == COLL_OK && !c.failed(); turn++) {
                if (c.rank == victim && point == Point::between && turn == 11) die(c);
                status = use.once(c, comm, in, out, turn);
              }
              if (c.rank == victim) {
                // The other ranks may have failed already because of the thread that is about to end this rank.
                for (;;) ::pause();
              }
              notices_in_time(c, status);
              RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
            },
            victim, 10);
      }
  nothing_is_left(before);
}

INSTANTIATE_TEST_SUITE_P(All, Death,
                         testing::Combine(testing::ValuesIn(transports({"shm", "cma"})), testing::Values(2, 3, 4, 8),
                                          testing::Values(Point::before, Point::between, Point::middle, Point::asleep)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + std::to_string(std::get<1>(info.param)) +
                                  name_of(std::get<2>(info.param));
                         });

// The process continues as another program, which holds no resources of the communicator.
class Execve : public testing::TestWithParam<const char*> {};

TEST_P(Execve, IsNoticedByEverySurvivor) {
  constexpr int ranks = 4, victim = 2;
  Environment forced("COLL_TRANSPORT", GetParam());
  for (const Use& use : uses)
    for (size_t n : {size_t(2), size_t(40'000)}) {
      SCOPED_TRACE(std::string(use.name) + ", " + std::to_string(n) + " elements");
      auto* noticed = static_cast<std::atomic<int>*>(
          mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
      run_processes(
          ranks,
          [&](Context& c) {
            coll_comm* comm = c.comm();
            const pid_t own = getpid();
            pid_t pids[ranks];
            Context::allgather(&own, pids, sizeof own, &c);
            std::vector<uint32_t> in(n, 1), out(n);
            for (int turn = 0; turn < 3; turn++) RANK_CHECK(c, use.once(c, comm, in, out, turn) == COLL_OK);
            c.meet();
            if (c.rank == victim) {
              c.shared->moment_ns = now_ns();
              execl("/bin/sleep", "sleep", "300", nullptr);
            }
            coll_status status = COLL_OK;
            for (int turn = 3; status == COLL_OK && !c.failed(); turn++) status = use.once(c, comm, in, out, turn);
            notices_in_time(c, status);
            RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
            if (++*noticed == ranks - 1) kill(pids[victim], SIGKILL);
          },
          victim, 10);
      EXPECT_EQ(*noticed, ranks - 1);
      munmap(noticed, sizeof(int));
    }
}

INSTANTIATE_TEST_SUITE_P(All, Execve, testing::ValuesIn(transports({"shm", "cma"})));

// 32 ranks share each of two cores, and other programs may run there. A rank notices a death when it gets a core, and
// many ranks notice it through another rank, because data goes from rank to rank. So the allowed time grows with the
// longest collective of the same run.
TEST(Death, IsNoticedByEachOf64Ranks) {
  constexpr int ranks = 64;
  std::mt19937 random(coll::test::seed());
  for (int run = 0; run < 6; run++) {
    const int victim = int(random() % ranks), after_us = int(random() % 40'000);
    const Use& use = uses[random() % std::size(uses)];
    const size_t n = run % 2 == 0 ? 2 : 4000;
    SCOPED_TRACE(std::string(use.name) + ", " + std::to_string(n) + " elements, victim " + std::to_string(victim));
    run_processes(
        ranks,
        [&](Context& c) {
          coll_comm* comm = c.comm();
          std::vector<uint32_t> in(n, 1), out(n);
          int64_t longest_ns = 0;
          for (int turn = 0; turn < 4; turn++) {
            const int64_t begin = now_ns();
            RANK_CHECK(c, use.once(c, comm, in, out, turn) == COLL_OK);
            longest_ns = std::max(longest_ns, now_ns() - begin);
          }
          c.meet();
          if (c.rank == victim) die_later(c, after_us);
          coll_status status = COLL_OK;
          for (int turn = 0; status == COLL_OK && !c.failed(); turn++) status = use.once(c, comm, in, out, turn);
          while (c.rank == victim) ::pause();
          notices_in_time(c, status, 1'000'000'000 + 2 * longest_ns);
          RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
        },
        victim);
  }
}

// The rank is killed inside its own reduction function, with half a vector published.
TEST(Death, InsideAUserFunction) {
  run_processes(
      3,
      [](Context& c) {
        coll_comm* comm = c.comm();
        coll_op op;
        auto function = [](const void* in, void* inout, size_t count, coll_datatype, void* context) {
          auto& self = *static_cast<Context*>(context);
          if (self.rank == 1) die(self);
          for (size_t i = 0; i < count; i++) static_cast<uint32_t*>(inout)[i] += static_cast<const uint32_t*>(in)[i];
        };
        RANK_CHECK(c, coll_op_create(function, 1, &c, &op) == COLL_OK);
        std::vector<uint32_t> in(100'000, 1), out(in.size());
        notices_in_time(c, coll_allreduce(in.data(), out.data(), in.size(), COLL_UINT32, op, comm));
        RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
      },
      1);
}

// A split among ranks one of which has died.
TEST(Death, DuringASplit) {
  run_processes(
      3,
      [](Context& c) {
        coll_comm *comm = c.comm(), *part = nullptr;
        c.meet();
        if (c.rank == 2) die(c);
        notices_in_time(c, coll_comm_split(comm, 0, 0, &part));
        RANK_CHECK(c, part == nullptr);
        RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
      },
      2);
}

// Leaving after the last collective is not a death, however slow the others are and in whatever form a rank leaves.
TEST(Death, IsNotWhenARankLeavesAfterItsLastCollective) {
  auto before = shared_memory_names();
  for (const char* transport : transports({"shm", "cma", "mapped"}))
    for (bool frees : {false, true})
      for (size_t n : {size_t(1), size_t(150), size_t(3000), size_t(60'000)}) {
        SCOPED_TRACE(std::string(transport) + (frees ? " frees " : " just ends ") + std::to_string(n));
        Environment forced("COLL_TRANSPORT", transport);
        run_processes(3, [=](Context& c) {
          coll_comm* comm = c.comm();
          coll_request* requests[3] = {};
          std::vector<uint32_t> in(n, 1), out(n), data[3];
          c.meet();
          if (c.rank != 0) usleep(c.rank == 1 ? 5000 : 70'000);
          for (size_t i = 0; i < 3; i++) {
            data[i].assign(n, c.rank == 0 ? 5 : 0);
            RANK_CHECK(c, coll_ibcast(data[i].data(), n, COLL_UINT32, 0, comm, &requests[i]) == COLL_OK);
          }
          for (coll_request*& request : requests) RANK_CHECK(c, coll_wait(&request) == COLL_OK);
          RANK_CHECK(c, data[2][n - 1] == 5);
          for (int turn = 0; turn < 8; turn++) RANK_CHECK(c, blocking(c, comm, in, out, turn) == COLL_OK);
          if (c.rank == 2) usleep(20'000);
          for (int root : {0, 1}) RANK_CHECK(c, coll_bcast(out.data(), n, COLL_UINT32, root, comm) == COLL_OK);
          if (frees) RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
          if (!frees) _exit(c.failed() ? 1 : 0);
        });
      }
  nothing_is_left(before);
}

}  // namespace
