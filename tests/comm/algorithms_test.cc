// SPDX-License-Identifier: BSD-3-Clause
// Runs every algorithm of the registry on the real executor: transports, numbers of ranks, roots, sizes around the
// borders of chunks, in place and not; operations that do not commute if the algorithm supports them.
#include <tuple>

#include "algo/registry.h"
#include "comm/piece_calls.h"

using namespace ranks;
namespace algo = coll::algo;

namespace {

constexpr size_t chunk = 256;
constexpr const char* machine = "package:2 numa:2 core:2";

std::string variable_of(Collective collective) {
  std::string name = std::string("COLL_") + coll::plan::name(collective);
  for (char& c : name) c = char(toupper(c));
  return name;
}

std::vector<size_t> counts() {
  std::vector<size_t> elements{1, 3};
  for (size_t border : {chunk, 2 * chunk, 4 * chunk})  // also COLL_DIRECT_MIN
    for (int off : {-1, 0, 1}) elements.push_back(border / 4 + size_t(off));
  elements.insert(elements.end(), {1250, 5000});
  return elements;
}

struct Trial {
  Context& c;
  coll_comm* comm;
  bool mappable;
  uint32_t round = 0;

  // With many or slow ranks, each case runs either in place or not.
  bool one_way() const { return c.ranks > 4 || thins(); }

  bool sum_is(const uint32_t* result, size_t n) {
    for (size_t i = 0; i < n; i++)
      if (result[i] != expected_sum(c.ranks, i, round)) return c.fail("sum is wrong at " + std::to_string(i)), false;
    return true;
  }
  void fill(uint32_t* to, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] = input(c.rank, i, round);
  }

  void bcast(size_t n, int root) {
    Buffer data(n * 4, mappable);
    memset(data.data(), 0xee, n * 4);
    if (c.rank == root) fill(data.data(), n);
    RANK_CHECK(c, coll_bcast(data.data(), n, COLL_UINT32, root, comm) == COLL_OK);
    for (size_t i = 0; i < n; i++)
      if (data.data()[i] != input(root, i, round)) return c.fail("broadcast is wrong at " + std::to_string(i));
  }
  void reduce(size_t n, int root, bool in_place) {
    Buffer send(n * 4, mappable), recv(n * 4, mappable);
    memset(recv.data(), 0xee, n * 4);
    fill(send.data(), n);
    if (in_place && c.rank == root) fill(recv.data(), n);
    const void* from = in_place && c.rank == root ? COLL_IN_PLACE : send.data();
    RANK_CHECK(
        c, coll_reduce(from, c.rank == root ? recv.data() : nullptr, n, COLL_UINT32, COLL_SUM, root, comm) == COLL_OK);
    if (c.rank == root) sum_is(recv.data(), n);
  }
  void allreduce(size_t n, bool in_place) {
    Buffer send(n * 4, mappable), recv(n * 4, mappable);
    memset(recv.data(), 0xee, n * 4);
    fill(in_place ? recv.data() : send.data(), n);
    const void* from = in_place ? COLL_IN_PLACE : send.data();
    RANK_CHECK(c, coll_allreduce(from, recv.data(), n, COLL_UINT32, COLL_SUM, comm) == COLL_OK);
    sum_is(recv.data(), n);
  }
  // No rank may leave before all ranks have entered; the shared word counts the ranks that have.
  void barrier() {
    auto& entered = c.shared->moment_ns;
    c.meet();
    if (c.rank == 0) entered = 0;
    c.meet();
    for (int i = 1; i <= 20; i++) {
      if (c.rank == i % c.ranks) usleep(200);
      entered.fetch_add(1);
      RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
      RANK_CHECK(c, entered.load() >= int64_t(i) * c.ranks);
      RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
    }
  }

  // Uses a commuting operation first, with the same count: its plan must not serve the other operation.
  void not_commuting(const algo::Algorithm& algorithm, size_t n) {
    coll_op op, twin;
    RANK_CHECK(c, coll_op_create(compose, 0, nullptr, &op) == COLL_OK);
    RANK_CHECK(c, coll_op_create(compose, 1, nullptr, &twin) == COLL_OK);
    const coll_datatype type = COLL_TYPE_BYTES(sizeof(Affine));
    std::vector<Affine> send(n), recv(n);
    auto value = [](int rank, size_t i) { return Affine{uint32_t(2 * rank + 3 + i % 5), uint32_t(rank * 7 + i)}; };
    for (size_t i = 0; i < n; i++) send[i] = value(c.rank, i);
    bool everywhere = algorithm.collective == Collective::allreduce;
    auto run = [&](coll_op o) {
      return everywhere ? coll_allreduce(send.data(), recv.data(), n, type, o, comm)
                        : coll_reduce(send.data(), recv.data(), n, type, o, 1, comm);
    };
    RANK_CHECK(c, run(twin) == COLL_OK);
    memset(static_cast<void*>(recv.data()), 0xee, n * sizeof(Affine));
    coll_status status = run(op);
    if (status == COLL_ERR_UNAVAILABLE && !algorithm.balanced) {
      RANK_CHECK(c, strstr(coll_last_error(), "not commutative") != nullptr);
      RANK_CHECK(c, strstr(coll_last_error(), std::string(algorithm.name).c_str()) != nullptr);
    } else {
      RANK_CHECK(c, status == COLL_OK);
      for (size_t i = 0; i < n && (everywhere || c.rank == 1); i++) {
        Affine expected = value(0, i);
        for (int r = 1; r < c.ranks; r++) {
          Affine next = value(r, i);
          compose(&expected, &next, 1, 0, nullptr);
          expected = next;
        }
        if (recv[i].a != expected.a || recv[i].b != expected.b)
          return c.fail("operands out of order at " + std::to_string(i));
      }
    }
    RANK_CHECK(c, coll_op_free(op) == COLL_OK && coll_op_free(twin) == COLL_OK);
  }

