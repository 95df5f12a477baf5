// SPDX-License-Identifier: BSD-3-Clause
// The latency paths of more than 16 ranks: results are right after any other call, also if ranks run ahead or are late,
// and the death of a rank is noticed. Ranks with a core each use a tree of small groups; oversubscribed ranks use one
// hop. The library sees as many processors as the test defines.
#include "exec/latency_many.h"

#include "../seed.h"
#include "exec/described_nodes.h"
#include "plan/plan.h"

using namespace ranks;
using coll::plan::Collective;

namespace {

// The operation that each rank has begun, in memory that all ranks share.
struct Begun {
  std::atomic<uint32_t> round[Shared::most_ranks];
};
Begun* make_begun() {
  return static_cast<Begun*>(mmap(nullptr, sizeof(Begun), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

void barrier(Context& c, coll_comm* comm, Begun& begun, uint32_t round) {
  begun.round[c.rank].store(round, std::memory_order_relaxed);
  RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
  for (int rank = 0; rank < c.ranks; rank++)
    if (begun.round[rank].load(std::memory_order_relaxed) < round)
      return c.fail("left a barrier before rank " + std::to_string(rank) + " had begun it");
}

void bcast(Context& c, coll_comm* comm, int root, size_t n, uint32_t round) {
  std::vector<uint32_t> data(n + 1, 0xeeeeeeee);
  for (size_t i = 0; i < n && c.rank == root; i++) data[i] = input(root, i, round);
  RANK_CHECK(c, coll_bcast(data.data(), n, COLL_UINT32, root, comm) == COLL_OK);
  for (size_t i = 0; i < n; i++)
    if (data[i] != input(root, i, round)) return c.fail("bcast is wrong at element " + std::to_string(i));
  if (data[n] != 0xeeeeeeee) c.fail("bcast wrote beyond the end");
}

void allreduce(Context& c, coll_comm* comm, size_t n, uint32_t round) {
  std::vector<uint32_t> in(n), out(n);
  for (size_t i = 0; i < n; i++) in[i] = input(c.rank, i, round);
  RANK_CHECK(c, coll_allreduce(in.data(), out.data(), n, COLL_UINT32, COLL_SUM, comm) == COLL_OK);
  for (size_t i = 0; i < n; i++)
    if (out[i] != expected_sum(c.ranks, i, round)) return c.fail("allreduce is wrong");
}

// Collectives of blocks and their plan twins: for oversubscribed ranks, and for others.
struct OfBlocks {
  Collective what;
  const char *variable, *flat, *grouped;
};
const OfBlocks of_blocks[] = {{Collective::gather, "COLL_GATHER", "sequential_read", "grouped"},
                              {Collective::scatter, "COLL_SCATTER", "parallel_read", "grouped"},
                              {Collective::allgather, "COLL_ALLGATHER", "shm_pipelined", "grouped"},
                              {Collective::alltoall, "COLL_ALLTOALL", "rotated", "grouped"}};

// Performs one of them with n elements per block. Block (s, r) goes from rank s to rank r, or to all.
void blocks(Context& c, coll_comm* comm, Collective what, int root, size_t n, uint32_t round, bool in_place = false) {
  constexpr uint32_t nothing = 0xeeeeeeee;
  const auto ranks = size_t(c.ranks), rank = size_t(c.rank);
  const bool is_root = c.rank == root, to_each = what == Collective::scatter || what == Collective::alltoall;
  const auto element = [&](size_t from, size_t to, size_t i) {
    return input(int(from * ranks + (to_each ? to : 0)), i, round);
  };
  const bool sends_all = what == Collective::alltoall || (what == Collective::scatter && is_root);
  const bool gets_all =
      what == Collective::alltoall || what == Collective::allgather || (what == Collective::gather && is_root);
  std::vector<uint32_t> send(n * (sends_all ? ranks : 1)), recv(n * (gets_all ? ranks : 1) + 1, nothing);
  for (size_t b = 0; b < (sends_all ? ranks : 1); b++)
    for (size_t i = 0; i < n; i++) send[b * n + i] = element(rank, b, i);
  const void* in = what == Collective::scatter && !is_root ? nullptr : send.data();
  void* out = what == Collective::gather && !is_root ? nullptr : recv.data();
  if (in_place && what == Collective::scatter) {
    if (is_root) out = COLL_RECV_IN_PLACE;
  } else if (in_place && (is_root || what != Collective::gather)) {
    std::copy(send.begin(), send.end(), recv.begin() + long(what == Collective::alltoall ? 0 : rank * n));
    in = COLL_IN_PLACE;
  }
  const coll_datatype type = COLL_UINT32;
  const coll_status status = what == Collective::gather      ? coll_gather(in, out, n, type, root, comm)
                             : what == Collective::scatter   ? coll_scatter(in, out, n, type, root, comm)
                             : what == Collective::allgather ? coll_allgather(in, out, n, type, comm)
                                                             : coll_alltoall(in, out, n, type, comm);
  RANK_CHECK(c, status == COLL_OK);
  if (out != recv.data()) return;
  for (size_t b = 0; b < (gets_all ? ranks : 1); b++)
    for (size_t i = 0; i < n; i++)
      if (const size_t from = gets_all ? b : size_t(root); recv[b * n + i] != element(from, rank, i))
        return c.fail(std::string(coll::plan::name(what)) + " is wrong at element " + std::to_string(i) +
                      " of the block from rank " + std::to_string(from));
  if (recv.back() != nothing) c.fail(std::string(coll::plan::name(what)) + " wrote beyond the end");
}

// Collectives and roots in any order on one communicator; each rank is late from time to time.
TEST_P(ManyRanks, CollectivesFollowEachOther) {
  On on(node());
  Begun* begun = make_begun();
  run(ranks(), [&](Context& c) {
    coll_comm* comm = comm_on(c, node());
    if (comm == nullptr) return;
    std::mt19937_64 random(coll::test::seed()), late(coll::test::seed() + uint64_t(c.rank) + 1);
    constexpr size_t counts[] = {1, 2, 11, 12, 13, 30, 255, 256, 511, 1024, 1025, 8192};
    for (uint32_t round = 1; round <= uint32_t(150 / slowness) && !c.failed(); round++) {
      c.about = "round " + std::to_string(round);
      const uint64_t kind = random() % 16;
      const int root = int(random() % uint64_t(c.ranks));
      const size_t n = counts[random() % std::size(counts)];
      if (late() % 100 == 0) usleep(100);
      if (kind < 3) barrier(c, comm, *begun, round);
      else if (kind < 7) bcast(c, comm, root, n, round);
      else if (kind < 15) blocks(c, comm, of_blocks[kind % 4].what, root, n % 301 + 1, round, random() % 4 == 0);
      else allreduce(c, comm, n % 300 + 1, round);
    }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
  munmap(begun, sizeof(Begun));
}

// Only broadcasts, so that roots get as far ahead as mailboxes allow. Each root in turn has several.
TEST_P(ManyRanks, MailboxesAreNotReusedTooEarly) {
  On on(node());
  run(ranks(), [&](Context& c) {
    coll_comm* comm = comm_on(c, node());
    if (comm == nullptr) return;
    std::mt19937_64 late(coll::test::seed() + uint64_t(c.rank));
    for (uint32_t round = 0; round < uint32_t(400 / slowness) && !c.failed(); round++) {
      if (c.rank % 7 == 3 && late() % 50 == 0) usleep(200);
      bcast(c, comm, int(round / 20 * 5) % c.ranks, 1 + round * 31 % 1024, round);
    }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// The same with blocks, with changing roots and with one collective repeated.
TEST_P(ManyRanks, NotesAreNotReusedTooEarly) {
  On on(node());
  Environment path("COLL_GATHER", "latency");
  run(ranks(), [&](Context& c) {
    coll_comm* comm = comm_on(c, node());
    if (comm == nullptr) return;
    std::mt19937_64 late(coll::test::seed() + uint64_t(c.rank));
    uint32_t round = 0;
    for (const OfBlocks& of : of_blocks)
      for (int i = 0; i < 100 / slowness && !c.failed(); i++) {
        if (c.rank % 7 == 3 && late() % 30 == 0) usleep(200);
        // In notes, then in slots.
        const size_t n = i % 10 == 0 ? 40 : i % 10 == 1 ? 20 : 2;
        blocks(c, comm, of.what, i / 20 * 5 % c.ranks, n, ++round);
      }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// Blocks of every length up to beyond the limit of the path, also in place, compared with the plan twins.
TEST_P(ManyRanks, GiveTheBlocksOfTheirPlanTwins) {
  On on(node());
  run(ranks(), [&](Context& c) {
    for (const OfBlocks& of : of_blocks) {
      c.set(of.variable, "latency");
      coll_comm* path = comm_on(c, node());
      c.set(of.variable, node().oversubscribed ? of.flat : of.grouped);
      coll_comm* twin = c.comm();
      c.set(of.variable, nullptr);
      if (path == nullptr || twin == nullptr) return;
      uint32_t round = 0;
      for (coll_comm* comm : {path, twin}) {
        const bool rooted = is_rooted(of.what);
        for (int root = 0; root < (rooted ? c.ranks : 1) && !c.failed(); root += thins() ? 5 : 1)
          blocks(c, comm, of.what, root, 2, ++round, root % 2 == 1);
        for (size_t n = 0; n <= 300 && !c.failed(); n += 1 + n / 2)
          for (int root : {0, c.ranks / 2, c.ranks - 1})
            if (rooted || root == 0) blocks(c, comm, of.what, root, n, ++round, n % 2 == 1);
      }
      RANK_CHECK(c, coll_comm_free(path) == COLL_OK && coll_comm_free(twin) == COLL_OK);
    }
  });
}

// Every rank that waits for a rank with a longer block notices it, and all can continue.
TEST_P(ManyRanks, ALongerBlockIsReportedByTheWaitingRanks) {
  On on(node());
  run(ranks(), [&](Context& c) {
    coll_comm* comm = comm_on(c, node());
    if (comm == nullptr) return;
    uint32_t round = 0;
    for (int odd : {1, c.ranks - 1}) {
      std::vector<uint8_t> send(3, 7), recv(3 * size_t(c.ranks) + 1, 0xee);
      const size_t n = c.rank == odd ? 3 : 1;
      const coll_status status = coll_allgather(send.data(), recv.data(), n, COLL_UINT8, comm);
      RANK_CHECK(c, status == (c.rank == odd ? COLL_ERR_COUNT : COLL_ERR_TRUNCATE));
      RANK_CHECK(c, recv[n * size_t(c.ranks)] == 0xee);
      blocks(c, comm, Collective::allgather, 0, 2, ++round);
    }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// Every root and every length up to beyond the limit of the path, compared with the plan twins.
TEST_P(ManyRanks, GiveTheResultsOfTheirPlanTwins) {
  On on(node());
  Begun* begun = make_begun();
  run(ranks(), [&](Context& c) {
    coll_comm* path = comm_on(c, node());
    c.set("COLL_BCAST", node().oversubscribed ? "shm_pipelined" : "grouped");
    c.set("COLL_BARRIER", node().oversubscribed ? "flat" : "grouped");
    coll_comm* twin = c.comm();
    c.set("COLL_BCAST", nullptr);
    c.set("COLL_BARRIER", nullptr);
    if (path == nullptr || twin == nullptr) return;
    uint32_t round = 0;
    for (coll_comm* comm : {path, twin}) {
      for (int root = 0; root < c.ranks && !c.failed(); root += thins() ? 5 : 1) bcast(c, comm, root, 2, ++round);
      for (size_t n = 0; n <= 1100 && !c.failed(); n += 1 + n / 4)
        for (int root : {0, c.ranks / 2, c.ranks - 1}) bcast(c, comm, root, n, ++round);
      for (int i = 0; i < 3; i++) barrier(c, comm, *begun, ++round);
    }
    RANK_CHECK(c, coll_comm_free(path) == COLL_OK && coll_comm_free(twin) == COLL_OK);
  });
  munmap(begun, sizeof(Begun));
}

// Ranks that expect less or more than the root sends report that, forward all of it, and can continue.
TEST_P(ManyRanks, ADifferentLengthIsReportedByTheReceivers) {
  On on(node());
  Environment path("COLL_BCAST", "latency");
  run(ranks(), [&](Context& c) {
    coll_comm* comm = comm_on(c, node());
    if (comm == nullptr) return;
    uint32_t round = 0;
    for (int root : {1, c.ranks - 1}) {
      const int differs = c.rank == root ? 1 : c.rank % 3;
      const size_t n = differs == 0 ? 5 : differs == 1 ? 20 : 250;
      std::vector<uint32_t> data(n + 1, 0xeeeeeeee);
      for (size_t i = 0; i < n && c.rank == root; i++) data[i] = input(root, i, round);
      const coll_status status = coll_bcast(data.data(), n, COLL_UINT32, root, comm);
      RANK_CHECK(c, status == (differs == 0 ? COLL_ERR_TRUNCATE : differs == 1 ? COLL_OK : COLL_ERR_COUNT));
      for (size_t i = 0; i < std::min<size_t>(n, 20); i++) RANK_CHECK(c, data[i] == input(root, i, round));
      RANK_CHECK(c, data[std::min<size_t>(n, 20)] == 0xeeeeeeee);
      bcast(c, comm, root, 7, ++round);
    }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

#ifdef RANKS_ARE_PROCESSES
class DeathOfMany : public ManyRanks {};

// The rank dies in a barrier, a broadcast or a gathering of blocks; it leads several groups, one, or none.
TEST_P(DeathOfMany, IsNoticedByEverySurvivor) {
  On on(node());
  enum { barriers, broadcasts, allgathers };
  for (const int what : {barriers, broadcasts, allgathers})
    for (int victim : {0, 8, ranks() - 1}) {
      SCOPED_TRACE(std::string(what == barriers     ? "barriers"
                               : what == broadcasts ? "broadcasts"
                                                    : "allgathers") +
                   ", victim " + std::to_string(victim));
      run_processes(
          ranks(),
          [&](Context& c) {
            coll_comm* comm = comm_on(c, node());
            if (comm == nullptr) return;
            uint32_t word = 1;
            std::vector<uint32_t> words(size_t(c.ranks));
            coll_status status = COLL_OK;
            c.meet();
            for (int turn = 0; status == COLL_OK; turn++) {
              if (c.rank == victim && turn == 30) {
                c.shared->moment_ns = now_ns();
                kill(getpid(), SIGKILL);
              }
              status = what == barriers     ? coll_barrier(comm)
                       : what == broadcasts ? coll_bcast(&word, 1, COLL_UINT32, 16, comm)
                                            : coll_allgather(&word, words.data(), 1, COLL_UINT32, comm);
            }
            const int64_t noticed = now_ns(), moment = c.shared->moment_ns;
            RANK_CHECK(c, status == COLL_ERR_PEER_DIED);
            if (noticed - moment > 1'000'000'000 * int64_t(slowness))
              c.fail("took " + std::to_string((noticed - moment) / 1'000'000) + " ms to notice");
            RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
          },
          victim, 20);
    }
}

INSTANTIATE_TEST_SUITE_P(Nodes, DeathOfMany,
                         testing::Combine(testing::Values(nodes[0], nodes[2], nodes[3]), testing::Values(17, 33)),
                         name_of);
#endif

INSTANTIATE_TEST_SUITE_P(Nodes, ManyRanks, testing::Combine(testing::ValuesIn(nodes), testing::Values(17, 24, 33, 64)),
                         name_of);

}  // namespace
