// SPDX-License-Identifier: BSD-3-Clause
// The latency paths of more than 16 ranks for reductions: results are those of the definition and of the plan twins,
// for every length and in any order of calls; the death of a rank and different lengths are noticed.
#include "exec/latency_reductions.h"

#include <bit>

#include "../seed.h"
#include "exec/described_nodes.h"
#include "plan/plan.h"

using namespace ranks;
using coll::plan::Collective;

namespace {

constexpr Node reducing_nodes[] = {{"oversubscribed", "package:2 numa:4 core:16", true},
                                   {"flat", "package:1 core:128", false},
                                   {"groups", "package:2 numa:4 core:16", false}};

// The collectives, and algorithms whose plans make the same steps if each rank is a group of its own.
struct Reduction {
  Collective what;
  const char *variable, *flat;
};
const Reduction reductions[] = {{Collective::reduce, "COLL_REDUCE", "flat"},
                                {Collective::allreduce, "COLL_ALLREDUCE", "all_read"},
                                {Collective::reduce_scatter, "COLL_REDUCE_SCATTER", "fused"},
                                {Collective::scan, "COLL_SCAN", "all_read"},
                                {Collective::exscan, "COLL_EXSCAN", "all_read"}};

// The elements and how they combine: `value` of any number, `combine` in the order of Plan::balanced.
struct Sums {
  using Element = uint32_t;
  static constexpr coll_datatype type = COLL_UINT32;
  static Element value(uint32_t number) { return number * 2654435761u; }
  static Element combine(Element a, Element b) { return a + b; }
};
struct Doubles {
  using Element = double;
  static constexpr coll_datatype type = COLL_DOUBLE;
  static Element value(uint32_t number) { return 1 / (1 + double(number * 2654435761u % 1000003)); }
  static Element combine(Element a, Element b) { return a + b; }
};
// Associative, not commutative.
struct Maps {
  using Element = Affine;
  static constexpr coll_datatype type = COLL_TYPE_BYTES(sizeof(Affine));
  static Element value(uint32_t number) { return {2 * number + 3, number * 40503u}; }
  static Element combine(Element a, Element b) {
    compose(&a, &b, 1, 0, nullptr);
    return b;
  }
};
struct Halves {
  using Element = uint16_t;  // bfloat16
  static constexpr coll_datatype type = COLL_BFLOAT16;
  static Element value(uint32_t number) {
    return uint16_t(std::bit_cast<uint32_t>(float(Doubles::value(number))) >> 16);
  }
};

uint32_t number_of(int rank, size_t i, uint32_t round) {
  return uint32_t(rank) * 7919u + uint32_t(i) * 31u + round * 97u;
}

template <typename Kind>
typename Kind::Element fold(int first, int last, size_t i, uint32_t round) {
  if (last - first == 1) return Kind::value(number_of(first, i, round));
  const int left = int(std::bit_floor(unsigned(last - first - 1)));
  return Kind::combine(fold<Kind>(first, first + left, i, round), fold<Kind>(first + left, last, i, round));
}

// Performs a call with n elements, or n per block. Returns this rank's result; empty if it has none.
template <typename Kind>
std::vector<typename Kind::Element> call(Context& c, coll_comm* comm, Collective what, coll_op op, int root, size_t n,
                                         uint32_t round, bool in_place) {
  using Element = typename Kind::Element;
  const size_t sent = n * (what == Collective::reduce_scatter ? size_t(c.ranks) : 1);
  std::vector<Element> send(sent), recv(std::max(sent, n) + 1);
  for (size_t i = 0; i < sent; i++) send[i] = Kind::value(number_of(c.rank, i, round));
  memset(recv.data(), 0xee, recv.size() * sizeof(Element));
  const void* in = send.data();
  void* out = recv.data();
  if (what == Collective::reduce && c.rank != root) out = nullptr;
  else if (in_place) std::copy(send.begin(), send.end(), recv.begin()), in = COLL_IN_PLACE;
  const coll_datatype type = Kind::type;
  const coll_status status = what == Collective::reduce      ? coll_reduce(in, out, n, type, op, root, comm)
                             : what == Collective::allreduce ? coll_allreduce(in, out, n, type, op, comm)
                             : what == Collective::reduce_scatter
                                 ? coll_reduce_scatter_block(in, out, n, type, op, comm)
                             : what == Collective::scan ? coll_scan(in, out, n, type, op, comm)
                                                        : coll_exscan(in, out, n, type, op, comm);
  RANK_CHECK(c, status == COLL_OK);
  std::vector<char> beyond(sizeof(Element), char(0xee));
  if (memcmp(&recv.back(), beyond.data(), sizeof(Element)) != 0) c.fail("wrote beyond the end");
  if (out == nullptr || (what == Collective::exscan && c.rank == 0)) n = 0;
  recv.resize(n);
  return recv;
}

// The same result by the definition.
template <typename Kind>
void check(Context& c, coll_comm* comm, Collective what, coll_op op, int root, size_t n, uint32_t round,
           bool in_place) {
  const auto got = call<Kind>(c, comm, what, op, root, n, round, in_place);
  const int last = what == Collective::scan ? c.rank + 1 : what == Collective::exscan ? c.rank : c.ranks;
  for (size_t i = 0; i < got.size() && !c.failed(); i++) {
    const size_t at = what == Collective::reduce_scatter ? size_t(c.rank) * n + i : i;
    const auto expected = fold<Kind>(0, last, at, round);
    if (memcmp(&got[i], &expected, sizeof expected) != 0)
      c.fail(std::string(coll::plan::name(what)) + " of " + std::to_string(n) + " elements is wrong at element " +
             std::to_string(i) + ", root " + std::to_string(root) + (in_place ? ", in place" : ""));
  }
}

// Lengths in elements of 4 bytes that fit into notes, into slots, and beyond the limit of the path. Blocks are shorter.
std::vector<size_t> lengths(Collective what, int ranks) {
  std::vector<size_t> all;
  const size_t most = what == Collective::reduce_scatter ? 5000 / size_t(ranks) : 300;
  for (size_t n = 0; n <= most; n += 1 + n / 2) all.push_back(n);
  return all;
}

std::vector<int> roots(Collective what, int ranks) {
  if (what != Collective::reduce) return {0};
  return {0, ranks / 2, ranks - 1};
}
// Some roots of every group.
int next_root(const Context& c, int root) { return root + (thins() || c.ranks > 33 ? 11 : 3); }

using ManyRanksReduce = ManyRanks;

TEST_P(ManyRanksReduce, AsTheDefinitionSays) {
  On on(node());
  run(ranks(), [&](Context& c) {
    coll_comm* comm = comm_on(c, node());
    coll_op op;
    if (comm == nullptr || coll_op_create(compose, 0, nullptr, &op) != COLL_OK) return c.fail("no operation");
    uint32_t round = 0;
    for (const Reduction& of : reductions) {
      for (int root = 0; of.what == Collective::reduce && root < c.ranks && !c.failed(); root = next_root(c, root)) {
        check<Sums>(c, comm, of.what, COLL_SUM, root, 2, ++round, root % 2 == 1);
        check<Maps>(c, comm, of.what, op, root, 3, ++round, root % 2 == 0);
      }
      for (size_t n : lengths(of.what, c.ranks)) {
        if (c.failed()) break;
        const int root = int(n * 7 % size_t(c.ranks));
        check<Sums>(c, comm, of.what, COLL_SUM, root, n, ++round, n % 2 == 0);
        check<Maps>(c, comm, of.what, op, root, n / 2 + 1, ++round, n % 2 == 1);
      }
    }
    RANK_CHECK(c, coll_op_free(op) == COLL_OK && coll_comm_free(comm) == COLL_OK);
  });
}

// Sums of floating-point numbers depend on the order.
TEST_P(ManyRanksReduce, InTheBalancedOrderBitForBit) {
  On on(node());
  run(ranks(), [&](Context& c) {
    coll_comm* comm = comm_on(c, node());
    if (comm == nullptr) return;
    uint32_t round = 0;
    for (const Reduction& of : reductions)
      for (int root : roots(of.what, c.ranks))
        for (size_t n : {1, 3}) check<Doubles>(c, comm, of.what, COLL_SUM, root, n, ++round, n == 3);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// Compares bits, too. 16-bit floats are rounded once, by a plan that reduces all operands in one step.
TEST_P(ManyRanksReduce, GiveTheResultsOfTheirPlanTwins) {
  On on(node());
  run(ranks(), [&](Context& c) {
    uint32_t round = 0;
    for (const Reduction& of : reductions) {
      c.set(of.variable, "latency");
      coll_comm* path = comm_on(c, node());
      c.set(of.variable, node().oversubscribed ? of.flat : "grouped");
      coll_comm* twin = c.comm();
      c.set(of.variable, of.what == Collective::scan || of.what == Collective::exscan ? "all_read" : "fused");
      coll_comm* one_step = c.comm();
      c.set(of.variable, nullptr);
      if (path == nullptr || twin == nullptr || one_step == nullptr) return;
      for (int root : roots(of.what, c.ranks))
        for (size_t n : {3, 30}) {
          const bool in_place = ++round % 2 == 0;
          const auto doubles = [&](coll_comm* comm) {
            return call<Doubles>(c, comm, of.what, COLL_SUM, root, n, round, in_place);
          };
          const auto halves = [&](coll_comm* comm) {
            return call<Halves>(c, comm, of.what, COLL_SUM, root, n, round, in_place);
          };
          if (doubles(path) != doubles(twin)) c.fail(std::string(coll::plan::name(of.what)) + " and its twin differ");
          if (halves(path) != halves(one_step))
            c.fail(std::string(coll::plan::name(of.what)) + " rounds more than once");
        }
      for (coll_comm* comm : {path, twin, one_step}) RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    }
  });
}

// Reductions and roots in any order on one communicator; each rank is late from time to time, and others run ahead of
// it.
TEST_P(ManyRanksReduce, FollowEachOther) {
  On on(node());
  run(ranks(), [&](Context& c) {
    coll_comm* comm = comm_on(c, node());
    if (comm == nullptr) return;
    std::mt19937_64 random(coll::test::seed()), late(coll::test::seed() + uint64_t(c.rank) + 1);
    // In notes, in slots, and in plans.
    constexpr size_t counts[] = {1, 1, 2, 5, 28, 29, 64, 257};
    for (uint32_t round = 1; round <= uint32_t(200 / slowness) && !c.failed(); round++) {
      // Repeats one of them for a while: roots and first ranks then get farthest ahead.
      const Reduction& of = reductions[(round / 40 + (random() % 3 == 0 ? random() % 5 : 0)) % 5];
      const int root = int(round / 20 * 5 + (random() % 4 == 0)) % c.ranks;
      const size_t n = counts[random() % std::size(counts)], less = of.what == Collective::reduce_scatter ? 16 : 1;
      c.about = "round " + std::to_string(round);
      if (c.rank % 7 == 3 && late() % 30 == 0) usleep(200);
      check<Sums>(c, comm, of.what, COLL_SUM, root, n / less + 1, round, random() % 4 == 0);
    }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// One rank has more elements, then one in each of several groups: every rank reports it, and all can continue.
TEST_P(ManyRanksReduce, ADifferentLengthIsReportedByAllRanks) {
  On on(node());
  run(ranks(), [&](Context& c) {
    coll_comm* comm = comm_on(c, node());
    if (comm == nullptr) return;
    uint32_t round = 0;
    for (int odd : {-1, 1, 18 % c.ranks, c.ranks - 1}) {
      const bool longer = odd < 0 ? c.rank % 16 == 1 : c.rank == odd;
      std::vector<uint8_t> send(3 * size_t(c.ranks), 1), recv(4 * size_t(c.ranks), 0xee);
      const size_t n = longer ? 3 : 1;
      const coll_status expected = longer ? COLL_ERR_COUNT : COLL_ERR_TRUNCATE;
      coll_status status = coll_allreduce(send.data(), recv.data(), n, COLL_UINT8, COLL_SUM, comm);
      RANK_CHECK(c, status == expected && recv[3] == 0xee);
      if (c.ranks * 3 <= 112) {
        status = coll_reduce_scatter_block(send.data(), recv.data(), n, COLL_UINT8, COLL_SUM, comm);
        RANK_CHECK(c, status == expected && recv[3] == 0xee);
      }
      status = coll_reduce(send.data(), recv.data(), n, COLL_UINT8, COLL_SUM, 0, comm);
      if (c.rank == 0) RANK_CHECK(c, status == COLL_ERR_TRUNCATE);
      status = coll_scan(send.data(), recv.data(), n, COLL_UINT8, COLL_SUM, comm);
      if (c.rank == c.ranks - 1) RANK_CHECK(c, status == expected);
      check<Sums>(c, comm, Collective::allreduce, COLL_SUM, 0, 2, ++round, false);
    }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

#ifdef RANKS_ARE_PROCESSES
class DeathInReductions : public ManyRanks {};

// The rank that dies reduces a group, only publishes its input, or is the last one.
TEST_P(DeathInReductions, IsNoticedByEverySurvivor) {
  On on(node());
  for (const Collective what :
       {Collective::reduce, Collective::allreduce, Collective::reduce_scatter, Collective::scan})
    for (int victim : {0, 8, ranks() - 1}) {
      SCOPED_TRACE(std::string(coll::plan::name(what)) + ", victim " + std::to_string(victim));
      run_processes(
          ranks(),
          [&](Context& c) {
            coll_comm* comm = comm_on(c, node());
            if (comm == nullptr) return;
            std::vector<uint32_t> send(size_t(c.ranks)), recv(size_t(c.ranks));
            coll_status status = COLL_OK;
            c.meet();
            for (int turn = 0; status == COLL_OK; turn++) {
              if (c.rank == victim && turn == 30) {
                c.shared->moment_ns = now_ns();
                kill(getpid(), SIGKILL);
              }
              const coll_datatype type = COLL_UINT32;
              status = what == Collective::reduce ? coll_reduce(send.data(), recv.data(), 1, type, COLL_SUM, 16, comm)
                       : what == Collective::allreduce
                           ? coll_allreduce(send.data(), recv.data(), 1, type, COLL_SUM, comm)
                       : what == Collective::scan
                           ? coll_scan(send.data(), recv.data(), 1, type, COLL_SUM, comm)
                           : coll_reduce_scatter_block(send.data(), recv.data(), 1, type, COLL_SUM, comm);
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

INSTANTIATE_TEST_SUITE_P(Nodes, DeathInReductions,
                         testing::Combine(testing::Values(reducing_nodes[0], reducing_nodes[1]),
                                          testing::Values(17, 33)),
                         name_of);
#endif

INSTANTIATE_TEST_SUITE_P(Nodes, ManyRanksReduce,
                         testing::Combine(testing::ValuesIn(reducing_nodes), testing::Values(17, 31, 32, 33, 64)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(LargeNodes, ManyRanksReduce,
                         testing::Combine(testing::Values(reducing_nodes[0], reducing_nodes[2]),
                                          testing::Values(100, 128)),
                         name_of);

}  // namespace
