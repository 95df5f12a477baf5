// SPDX-License-Identifier: BSD-3-Clause
// The hand-written latency paths give the results of their plan twins: barrier flat, bcast shm_pipelined, reduce flat,
// allreduce all_read and so on, for sizes from 0 to beyond the largest payload. Both run alternately, so they also
// follow each other. Buffers are ordinary memory, or that of coll_mem_alloc(), for which mailboxes hold only a pointer.
#include "exec/latency.h"

#include "../seed.h"
#include "comm/collectives.h"

using namespace ranks;

namespace {

// This file is compiled once for ranks that are threads and once for processes.
#ifdef RANKS_ARE_PROCESSES
void run(int ranks, const Function& function) { run_processes(ranks, function); }
#else
void run(int ranks, const Function& function) { run_threads(ranks, function); }
#endif

// Memory of an arena if the variable is set.
template <typename T>
struct Shared {
  using value_type = T;
  Shared() = default;
  template <typename U>
  Shared(const Shared<U>&) {}
  static bool wanted() { return getenv("COLL_DIRECT_MIN") != nullptr; }
  T* allocate(size_t n) {
    void* memory = nullptr;
    if (!wanted()) return static_cast<T*>(::operator new(n * sizeof(T)));
    if (coll_mem_alloc(n * sizeof(T), &memory) != COLL_OK) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) { wanted() ? void(coll_mem_free(memory)) : ::operator delete(memory); }
  bool operator==(const Shared&) const = default;
};
using Floats = std::vector<float, Shared<float>>;

size_t next_size(size_t bytes) {
  if (bytes < 136) return bytes + 4 * slowness;
  return bytes < 1000 ? bytes + 52 * slowness : bytes * 7 / 4 / 4 * 4;
}

// Performs the same operations on a communicator with latency paths and on one with forced algorithms, which disables
// them. Sums of floats show the order of operands.
void compare(Context& c) {
  static constexpr std::pair<const char*, const char*> twins[] = {{"COLL_BCAST", "shm_pipelined"},
                                                                  {"COLL_REDUCE", "flat"},
                                                                  {"COLL_ALLREDUCE", "all_read"},
                                                                  {"COLL_BARRIER", "flat"},
                                                                  {"COLL_SCATTER", "parallel_read"},
                                                                  {"COLL_GATHER", "parallel_write"},
                                                                  {"COLL_ALLGATHER", "ring_source_read"},
                                                                  {"COLL_ALLTOALL", "rotated"},
                                                                  {"COLL_REDUCE_SCATTER", "fused"},
                                                                  {"COLL_SCAN", "all_read"},
                                                                  {"COLL_EXSCAN", "all_read"}};
  coll_comm* fast = c.comm();
  for (auto [variable, name] : twins) c.set(variable, name);
  coll_comm* twin = c.comm();
  for (auto [variable, name] : twins) c.set(variable, nullptr);
  if (fast == nullptr || twin == nullptr) return;
  coll_op op;
  RANK_CHECK(c, coll_op_create(compose, 0, nullptr, &op) == COLL_OK);

  const std::vector<size_t> whole = {2048, 4096, 8192, 16384, 32768, 32772};  // these are limits of the path, too
  std::vector<size_t> sizes;
  for (size_t bytes = 0; bytes <= 40000; bytes = next_size(bytes)) sizes.push_back(bytes);
  sizes.insert(sizes.end(), whole.begin(), whole.end());
  for (size_t bytes : sizes) {
    if (c.failed()) break;
    c.about = std::to_string(bytes) + " bytes";
    size_t n = bytes / 4;
    Floats in(n + 1), results[2];
    for (size_t i = 0; i < n; i++)
      in[i] = std::ldexp(float(input(c.rank, i, uint32_t(bytes)) % 1000003), int(input(c.rank, i, 1) % 40) - 20);
    for (int which = 0; which < 2; which++) {
      coll_comm* comm = which == 0 ? fast : twin;
      Floats& all = results[which];
      auto keep = [&](const Floats& part) { all.insert(all.end(), part.begin(), part.end()); };
      for (int root = 0; root < c.ranks; root++) {
        Floats data(n + 1, 0);
        if (c.rank == root) data = in;
        RANK_CHECK(c, coll_bcast(data.data(), n, COLL_FLOAT, root, comm) == COLL_OK);
        keep(data);
        data.assign(n + 1, 0);
        RANK_CHECK(c, coll_reduce(in.data(), data.data(), n, COLL_FLOAT, COLL_SUM, root, comm) == COLL_OK);
        keep(data);
      }
      const size_t p = size_t(c.ranks);
      Floats blocks(n * p + 1), out(n * p + 1);
      for (size_t i = 0; i < n * p; i++) blocks[i] = in[i % n] * float(1 + i / n);
      for (int root = 0; root < c.ranks; root++) {
        out.assign(n * p + 1, 0);
        RANK_CHECK(c, coll_scatter(blocks.data(), out.data(), n, COLL_FLOAT, root, comm) == COLL_OK);
        keep(out);
        out.assign(n * p + 1, 0);
        RANK_CHECK(c, coll_gather(in.data(), out.data(), n, COLL_FLOAT, root, comm) == COLL_OK);
        keep(out);
      }
      out.assign(n * p + 1, 0);
      RANK_CHECK(c, coll_allgather(in.data(), out.data(), n, COLL_FLOAT, comm) == COLL_OK);
      keep(out);
      RANK_CHECK(c, coll_alltoall(blocks.data(), out.data(), n, COLL_FLOAT, comm) == COLL_OK);
      keep(out);
      RANK_CHECK(c, coll_alltoall(COLL_IN_PLACE, out.data(), n, COLL_FLOAT, comm) == COLL_OK);
      keep(out);
      RANK_CHECK(c, coll_reduce_scatter_block(blocks.data(), out.data(), n, COLL_FLOAT, COLL_SUM, comm) == COLL_OK);
      keep(out);
      out = blocks;
      RANK_CHECK(c, coll_reduce_scatter_block(COLL_IN_PLACE, out.data(), n, COLL_FLOAT, COLL_SUM, comm) == COLL_OK);
      keep({out.begin(), out.begin() + long(n)});
      out.assign(n * p + 1, 0);
      RANK_CHECK(c, coll_scan(in.data(), out.data(), n, COLL_FLOAT, COLL_SUM, comm) == COLL_OK);
      keep(out);
      out.assign(n * p + 1, 0);
      RANK_CHECK(c, coll_exscan(in.data(), out.data(), n, COLL_FLOAT, COLL_SUM, comm) == COLL_OK);
      keep(out);
      Floats data(n + 1, 0);
      RANK_CHECK(c, coll_allreduce(in.data(), data.data(), n, COLL_FLOAT, COLL_SUM, comm) == COLL_OK);
      keep(data);
      data = in;
      RANK_CHECK(c, coll_allreduce(COLL_IN_PLACE, data.data(), n, COLL_FLOAT, COLL_SUM, comm) == COLL_OK);
      keep(data);
      RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
      std::vector<Affine> maps(bytes / 8 + 1), composed(bytes / 8 + 1);
      for (size_t i = 0; i < maps.size(); i++) maps[i] = {uint32_t(2 * c.rank + 3 + i), uint32_t(c.rank * 7 + i)};
      RANK_CHECK(c, coll_allreduce(maps.data(), composed.data(), bytes / 8, COLL_TYPE_BYTES(8), op, comm) == COLL_OK);
      for (size_t i = 0; i < bytes / 8; i++) all.push_back(float(composed[i].a)), all.push_back(float(composed[i].b));
    }
    RANK_CHECK(c, results[0].size() == results[1].size() &&
                      memcmp(results[0].data(), results[1].data(), results[0].size() * 4) == 0);
  }
  RANK_CHECK(c, coll_op_free(op) == COLL_OK);
  RANK_CHECK(c, coll_comm_free(fast) == COLL_OK && coll_comm_free(twin) == COLL_OK);
}

class LatencyPaths : public testing::TestWithParam<int> {};
TEST_P(LatencyPaths, GiveTheResultsOfTheirPlanTwins) {
  Environment transport("COLL_TRANSPORT", "shm");
  run(GetParam(), compare);
}
TEST_P(LatencyPaths, PublishMappedMemoryByItsAddress) {
  Environment transport("COLL_TRANSPORT", "mapped"), direct("COLL_DIRECT_MIN", "40");
  run(GetParam(), compare);
}
INSTANTIATE_TEST_SUITE_P(Ranks, LatencyPaths, testing::Values(2, 3, 5));

// Ranks far ahead and far behind share the mailboxes without overwriting data that is still read: roots do not wait. As
// many ranks as a small machine has cores keep longer payloads out of line and reuse that memory several times.
void run_ahead(Context& c, size_t most) {
  coll_comm* comm = c.comm();
  std::mt19937_64 random(coll::test::seed() + uint64_t(c.rank));
  std::vector<uint32_t> data(most);
  for (uint32_t i = 0; i < 2000 && !c.failed(); i++) {
    std::ranges::fill(data, c.rank == 0 ? i : 0);
    if (c.rank == c.ranks - 1 && random() % 100 == 0) usleep(200);
    const size_t count = 1 + i * 31 % most;
    RANK_CHECK(c, coll_bcast(data.data(), count, COLL_UINT32, 0, comm) == COLL_OK);
    RANK_CHECK(c, std::all_of(data.begin(), data.begin() + long(count), [i](uint32_t word) { return word == i; }));
  }
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
}

TEST(LatencyPaths, MailboxesAreNotReusedTooEarly) {
  run(3, [](Context& c) { run_ahead(c, 250); });
}

TEST(LatencyPaths, LongPayloadsAreNotOverwrittenTooEarly) {
  run(2, [](Context& c) { run_ahead(c, 8000); });
}

}  // namespace
