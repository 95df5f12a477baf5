// SPDX-License-Identifier: BSD-3-Clause
// Properties of transports besides right results: the same bits, as many bytes as the plan has, and results or a
// status, never a signal, whatever the owner of a buffer does to it. Transports of the kernel module are tested if it
// is loaded.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../seed.h"
#include "api/handles.h"
#include "comm/collectives.h"
#include "comm/unpinnable.h"
#include "transport/kcoll_device.h"
#include "transport/kcoll_uring.h"

using namespace ranks;
namespace transport = coll::transport;

namespace {

bool with_module() { return access("/dev/kcoll", F_OK) == 0; }

const coll::exec::Team& team_of(coll_comm* comm) { return comm->comm->team(); }

// Memory that the processes of a test share with it.
template <class Value>
class Common {
 public:
  Common()
      : value_(static_cast<Value*>(
            mmap(nullptr, sizeof(Value), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~Common() { munmap(value_, sizeof(Value)); }
  Value* operator->() const { return value_; }
  Value& operator*() const { return *value_; }

 private:
  Value* value_;
};

uint64_t digest(uint64_t seed, const void* bytes, size_t count) {
  for (size_t i = 0; i < count; i++) seed = (seed ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3u;
  return seed;
}

// Sums of floats of very different sizes, whose bits show the order of the additions.
uint64_t bits_of_sums(Context& c) {
  coll_comm* comm = c.comm();
  uint64_t bits = 0xcbf29ce484222325u;
  for (size_t n : {size_t(300), size_t(6'000), size_t(150'001)}) {
    const size_t all = n * size_t(c.ranks);
    std::vector<float> in(all), out(all);
    std::mt19937_64 random(coll::test::seed() + 17 * n + size_t(c.rank));
    for (float& value : in) value = std::ldexp(float(random()), int(random() % 60) - 30);
    RANK_CHECK(c, coll_allreduce(in.data(), out.data(), n, COLL_FLOAT, COLL_SUM, comm) == COLL_OK);
    bits = digest(bits, out.data(), n * 4);
    RANK_CHECK(c, coll_reduce(in.data(), out.data(), n, COLL_FLOAT, COLL_SUM, 1, comm) == COLL_OK);
    if (c.rank == 1) bits = digest(bits, out.data(), n * 4);
    RANK_CHECK(c, coll_reduce_scatter_block(in.data(), out.data(), n, COLL_FLOAT, COLL_SUM, comm) == COLL_OK);
    bits = digest(bits, out.data(), n * 4);
    RANK_CHECK(c, coll_scan(in.data(), out.data(), n, COLL_FLOAT, COLL_SUM, comm) == COLL_OK);
    bits = digest(bits, out.data(), n * 4);
    RANK_CHECK(c, coll_allreduce(COLL_IN_PLACE, in.data(), n, COLL_FLOAT, COLL_SUM, comm) == COLL_OK);
    bits = digest(bits, in.data(), n * 4);
  }
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  return bits;
}

class Transports : public testing::TestWithParam<int> {};

TEST_P(Transports, GiveTheSameBits) {
  uint64_t first[64] = {};
  for (const char* name : transports({"shm", "cma"})) {
    Environment forced("COLL_TRANSPORT", name);
    Common<uint64_t[64]> bits;
    run_processes(GetParam(), [&](Context& c) { (*bits)[c.rank] = bits_of_sums(c); });
    for (int rank = 0; rank < GetParam(); rank++) {
      if (first[rank] == 0) first[rank] = (*bits)[rank];
      EXPECT_EQ((*bits)[rank], first[rank]) << name << ", rank " << rank;
    }
  }
}

// Mappings move exactly the bytes of the plan; kernel-assisted copies at least those of p-1 vectors.
TEST_P(Transports, MoveAsManyBytesAsThePlanHas) {
  constexpr size_t n = 1 << 18;
  for (const char* name : transports({"cma"})) {
    SCOPED_TRACE(name);
    Environment forced("COLL_TRANSPORT", name), fused("COLL_ALLREDUCE", "fused:chunk=262144"),
        reduce("COLL_REDUCE", "fused:chunk=262144"), one("COLL_REDUCE_SCATTER", "fused:chunk=262144");
    Common<coll::exec::Traffic[3][64]> moved;
    run_processes(GetParam(), [&](Context& c) {
      coll_comm* comm = c.comm();
      std::vector<float> in(n, 1), out(n);
      coll::exec::Traffic before;
      for (int what = 0; what < 3; what++) {
        coll_status status = what == 0   ? coll_allreduce(in.data(), out.data(), n, COLL_FLOAT, COLL_SUM, comm)
                             : what == 1 ? coll_reduce(in.data(), out.data(), n, COLL_FLOAT, COLL_SUM, 0, comm)
                                         : coll_reduce_scatter_block(in.data(), out.data(), n / size_t(c.ranks),
                                                                     COLL_FLOAT, COLL_SUM, comm);
        RANK_CHECK(c, status == COLL_OK);
        const coll::exec::Traffic now = team_of(comm).traffic;
        (*moved)[what][c.rank] = {now.loaded - before.loaded, now.stored - before.stored, now.bounced - before.bounced,
                                  now.by_kernel - before.by_kernel};
        before = now;
      }
      RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    });
    const uint64_t p = uint64_t(GetParam()), vector = n * 4;
    // Loads and stores of all ranks in multiples of the vector; see tests/model/volume.h. Only kcoll_map moves data so.
    const uint64_t expected[3] = {3 * p - 1, p + 1, p + 1};
    for (int what = 0; what < 3; what++) {
      coll::exec::Traffic sum;
      for (size_t rank = 0; rank < p; rank++) {
        const coll::exec::Traffic& one_rank = (*moved)[what][rank];
        sum.loaded += one_rank.loaded, sum.stored += one_rank.stored;
        sum.bounced += one_rank.bounced, sum.by_kernel += one_rank.by_kernel;
      }
      if (strcmp(name, "kcoll_map") == 0) {
        EXPECT_EQ(sum.loaded + sum.stored, expected[what] * vector) << what;
        EXPECT_EQ(sum.bounced + sum.by_kernel, 0u) << what;
      } else {
        // Ranks read and write no buffer of a peer in place.
        EXPECT_EQ(sum.loaded + sum.stored, 0u) << what;
        EXPECT_GE(sum.by_kernel, (p - 1) * vector) << what;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Transports, testing::Values(2, 4, 8));

TEST(Transports, OfTheModuleReportWhatIsMissing) {
  if (with_module()) GTEST_SKIP() << "the module is loaded";
  for (const char* name : {"kcoll_copy", "kcoll_map", "kcoll_uring"}) {
    Environment forced("COLL_TRANSPORT", name);
    run_processes(2, [&](Context& c) {
      coll_bootstrap bootstrap = c.bootstrap();
      coll_comm* comm = nullptr;
      RANK_CHECK(c, coll_comm_create(&bootstrap, &comm) == COLL_ERR_UNAVAILABLE);
      RANK_CHECK(c, strstr(coll_last_error(), name) != nullptr);
      RANK_CHECK(c, strstr(coll_last_error(), "modprobe kcoll") != nullptr);
    });
  }
}

// A mechanism with half of the abilities: plans that need no more use it, for others data is staged.
TEST(Transports, ServeThePlansWhoseDemandsTheyMeet) {
  const char* writing = "parallel_write";
  const char* reading = "sequential_read";
  Environment forced("COLL_TRANSPORT", "cma");
  for (bool can_write : {false, true})
    for (const char* algorithm : {writing, reading}) {
      SCOPED_TRACE(std::string(algorithm) + (can_write ? ", writes only" : ", reads only"));
      Environment chosen("COLL_GATHER", algorithm);
      const uint64_t expected = can_write == (algorithm == writing) ? 1 : 0;
      Common<uint64_t[64]> copied;
      run_processes(3, [&](Context& c) {
        constexpr size_t n = 20'000;
        coll_comm* comm = c.comm();
        auto& team = const_cast<coll::exec::Team&>(team_of(comm));
        team.path.reads = !can_write, team.path.writes = can_write;
        std::vector<uint32_t> in(n), out(n * 3);
        for (size_t i = 0; i < n; i++) in[i] = input(c.rank, i, 5);
        RANK_CHECK(c, coll_gather(in.data(), out.data(), n, COLL_UINT32, 0, comm) == COLL_OK);
        for (size_t i = 0; i < out.size() && c.rank == 0; i++)
          if (out[i] != input(int(i / n), i % n, 5)) return c.fail("gather is wrong at " + std::to_string(i));
        (*copied)[c.rank] = team.traffic.by_kernel / (n * 4);
        RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
      });
      EXPECT_EQ((*copied)[0] + (*copied)[1] + (*copied)[2], 2 * expected);
    }
}

// ---- owners that change their memory during collectives -------------------------------------------------------------

class Owner : public testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  static void run(const Function& function) {
    auto [name, ranks] = GetParam();
    Environment forced("COLL_TRANSPORT", name);
    run_processes(ranks, function);
  }
};

void right_sums(Context& c, coll_comm* comm, std::vector<uint32_t>& in, std::vector<uint32_t>& out, uint32_t round) {
  for (size_t i = 0; i < in.size(); i++) in[i] = input(c.rank, i, round);
  RANK_CHECK(c, coll_allreduce(in.data(), out.data(), in.size(), COLL_UINT32, COLL_SUM, comm) == COLL_OK);
  for (size_t i = 0; i < in.size(); i++)
    if (out[i] != expected_sum(c.ranks, i, round)) return c.fail("sum is wrong at " + std::to_string(i));
  RANK_CHECK(c, coll_bcast(out.data(), out.size(), COLL_UINT32, int(round) % c.ranks, comm) == COLL_OK);
}

// A child has copies of all pages; the collectives continue.
TEST_P(Owner, ForksAllTheTime) {
  run([](Context& c) {
    coll_comm* comm = c.comm();
    std::atomic<bool> over = false;
    std::thread forks([&] {
      while (!over) {
        const pid_t child = fork();
        if (child == 0) _exit(0);
        waitpid(child, nullptr, 0);
        usleep(500);
      }
    });
    std::vector<uint32_t> in(60'000), out(in.size());
    for (uint32_t round = 0; round < 20 && !c.failed(); round++) right_sums(c, comm, in, out, round);
    over = true;
    forks.join();
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// Another mapping may be at the same address by now, without any notice.
TEST_P(Owner, MapsOtherMemoryAtTheSameAddress) {
  run([](Context& c) {
    coll_comm* comm = c.comm();
    constexpr size_t n = 100'000, bytes = n * 4;
    void* memory = mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* in = static_cast<uint32_t*>(memory);
    uint32_t* out = in + n;
    for (uint32_t round = 0; round < 12 && !c.failed(); round++) {
      if (round % 3 == 1) madvise(memory, 2 * bytes, MADV_DONTNEED);
      if (round % 3 == 2)
        RANK_CHECK(c, mmap(memory, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
                          memory);
      for (size_t i = 0; i < n; i++) in[i] = input(c.rank, i, round);
      RANK_CHECK(c, coll_allreduce(in, out, n, COLL_UINT32, COLL_SUM, comm) == COLL_OK);
      for (size_t i = 0; i < n; i++)
        if (out[i] != expected_sum(c.ranks, i, round)) return c.fail("sum is wrong at " + std::to_string(i));
    }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// A shrinking heap does this: part of a registered region is unmapped while another part is still in use.
TEST_P(Owner, UnmapsTheEndOfItsBuffers) {
  run([](Context& c) {
    coll_comm* comm = c.comm();
    constexpr size_t n = 100'000;
    const size_t page = size_t(sysconf(_SC_PAGESIZE)), bytes = (n * 4 + page - 1) / page * page;
    uint32_t* buffers[2];
    for (uint32_t*& buffer : buffers)
      buffer = static_cast<uint32_t*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    size_t count = n;
    for (uint32_t round = 0; round < 12 && !c.failed(); round++) {
      auto [in, out] = buffers;
      for (size_t i = 0; i < count; i++) in[i] = input(c.rank, i, round);
      RANK_CHECK(c, coll_allreduce(in, out, count, COLL_UINT32, COLL_SUM, comm) == COLL_OK);
      for (size_t i = 0; i < count; i++)
        if (out[i] != expected_sum(c.ranks, i, round)) return c.fail("sum is wrong at " + std::to_string(i));
      if (round > 0) continue;
      count = n / 2;
      for (uint32_t* buffer : buffers) RANK_CHECK(c, munmap(reinterpret_cast<char*>(buffer) + bytes - page, page) == 0);
    }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// The root unmaps its buffer while it is being read. The other ranks get its contents or a status, and no rank gets a
// signal.
TEST_P(Owner, UnmapsItsBufferInTheMiddle) {
  if (std::get<0>(GetParam()) == std::string("shm")) GTEST_SKIP() << "the root itself reads what it has unmapped";
  run([](Context& c) {
    setenv("COLL_BCAST", "flat_read:chunk=65536", 1);
    for (int after_us : {0, 100, 300, 1000, 3000}) {
      coll_comm* comm = c.comm();
      constexpr size_t n = 1 << 20;
      void* memory = mmap(nullptr, n * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      auto* data = static_cast<uint32_t*>(memory);
      for (size_t i = 0; i < n; i++) data[i] = c.rank == 0 ? input(0, i, 7) : 0;
      RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
      std::thread unmaps;
      if (c.rank == 0)
        unmaps = std::thread([=] {
          usleep(useconds_t(after_us));
          munmap(memory, n * 4);
        });
      const coll_status status = coll_bcast(data, n, COLL_UINT32, 0, comm);
      if (c.rank == 0) unmaps.join();
      RANK_CHECK(c, status == COLL_OK || status == COLL_ERR_SYSTEM || status == COLL_ERR_PEER_DIED);
      for (size_t i = 0; i < n && c.rank != 0 && status == COLL_OK; i++)
        if (data[i] != input(0, i, 7)) return c.fail("a wrong word and no status");
      if (c.rank != 0) munmap(memory, n * 4);
      RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
      c.meet();
    }
  });
}

// The process exits while its buffers are in use: its mappings disappear at once.
TEST_P(Owner, ExitsInTheMiddle) {
  run([](Context& c) {
    coll_comm* comm = c.comm();
    std::vector<uint32_t> in(400'000, 1), out(in.size());
    RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
    if (c.rank == c.ranks - 1)
      std::thread([] {
        usleep(20'000);
        _exit(0);
      }).detach();
    coll_status status = COLL_OK;
    const int64_t begin = now_ns();
    while (status == COLL_OK) status = coll_allreduce(in.data(), out.data(), in.size(), COLL_UINT32, COLL_SUM, comm);
    if (c.rank == c.ranks - 1)
      for (;;) pause();
    RANK_CHECK(c, status == COLL_ERR_PEER_DIED);
    // A death is detected within a second; the exit comes 20 ms after the begin.
    RANK_CHECK(c, now_ns() - begin < 1'100'000'000 * int64_t(time_factor()));
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// An ordinary user may lock less memory than the buffers: copies work without pinned pages.
TEST_P(Owner, MayNotPinItsBuffers) {
  if (!with_module()) GTEST_SKIP() << "the module is not loaded";
  ASSERT_EQ(chmod("/dev/kcoll", 0666), 0);
  run([](Context& c) {
    // The amount that the probe of a new communicator needs.
    const rlimit small{1536 << 10, 1536 << 10};
    RANK_CHECK(c, setrlimit(RLIMIT_MEMLOCK, &small) == 0);
    RANK_CHECK(c, setgid(65534) == 0 && setuid(65534) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
    c.meet();
    coll_comm* comm = c.comm();
    if (comm == nullptr) return;
    std::vector<uint32_t> in(400'000), out(in.size());
    for (uint32_t round = 0; round < 5 && !c.failed(); round++) right_sums(c, comm, in, out, round);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

constexpr size_t unpinnable_count = 60'000, unpinnable_bytes = (unpinnable_count * 4 + 4095) / 4096 * 4096;

// Plans that read and plans that write. `unpinnable`: the kernel cannot copy the buffers of this rank.
void check_unpinnable(Context& c, coll_comm* comm, bool unpinnable, uint32_t rounds) {
  const size_t n = unpinnable_count, block = n / size_t(c.ranks);
  const Unpinnable in_memory(unpinnable_bytes), out_memory(unpinnable_bytes);
  std::vector<uint32_t> in_heap(n), out_heap(n);
  uint32_t* const in = unpinnable ? in_memory.data() : in_heap.data();
  uint32_t* const out = unpinnable ? out_memory.data() : out_heap.data();
  for (uint32_t round = 0; round < rounds && !c.failed(); round++) {
    const int root = int(round) % c.ranks;
    for (size_t i = 0; i < n; i++) in[i] = input(c.rank, i, round);
    RANK_CHECK(c, coll_allreduce(in, out, n, COLL_UINT32, COLL_SUM, comm) == COLL_OK);
    for (size_t i = 0; i < n; i++)
      if (out[i] != expected_sum(c.ranks, i, round)) return c.fail("sum is wrong at " + std::to_string(i));
    RANK_CHECK(c, coll_gather(in, out, block, COLL_UINT32, root, comm) == COLL_OK);
    for (size_t i = 0; i < block * size_t(c.ranks) && c.rank == root; i++)
      if (out[i] != input(int(i / block), i % block, round)) return c.fail("gather is wrong at " + std::to_string(i));
    RANK_CHECK(c, coll_alltoall(in, out, block, COLL_UINT32, comm) == COLL_OK);
    for (size_t i = 0; i < block * size_t(c.ranks); i++)
      if (out[i] != input(int(i / block), size_t(c.rank) * block + i % block, round))
        return c.fail("alltoall is wrong at " + std::to_string(i));
    coll_request* request = nullptr;
    RANK_CHECK(c, coll_ibcast(in, n, COLL_UINT32, root, comm, &request) == COLL_OK && coll_wait(&request) == COLL_OK);
    for (size_t i = 0; i < n; i++)
      if (in[i] != input(root, i, round)) return c.fail("bcast is wrong at " + std::to_string(i));
  }
}

class UnpinnableMemory : public testing::TestWithParam<std::tuple<int, bool>> {
  void SetUp() override {
    if (!Unpinnable::can_be_had()) GTEST_SKIP() << Unpinnable::missing;
  }
};

// The owner makes the copies that the kernel refuses, and stages its buffers from the next operation on. It still copies
// the buffers of ranks with ordinary memory by the kernel. (Of two ranks, the other one has no peer with such memory.)
TEST_P(UnpinnableMemory, IsCopiedByItsOwner) {
  const auto [ranks, all] = GetParam();
  for (const char* algorithm : {"parallel_write", "sequential_read"}) {
    Environment forced("COLL_TRANSPORT", "cma"), chosen("COLL_GATHER", algorithm);
    run_processes(ranks, [all = all](Context& c) {
      coll_comm* comm = c.comm();
      const bool unpinnable = all || c.rank == 1;
      check_unpinnable(c, comm, unpinnable, 3);
      RANK_CHECK(c, team_of(comm).stages_own == unpinnable);
      const uint64_t before = team_of(comm).traffic.by_kernel;
      check_unpinnable(c, comm, unpinnable, 1);
      const bool copied = team_of(comm).traffic.by_kernel != before;
      if (unpinnable) RANK_CHECK(c, copied == !all);
      RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, UnpinnableMemory, testing::Combine(testing::Values(2, 4), testing::Bool()),
                         [](const auto& info) {
                           return std::to_string(std::get<0>(info.param)) + (std::get<1>(info.param) ? "all" : "one");
                         });

TEST(Unpinnable, IsReportedOnce) {
  if (!Unpinnable::can_be_had()) GTEST_SKIP() << Unpinnable::missing;
  Environment log("COLL_LOG", "info"), forced("COLL_TRANSPORT", "cma");
  testing::internal::CaptureStderr();
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    check_unpinnable(c, comm, c.rank == 1, 3);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
  const std::string text = testing::internal::GetCapturedStderr();
  const std::string line = "libcoll: rank 1: the kernel refuses to copy";
  const size_t first = text.find(line);
  EXPECT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("the kernel refuses", first + line.size()), std::string::npos) << text;
}

// If staging is the default here, auto-tuning (COLL_TUNE=long) tries kernel-assisted copies after 16 calls; they fail.
TEST(Unpinnable, SurvivesAutoTuning) {
  if (!Unpinnable::can_be_had()) GTEST_SKIP() << Unpinnable::missing;
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    const Unpinnable memory(1 << 20);
    for (uint32_t call = 0; call < 40 && !c.failed(); call++) {
      for (size_t i = 0; i < 1 << 18; i++) memory.data()[i] = c.rank == 0 ? input(0, i, call) : 0;
      RANK_CHECK(c, coll_bcast(memory.data(), 1 << 18, COLL_UINT32, 0, comm) == COLL_OK);
      for (size_t i = 0; i < 1 << 18; i++)
        if (memory.data()[i] != input(0, i, call)) return c.fail("wrong in call " + std::to_string(call));
    }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

INSTANTIATE_TEST_SUITE_P(All, Owner,
                         testing::Combine(testing::ValuesIn(transports({"shm", "cma"})), testing::Values(4, 8)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + std::to_string(std::get<1>(info.param));
                         });

// ---- batches ------------------------------------------------------------------------------------------------------

TEST(Batches, OfAPlanAreOneSubmission) {
  if (!with_module()) GTEST_SKIP() << "the module is not loaded";
  Environment forced("COLL_TRANSPORT", "kcoll_uring"), algorithm("COLL_ALLTOALL", "rotated"),
      other("COLL_SCATTER", "sequential_write");
  run_processes(4, [](Context& c) {
    coll_comm* comm = c.comm();
    if (comm == nullptr) return;
    auto* ring = dynamic_cast<transport::KcollUring*>(team_of(comm).mechanism.get());
    RANK_CHECK(c, ring != nullptr);
    constexpr size_t n = 20'000;
    std::vector<uint32_t> in(n * 4), out(n * 4);
    for (uint32_t round = 0; round < 3; round++) {
      for (size_t i = 0; i < in.size(); i++) in[i] = input(c.rank, i, round);
      RANK_CHECK(c, coll_alltoall(in.data(), out.data(), n, COLL_UINT32, comm) == COLL_OK);
      for (size_t i = 0; i < out.size(); i++)
        if (out[i] != input(int(i / n), size_t(c.rank) * n + i % n, round)) return c.fail("alltoall is wrong");
      RANK_CHECK(c, coll_scatter(in.data(), out.data(), n, COLL_UINT32, 0, comm) == COLL_OK);
    }
    printf("rank %d: %llu copies in %llu submissions\n", c.rank, static_cast<unsigned long long>(ring->submitted()),
           static_cast<unsigned long long>(ring->submissions()));
    fflush(stdout);
    RANK_CHECK(c, ring->submissions() > 0 && ring->submitted() >= 2 * ring->submissions());
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

}  // namespace
