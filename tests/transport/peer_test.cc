// SPDX-License-Identifier: BSD-3-Clause
// Memory of another process; segments; and the state of the own memory after fork().
#include "transport/peer.h"

#include "../child.h"
#include "comm/collectives.h"
#include "transport/arena.h"
#include "transport/cma.h"
#include "transport/segment.h"

#include <atomic>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <thread>

using namespace ranks;
using namespace coll::transport;
using coll::test::exit_status_of;

namespace {

// What each rank shows to the other one.
struct Shown {
  Address address;
  uint64_t private_memory;
  int arena_descriptor;
  uint64_t arena_offset;
};

TEST(Peer, IsReachedByMappingAndByTheKernel) {
  run_processes(2, [](Context& c) {
    Shown mine{}, all[2];
    std::vector<char> memory(300'000, char('a' + c.rank));
    std::string problem;
    Arena* arena = Arena::own(problem);
    mine.address = own_address();
    char* mapped = static_cast<char*>(arena->allocate(10'000));
    memset(mapped, 'A' + c.rank, 10'000);
    mine.private_memory = uint64_t(uintptr_t(memory.data()));
    mine.arena_descriptor = arena->descriptor();
    mine.arena_offset = *arena->offset_of(mapped, 10'000);
    Context::allgather(&mine, all, sizeof mine, &c);
    const Shown& other = all[1 - c.rank];
    {
      auto peer = Peer::reach(other.address);
      RANK_CHECK(c, peer == Peer::reach(other.address));
      RANK_CHECK(c, !peer->same_process());
      const auto reached = [&](int descriptor, uint64_t offset) { return peer->arena(descriptor, offset); };
      // The descriptor of another file, one that is not open, and an offset beyond the arena, of which both are equally long.
      RANK_CHECK(c, reached(0, other.arena_offset) == nullptr && reached(1000, other.arena_offset) == nullptr);
      RANK_CHECK(c, reached(other.arena_descriptor, arena->bytes()) == nullptr);
      const char* there = reached(other.arena_descriptor, other.arena_offset);
      RANK_CHECK(c, there != nullptr);
      if (there == nullptr) return;
      RANK_CHECK(c, there == reached(other.arena_descriptor, other.arena_offset));
      RANK_CHECK(c, there[9'999] == 'A' + 1 - c.rank);
      std::vector<char> here(300'000);
      int error = cma_read(other.address.pid, here.data(), other.private_memory, here.size());
      // The rest needs CMA.
      if (error != EPERM && error != ENOSYS) {
        RANK_CHECK(c, error == 0 && here == std::vector<char>(300'000, char('a' + 1 - c.rank)));
        RANK_CHECK(c, cma_read(other.address.pid, here.data(), 8, 16) == EFAULT);
        c.meet();
        if (c.rank == 0) RANK_CHECK(c, cma_write(other.address.pid, other.private_memory + 5, "xyz", 3) == 0);
      } else {
        c.meet();
      }
      c.meet();
      if (c.rank == 1 && error == 0) RANK_CHECK(c, memcmp(memory.data() + 4, "bxyzb", 5) == 0);
      Address stranger = other.address;
      stranger.token.words[0] ^= 1;
      RANK_CHECK(c, Peer::reach(stranger)->arena(other.arena_descriptor, other.arena_offset) == nullptr);
    }
    c.meet();
  });
}

size_t mappings_of(const char* name) {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find(name) != std::string::npos;
  return count;
}

// Every rank creates a segment, and gets the addresses of all.
std::shared_ptr<Segment> exchange_segments(Context& c, SegmentAddress (&all)[2]) {
  std::string problem;
  std::shared_ptr<Segment> own = Segment::make(size_t(6) << 20, problem);
  RANK_CHECK(c, own != nullptr && problem.empty());
  Context::allgather(&own->address(), all, sizeof all[0], &c);
  return own;
}

TEST(Segment, IsZeroAndShared) {
  run_processes(2, [](Context& c) {
    SegmentAddress all[2];
    std::shared_ptr<Segment> own = exchange_segments(c, all);
    std::string problem;
    {
      std::shared_ptr<Segment> other = Segment::reach(all[1 - c.rank], problem);
      if (other == nullptr) return c.fail(problem);
      RANK_CHECK(c, Segment::reach(all[1 - c.rank], problem) == other);  // mapped once
      RANK_CHECK(c, Segment::reach(all[c.rank], problem) == own);
      const size_t begin = Segment::header_bytes();
      bool zero = true;
      for (size_t i = begin; i < all[0].bytes; i++) zero = zero && other->base()[i] == 0;
      RANK_CHECK(c, zero);
      c.meet();
      own->base()[begin + 17] = char('A' + c.rank);
      c.meet();
      RANK_CHECK(c, other->base()[begin + 17] == 'A' + 1 - c.rank);
      own->close();
      c.meet();
      own = nullptr;
      c.meet();
      RANK_CHECK(
          c, other->base()[begin + 17] == 'A' + 1 - c.rank);  // the kernel keeps it for a process that has mapped it
    }
    RANK_CHECK(c, mappings_of("libcoll segment") == 0);
    RANK_CHECK(c, Segment::reach(all[1 - c.rank], problem) == nullptr && !problem.empty());
    RANK_CHECK(c, mappings_of("libcoll segment") == 0);
  });
}

// A descriptor may belong to another file by now, or the bootstrap may have exchanged ranks.
TEST(Segment, OfAnotherRankIsRefused) {
  run_processes(2, [](Context& c) {
    SegmentAddress all[2];
    const std::shared_ptr<Segment> own = exchange_segments(c, all);
    const SegmentAddress& right = all[1 - c.rank];
    SegmentAddress token = right, inode = right, bytes = right;
    token.token.words[0] ^= 1;
    inode.inode++;
    bytes.bytes += 4096;
    for (const SegmentAddress& wrong : {token, inode, bytes}) {
      std::string problem;
      RANK_CHECK(c, Segment::reach(wrong, problem) == nullptr);
      RANK_CHECK(c, problem.find("not the rank that was expected") != std::string::npos);
    }
    c.meet();
  });
}

// The kernel hides a process that is not dumpable from other processes of the same user.
TEST(Segment, OfAProcessThatIsNotDumpableIsReportedAsThat) {
  run_processes(2, [](Context& c) {
    if (geteuid() == 0) RANK_CHECK(c, setgid(65534) == 0 && setuid(65534) == 0);
    else RANK_CHECK(c, prctl(PR_SET_DUMPABLE, 0) == 0);
    SegmentAddress all[2];
    const std::shared_ptr<Segment> own = exchange_segments(c, all);
    std::string problem;
    RANK_CHECK(c, Segment::reach(all[1 - c.rank], problem) == nullptr);
    if (problem.find("prctl(PR_SET_DUMPABLE, 1)") == std::string::npos) c.fail(problem);
    c.meet();
    RANK_CHECK(c, prctl(PR_SET_DUMPABLE, 1) == 0);  // the fix that the message names
    c.meet();
    problem = "";
    RANK_CHECK(c, Segment::reach(all[1 - c.rank], problem) != nullptr);
    if (!problem.empty()) c.fail(problem);
    c.meet();
  });
}

TEST(Segment, OfAnotherUserIsReportedAsThat) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can start ranks as two users";
  run_processes(2, [](Context& c) {
    RANK_CHECK(c, setgid(65534) == 0 && setuid(uid_t(65533 + c.rank)) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
    SegmentAddress all[2];
    const std::shared_ptr<Segment> own = exchange_segments(c, all);
    std::string problem;
    RANK_CHECK(c, Segment::reach(all[1 - c.rank], problem) == nullptr);
    const std::string users = "as user " + std::to_string(65534 - c.rank) + " and this rank as user " +
                              std::to_string(65533 + c.rank) + "; run all ranks as one user";
    if (problem.find(users) == std::string::npos) c.fail(problem);
    c.meet();
  });
}

TEST(Segment, BeyondTheLimitOnFileSizeIsReportedAsThat) {
  run_processes(1, [](Context& c) {
    const rlimit limit{size_t(1) << 20, size_t(1) << 20};
    RANK_CHECK(c, setrlimit(RLIMIT_FSIZE, &limit) == 0);
    std::string problem;
    RANK_CHECK(c, Segment::make(size_t(2) << 20, problem) == nullptr);
    RANK_CHECK(c, problem.find("ulimit -f") != std::string::npos);
    RANK_CHECK(c, Segment::make(size_t(1) << 20, problem) != nullptr);
  });
}

TEST(Peer, ThatHasEndedCannotBeRead) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  char byte = 0;
  const int error = cma_read(child, &byte, 4096, 1);
  if (error == EPERM || error == ENOSYS) GTEST_SKIP() << "the system forbids kernel copies";
  EXPECT_EQ(error, ESRCH);
}

coll_bootstrap bootstrap_alone() {
  return {sizeof(coll_bootstrap), 0, 1,
          [](const void* send, void* recv, size_t bytes, void*) { return memcpy(recv, send, bytes), 0; }, nullptr};
}

// The child has a private copy, and the parent does not notice its changes. The child can become a rank of its own.
TEST(Fork, TheChildHasAPrivateCopyOfTheMemory) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    void *memory = nullptr, *small = nullptr, *untouched = nullptr;
    constexpr size_t n = 1'000'000, sparse = size_t(1) << 30;
    RANK_CHECK(c, coll_mem_alloc(n * 4, &memory) == COLL_OK && coll_mem_alloc(100, &small) == COLL_OK);
    RANK_CHECK(c, coll_mem_alloc(sparse, &untouched) == COLL_OK);
    auto* data = static_cast<uint32_t*>(memory);
    for (size_t i = 0; i < n; i++) data[i] = input(c.rank, i, 1);
    strcpy(static_cast<char*>(small), "small");

    int ready[2], go[2];
    RANK_CHECK(c, pipe(ready) == 0 && pipe(go) == 0);
    const pid_t looks = fork();
    if (looks == 0) {
      char word;
      for (size_t i = 0; i < n; i += 2) data[i]++;
      if (write(ready[1], "r", 1) != 1 || read(go[0], &word, 1) != 1) _exit(1);
      for (size_t i = 0; i < n; i++)
        if (data[i] != input(c.rank, i, 1) + (i % 2 == 0)) _exit(2);
      if (strcmp(static_cast<char*>(small), "small") != 0) _exit(3);
      // Pages that were not committed read as zero, and can be written.
      auto* far = static_cast<char*>(untouched) + sparse - 1;
      if (*far != 0) _exit(4);
      *far = 1;
      // The copy of the grandchild is that of the child.
      data[5] = 55;
      pid_t grandchild = fork();
      if (grandchild == 0) _exit(data[5] == 55 && data[7] == input(c.rank, 7, 1) ? 0 : 5);
      _exit(exit_status_of(grandchild));
    }
    close(ready[1]);  // so that the end of the child ends the read
    close(go[0]);
    char word;
    RANK_CHECK(c, read(ready[0], &word, 1) == 1);
    bool same = true;
    for (size_t i = 0; i < n; i++) same &= data[i] == input(c.rank, i, 1);
    RANK_CHECK(c, same);
    memset(small, 0, 100);
    for (size_t i = 0; i < n; i++) data[i] = 0;
    RANK_CHECK(c, write(go[1], "g", 1) == 1);
    RANK_CHECK(c, exit_status_of(looks) == 0);
    for (int end : {ready[0], go[1]}) close(end);
    for (size_t i = 0; i < n; i++) data[i] = input(c.rank, i, 1);

    pid_t starts_anew = fork();
    if (starts_anew == 0) {
      if (coll_mem_free(memory) != COLL_ERR_ARG) _exit(1);
      void* own = nullptr;
      if (coll_mem_alloc(10'000, &own) != COLL_OK) _exit(2);
      memset(own, 7, 10'000);
      const coll_bootstrap alone = bootstrap_alone();
      coll_comm* single = nullptr;
      if (coll_comm_create(&alone, &single) != COLL_OK) _exit(3);
      uint32_t one = 1, sum = 0;
      if (coll_allreduce(&one, &sum, 1, COLL_UINT32, COLL_SUM, single) != COLL_OK || sum != 1) _exit(4);
      if (coll_comm_free(single) != COLL_OK || coll_mem_free(own) != COLL_OK) _exit(5);
      _exit(0);
    }
    RANK_CHECK(c, exit_status_of(starts_anew) == 0);

    RANK_CHECK(c, coll_allreduce(COLL_IN_PLACE, data, n, COLL_UINT32, COLL_SUM, comm) == COLL_OK);
    for (size_t i = 0; i < n; i++)
      if (data[i] != expected_sum(2, i, 1)) return c.fail("the parent's result is wrong");
    RANK_CHECK(c, coll_mem_free(memory) == COLL_OK && coll_comm_free(comm) == COLL_OK);
    RANK_CHECK(c, coll_mem_free(small) == COLL_OK && coll_mem_free(untouched) == COLL_OK);
  });
}

// Other threads allocate, write and free while one forks: the memory of the child is consistent.
TEST(Fork, WhileOtherThreadsAllocate) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int t = 0; t < 3; t++)
    others.emplace_back([&, t] {
      for (size_t bytes = 1000; !stop; bytes = bytes * 3 % 700'001 + 1) {
        void* memory = nullptr;
        if (coll_mem_alloc(bytes, &memory) != COLL_OK) std::abort();
        memset(memory, t, bytes);
        if (coll_mem_free(memory) != COLL_OK) std::abort();
      }
    });
  void* memory = nullptr;
  ASSERT_EQ(coll_mem_alloc(300'000, &memory), COLL_OK);
  for (int round = 1; round <= 40; round++) {
    memset(memory, round, 300'000);
    pid_t child = fork();
    if (child == 0) {
      auto* bytes = static_cast<const char*>(memory);
      void* own = nullptr;
      if (bytes[0] != round || memcmp(bytes, bytes + 1, 299'999) != 0) _exit(1);
      _exit(coll_mem_alloc(100'000, &own) == COLL_OK ? 0 : 2);
    }
    EXPECT_EQ(exit_status_of(child), 0) << "round " << round;
  }
  stop = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(coll_mem_free(memory), COLL_OK);
}

// A communicator of a parent and its child, created after the parent had one with itself only.
TEST(Fork, ParentAndChildMayBeRanks) {
  Shared* shared = make_shared_memory(2);
  Context parent{shared, 0, 2, false};
  const coll_bootstrap alone = bootstrap_alone();
  coll_comm* single = nullptr;
  ASSERT_EQ(coll_comm_create(&alone, &single), COLL_OK) << coll_last_error();
  auto meet = [](Context& c) {
    coll_comm* comm = c.comm();
    if (comm == nullptr) return;
    check_all(c, comm, {4, 70'000}, true);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  };
  pid_t child = fork();
  if (child == 0) {
    Context c{shared, 1, 2, false};
    meet(c);
    _exit(c.failed() ? 1 : 0);
  }
  meet(parent);
  EXPECT_EQ(exit_status_of(child), 0) << shared->failure[1];
  EXPECT_STREQ(shared->failure[0], "");
  EXPECT_EQ(coll_comm_free(single), COLL_OK);
}

}  // namespace