  // Collectives of blocks, and scans, use fewer sizes, since every rank has one block per rank.
  void sweep_pieces(const algo::Algorithm& algorithm) {
    const Collective what = algorithm.collective;
    const bool rooted = coll::plan::is_rooted(what);
    for (size_t n : thinned({1, chunk / 4 - 1, chunk / 4 + 1, chunk, 5 * chunk + 3}, c.ranks))
      for (int root = 0; root<(rooted ? c.ranks : 1); root += c.ranks> 4 ? 3 : 1)
        for (bool irregular : {false, true})
          for (bool in_place : {false, true}) {
            PieceCall call{what, irregular, n, root, in_place, ++round};
            if (irregular && !(algorithm.irregular && call.has_v())) continue;
            if (one_way() && in_place != (round / 2 % 2 == 0)) continue;
            try_pieces(c, comm, call, mappable);
            if (c.failed()) return;
          }
    if (!coll::plan::is_reduction(what)) return;
    const coll_status status = try_order(c, comm, what, 700);
    if (status != COLL_OK) {
      RANK_CHECK(c, !algorithm.balanced && status == COLL_ERR_UNAVAILABLE);
      RANK_CHECK(c, strstr(coll_last_error(), "not commutative") != nullptr);
    }
  }

  void sweep(const algo::Algorithm& algorithm) {
    if (algorithm.collective == Collective::barrier) return barrier();
    if (algorithm.collective > Collective::allreduce) return sweep_pieces(algorithm);
    for (size_t n : thinned(counts(), c.ranks))
      for (int root = 0; root < (algorithm.collective == Collective::allreduce ? 1 : c.ranks);
           root = next_root(root, c.ranks)) {
        for (bool in_place : {false, true}) {
          round++;
          if (one_way() && in_place != (round / 2 % 2 == 0)) continue;
          if (algorithm.collective == Collective::bcast) bcast(n, root);
          if (algorithm.collective == Collective::reduce) reduce(n, root, in_place);
          if (algorithm.collective == Collective::allreduce) allreduce(n, in_place);
        }
        if (c.failed()) return;
      }
    if (algorithm.collective == Collective::reduce || algorithm.collective == Collective::allreduce)
      for (size_t n : {size_t(2), size_t(700)}) not_commuting(algorithm, n);
  }
};

class Algorithms : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(Algorithms, AreRightOnTheExecutor) {
  auto [transport, ranks] = GetParam();
  Environment topology("COLL_TOPOLOGY", machine), sensitivity("COLL_SENSITIVITY", "numa,socket"),
      direct("COLL_DIRECT_MIN", "1024"), forced("COLL_TRANSPORT", transport);
  bool mappable = std::string(transport) == "mapped";
  run_processes(ranks, [&](Context& c) {
    for (const algo::Algorithm& algorithm : algo::algorithms())
      for (const char* parameters : {":chunk=256,depth=2", ":chunk=1024,depth=1,k=1"}) {
        if ((c.ranks > 4 || thins()) && strstr(parameters, "depth=1") != nullptr) continue;
        std::string choice = std::string(algorithm.name);
        if (algorithm.collective != Collective::barrier) choice += parameters;
        c.about = std::string(coll::plan::name(algorithm.collective)) + " " + choice;
        std::string variable = variable_of(algorithm.collective);
        c.set(variable.c_str(), choice.c_str());
        coll_comm* comm = c.comm();
        if (comm == nullptr) return;
        Trial{c, comm, mappable}.sweep(algorithm);
        RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
        c.set(variable.c_str(), nullptr);
      }
  });
}

INSTANTIATE_TEST_SUITE_P(All, Algorithms,
                         testing::Combine(testing::ValuesIn(transports({"shm", "cma", "mapped"})),
                                          testing::Values(2, 3, 4, 6, 8)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + std::to_string(std::get<1>(info.param));
                         });

// An algorithm that reorders operands is refused by name instead of giving another result.
TEST(Algorithms, RefuseOperationsThatTheyWouldReorder) {
  Environment forced("COLL_ALLREDUCE", "movement_avoiding");
  run_processes(4, [](Context& c) {
    coll_comm* comm = c.comm();
    coll_op op;
    RANK_CHECK(c, coll_op_create(compose, 0, nullptr, &op) == COLL_OK);
    Affine send[100]{}, recv[100];
    RANK_CHECK(c, coll_allreduce(send, recv, 100, COLL_TYPE_BYTES(8), op, comm) == COLL_ERR_UNAVAILABLE);
    RANK_CHECK(c, strstr(coll_last_error(), "movement_avoiding") != nullptr);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// So is one whose ranks would have to know the lengths of other ranks' blocks.
TEST(Algorithms, RefuseBlocksOfDifferentLengths) {
  Environment forced("COLL_SCATTER", "hierarchical");
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    const size_t counts[] = {1, 2};
    int send[3] = {}, recv[2];
    RANK_CHECK(c,
               coll_scatterv(send, counts, nullptr, recv, counts[c.rank], COLL_INT, 0, comm) == COLL_ERR_UNAVAILABLE);
    RANK_CHECK(c, strstr(coll_last_error(), "hierarchical") != nullptr);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

}  // namespace
