// SPDX-License-Identifier: BSD-3-Clause
// A spare communicator that all ranks have kept is used again; otherwise all ranks create a new one.
#include <sched.h>

#include <fstream>
#include <set>
#include <sstream>

#include "../resident_memory.h"
#include "coll/shim.h"
#include "comm/requests.h"

using namespace ranks;
using coll::test::resident_shared_bytes;

namespace {

// Counts the segments of communicators that this process has mapped, some of them in several parts.
size_t segments() {
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> inodes;
  for (std::string line; std::getline(maps, line);) {
    std::string addresses, rights, offset, device, inode;
    std::istringstream(line) >> addresses >> rights >> offset >> device >> inode;
    if (line.find("libcoll segment") != std::string::npos) inodes.insert(inode);
  }
  return inodes.size();
}

coll_comm* create_or_reuse(Context& c, int* exchanges = nullptr) {
  struct Counted {
    Context& context;
    int exchanges = 0;
    static int allgather(const void* send, void* recv, size_t bytes, void* self) {
      auto& counted = *static_cast<Counted*>(self);
      counted.exchanges++;
      return Context::allgather(send, recv, bytes, &counted.context);
    }
  } counted{c};
  const coll_bootstrap bootstrap{sizeof(coll_bootstrap), c.rank, c.ranks, Counted::allgather, &counted};
  coll_comm* made = nullptr;
  RANK_CHECK(c, coll_comm_create_or_reuse(&bootstrap, &made) == COLL_OK);
  if (exchanges != nullptr) *exchanges = counted.exchanges;
  return made;
}

// Calls every collective whose state could be out of step, with values that differ between calls.
void use(Context& c, coll_comm* comm, int round) {
  for (int count : {1, 1000, 10'000}) {
    std::vector<int> in(size_t(count), c.rank + round), sum(in.size()), all(in.size() * size_t(c.ranks));
    RANK_CHECK(c, coll_allreduce(in.data(), sum.data(), size_t(count), COLL_INT, COLL_SUM, comm) == COLL_OK);
    RANK_CHECK(c, sum.back() == c.ranks * round + c.ranks * (c.ranks - 1) / 2);
    if (count > 1000) continue;
    RANK_CHECK(c, coll_allgather(in.data(), all.data(), size_t(count), COLL_INT, comm) == COLL_OK);
    RANK_CHECK(c, all.back() == c.ranks - 1 + round && all.front() == round);
    coll_request* request = nullptr;
    std::vector<int> word(in.size(), c.rank == round % c.ranks ? round : -1);
    RANK_CHECK(c, coll_ibcast(word.data(), size_t(count), COLL_INT, round % c.ranks, comm, &request) == COLL_OK);
    RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
    RANK_CHECK(c, coll_wait(&request) == COLL_OK);
    RANK_CHECK(c, word.back() == round);
  }
}

class SparesOf : public testing::TestWithParam<int> {};

void reuse_many_times(Context& c) {
  int exchanges = 0;
  for (int round = 0; round < 20 && !c.failed(); round++) {
    coll_comm* const comm = create_or_reuse(c, &exchanges);
    RANK_CHECK(c, exchanges == (round == 0 ? 3 : 1));
    use(c, comm, round);
    if (c.rank == round % c.ranks) usleep(300);  // the others keep it and return while this rank is in the last call
    coll_comm_keep(comm);
  }
  c.meet();  // threads share the spares
  if (c.rank == 0 || !c.threads) coll_comm_free_kept();
  c.meet();
  RANK_CHECK(c, segments() == 0);
}

TEST_P(SparesOf, AreUsedAgainAfterOneExchange) { run_processes(GetParam(), reuse_many_times); }
INSTANTIATE_TEST_SUITE_P(All, SparesOf, testing::Values(2, 3, 24, 64), testing::PrintToStringParamName());

TEST(SparesOfThreads, AreUsedAgainAfterOneExchange) { run_threads(2, reuse_many_times); }

coll_comm* create_or_reuse_within(Context& c, coll_comm* parent, int* exchanges) {
  struct Counted {
    coll_comm* parent;
    int exchanges = 0;
    static int allgather(const void* send, void* recv, size_t bytes, void* self) {
      auto& counted = *static_cast<Counted*>(self);
      counted.exchanges++;
      return coll_allgather(send, recv, bytes, COLL_BYTE, counted.parent);
    }
  } counted{parent};
  const coll_bootstrap bootstrap{sizeof(coll_bootstrap), coll_comm_rank(parent), coll_comm_size(parent),
                                 Counted::allgather, &counted};
  coll_comm* made = nullptr;
  RANK_CHECK(c, coll_comm_create_or_reuse(&bootstrap, &made) == COLL_OK);
  *exchanges = counted.exchanges;
  return made;
}

// Four ranks as a square: each rank is rank 0 and rank 1 of pairs with different peers.
TEST(Spares, AreUsedByTheirOwnRanksOnly) {
  run_processes(4, [](Context& c) {
    coll_comm *const all = c.comm(), *row = nullptr, *column = nullptr;
    RANK_CHECK(c, coll_comm_split(all, c.rank / 2, 0, &row) == COLL_OK);
    RANK_CHECK(c, coll_comm_split(all, c.rank % 2, 0, &column) == COLL_OK);
    const auto make = [&](coll_comm* parent, int other, int expected_exchanges) {
      int exchanges = 0, sum = 0;
      coll_comm* const made = create_or_reuse_within(c, parent, &exchanges);
      RANK_CHECK(c, exchanges == expected_exchanges);
      RANK_CHECK(c, coll_allreduce(&c.rank, &sum, 1, COLL_INT, COLL_SUM, made) == COLL_OK && sum == c.rank + other);
      return made;
    };
    const int in_row = c.rank ^ 1, in_column = (c.rank + 2) % 4;
    coll_comm* first = make(row, in_row, 3);
    coll_comm_keep(first);
    // Rank 0 is rank 0 of both, so it offers a spare that does not match.
    coll_comm* second = make(column, in_column, c.rank % 2 == 0 ? 4 : 3);
    coll_comm_keep(second);
    for (int round = 0; round < 3 && !c.failed(); round++) {
      first = make(row, in_row, 1);
      second = make(column, in_column, 1);
      coll_comm_keep(round % 2 == 0 ? first : second);
      coll_comm_keep(round % 2 == 0 ? second : first);
    }
    for (coll_comm* comm : {all, row, column}) coll_comm_free(comm);
  });
}

// A spare that all ranks have is kept; one rank has changed its process so that its spare is useless.
struct Spoiled {
  const char* what;
  void (*by)(Context&, coll_comm*);
};
const Spoiled spoiled[] = {
    {"another variable", [](Context&, coll_comm*) { setenv("COLL_CHUNK", "64K", 1); }},
    {"other processors",
     [](Context&, coll_comm*) {
       cpu_set_t cpus;
       sched_getaffinity(0, sizeof cpus, &cpus);
       for (int cpu = 0, left = CPU_COUNT(&cpus) - 1; cpu < CPU_SETSIZE && left > 0; cpu++)
         if (CPU_ISSET(cpu, &cpus)) CPU_CLR(cpu, &cpus), left--;
       sched_setaffinity(0, sizeof cpus, &cpus);
     }},
};

TEST(Spares, OfAChangedProcessAreNotUsed) {
  for (const Spoiled& spoil : spoiled)
    for (bool by_all : {true, false})
      run_processes(3, [&](Context& c) {
        c.about = spoil.what;
        coll_comm* comm = create_or_reuse(c);
        use(c, comm, 1);
        coll_comm_keep(comm);
        if (by_all || (c.rank == 1 && spoil.what[0] == 'o')) spoil.by(c, comm);
        int exchanges = 0;
        comm = create_or_reuse(c, &exchanges);
        RANK_CHECK(c, exchanges > 1 || (!by_all && spoil.what[0] == 'a'));
        use(c, comm, 2);
        coll_comm_free(comm);
      });
}

// Communicators with active or persistent requests, aborted ones, and those whose staging holds much memory are not
// kept.
TEST(Spares, AreCleanAndSmall) {
  const std::function<void(Context&, coll_comm*)> uses[] = {
      [](Context& c, coll_comm* comm) {
        static coll_request* request;
        if (c.rank == 1) c.meet();  // so that the barrier of rank 0 is active when it frees the communicator
        RANK_CHECK(c, coll_ibarrier(comm, &request) == COLL_OK);
        coll_comm_keep(comm);
        if (c.rank == 0) c.meet();
        RANK_CHECK(c, coll_wait(&request) == COLL_OK);
      },
      [](Context& c, coll_comm* comm) {
        coll_request* request = nullptr;
        RANK_CHECK(c, coll_barrier_init(comm, &request) == COLL_OK);
        coll_comm_keep(comm);
        RANK_CHECK(c, coll_start(request) != COLL_OK);
        RANK_CHECK(c, coll_request_free(request) == COLL_OK);
      },
      [](Context& c, coll_comm* comm) {
        RANK_CHECK(c, coll_comm_abort(comm, COLL_ERR_ABORTED) == COLL_OK);
        coll_comm_keep(comm);
      },
      [](Context& c, coll_comm* comm) {
        std::vector<char> in(size_t(16) << 20, char(c.rank)), out(in.size());
        for (int i = 0; i < 4; i++)
          RANK_CHECK(c, coll_allreduce(in.data(), out.data(), in.size(), COLL_BYTE, COLL_BXOR, comm) == COLL_OK);
        coll_comm_keep(comm);
      },
  };
  for (const auto& use_and_keep : uses)
    run_processes(2, [&](Context& c) {
      c.set("COLL_TRANSPORT", "shm");
      c.set("COLL_ALLREDUCE",
            "fused:chunk=1M,depth=2");  // the longest staging that there is, whatever the sizes of caches are
      c.about = "case " + std::to_string(&use_and_keep - uses);
      use_and_keep(c, create_or_reuse(c));
      RANK_CHECK(c, c.rank == 1 || segments() == 0);
      int exchanges = 0;
      coll_comm* const comm = create_or_reuse(c, &exchanges);
      RANK_CHECK(c, exchanges == 3);
      use(c, comm, 3);
      coll_comm_free(comm);
    });
}

// An alltoall in place copies its input to scratch memory of the communicator.
TEST(Spares, HoldNoScratchMemory) {
  run_processes(2, [](Context& c) {
    c.set("COLL_TRANSPORT", "cma");
    coll_comm* comm = create_or_reuse(c);
    const size_t block_bytes = size_t(16) << 20;
    std::vector<char> blocks(2 * block_bytes, char(c.rank));
    const size_t before = resident_shared_bytes();
    RANK_CHECK(c, coll_alltoall(COLL_IN_PLACE, blocks.data(), block_bytes, COLL_BYTE, comm) == COLL_OK);
    RANK_CHECK(c, blocks.front() == 0 && blocks.back() == 1);
    RANK_CHECK(c, resident_shared_bytes() >= before + 2 * block_bytes);
    c.meet();
    coll_comm_keep(comm);
    c.meet();
    RANK_CHECK(c, resident_shared_bytes() < before + block_bytes);
    int exchanges = 0;
    comm = create_or_reuse(c, &exchanges);
    RANK_CHECK(c, exchanges == 1);
    use(c, comm, 1);
    coll_comm_free(comm);
  });
}

// One rank keeps it, the other frees it.
TEST(Spares, OfOneRankAloneAreNotUsed) {
  for (int keeper : {0, 1})
    run_processes(2, [=](Context& c) {
      for (int round = 0; round < 5; round++) {
        int exchanges = 0;
        coll_comm* const comm = create_or_reuse(c, &exchanges);
        RANK_CHECK(c, exchanges == (round > 0 && keeper == 0 ? 4 : 3));
        use(c, comm, round);
        if (c.rank == keeper) coll_comm_keep(comm);
        else coll_comm_free(comm);
      }
      RANK_CHECK(c, segments() == (c.rank == keeper ? 2 : 0));
    });
}

// A child's use of its copies must not matter.
TEST(Spares, AreNotUsedByAChild) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = create_or_reuse(c);
    use(c, comm, 1);
    coll_comm_keep(comm);
    const pid_t child = fork();
    if (child == 0) {
      int exchanges = 0;
      coll_comm* const own = create_or_reuse(c, &exchanges);
      RANK_CHECK(c, exchanges == 3);
      use(c, own, 2);
      coll_comm_keep(own);
      coll_comm_free_kept();
      _exit(c.failed());
    }
    int status = 0;
    RANK_CHECK(c, waitpid(child, &status, 0) == child && status == 0);
    int exchanges = 0;
    comm = create_or_reuse(c, &exchanges);
    RANK_CHECK(c, exchanges == 1);
    use(c, comm, 3);
    coll_comm_free(comm);
  });
}

}  // namespace
