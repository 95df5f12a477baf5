// SPDX-License-Identifier: BSD-3-Clause
// Collectives of blocks and scans with the algorithms that the library selects: every transport, size, root and form,
// on the whole communicator and on parts of it.
#include "comm/piece_calls.h"

#include <algorithm>
#include <tuple>

#include "../seed.h"

using namespace ranks;

namespace {

class Pieces : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(Pieces, ArriveAtTheirPlaces) {
  auto [transport, ranks] = GetParam();
  Environment forced("COLL_TRANSPORT", transport);
  run_processes(ranks, [](Context& c) {
    coll_comm* comm = c.comm();
    if (comm == nullptr) return;
    all_forms(c, comm, {0, 1, 3, 100, 255, 300, 2047, 2049, 20000}, false);
    if (!c.failed()) all_forms(c, comm, {3, 2049, 70000}, true);
    if (c.failed()) return;
    for (Collective what : {Collective::reduce_scatter, Collective::scan, Collective::exscan})
      for (size_t n : {size_t(1), size_t(20), size_t(5000)}) RANK_CHECK(c, try_order(c, comm, what, n) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// Starts many at once and waits in another order on every rank; then starts persistent ones again with new data.
TEST_P(Pieces, ArriveByRequestsToo) {
  auto [transport, ranks] = GetParam();
  Environment forced("COLL_TRANSPORT", transport);
  run_processes(ranks, [](Context& c) {
    coll_comm* comm = c.comm();
    if (comm == nullptr) return;
    struct Flying {
      std::unique_ptr<PieceTrial> trial;
      coll_request* request = nullptr;
    };
    for (Form form : {Form::nonblocking, Form::persistent}) {
      std::vector<Flying> all;
      uint32_t round = 0;
      for (size_t n : thinned({0, 5, 3000, 40000}, c.ranks))
        for (Collective what : collectives_of_pieces())
          for (bool irregular : {false, true}) {
            PieceCall call{what, irregular, n, int(++round) % c.ranks, round % 2 == 0, round};
            if (irregular && !call.has_v()) continue;
            all.push_back({std::make_unique<PieceTrial>(c, call, n == 3000)});
            all.back().trial->fill();
            RANK_CHECK(c, all.back().trial->run(comm, form, &all.back().request) == COLL_OK);
            if (c.failed()) return;
          }
      std::vector<size_t> order(all.size());
      for (size_t i = 0; i < order.size(); i++) order[i] = i;
      std::shuffle(order.begin(), order.end(), std::mt19937_64(coll::test::seed() + uint64_t(c.rank)));
      for (int again = 0; again < (form == Form::persistent ? (thins() ? 2 : 5) : 1); again++) {
        if (form == Form::persistent)
          for (Flying& one : all) {
            one.trial->renew(uint32_t(again) * 1000 + 7);
            one.trial->fill();
            RANK_CHECK(c, coll_start(one.request) == COLL_OK);
          }
        for (size_t i : order) {
          RANK_CHECK(c, coll_wait(&all[i].request) == COLL_OK);
          all[i].trial->right();
          if (c.failed()) return;
        }
      }
      for (Flying& one : all) RANK_CHECK(c, coll_request_free(one.request) == COLL_OK);
    }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, Pieces,
                         testing::Combine(testing::ValuesIn(transports({"auto", "shm", "cma", "mapped"})),
                                          testing::Values(1, 2, 3, 4, 5, 8)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + std::to_string(std::get<1>(info.param));
                         });

TEST(Pieces, ArriveInPartsOfACommunicator) {
  run_processes(5, [](Context& c) {
    coll_comm *comm = c.comm(), *part = nullptr;
    if (comm == nullptr) return;
    RANK_CHECK(c, coll_comm_split(comm, c.rank % 2, -c.rank, &part) == COLL_OK);
    Context own = c;
    own.rank = coll_comm_rank(part);
    own.ranks = coll_comm_size(part);
    all_forms(own, part, {3, 3000}, false);
    if (own.failed()) return c.fail(own.shared->failure[own.rank]);
    RANK_CHECK(c, coll_comm_free(part) == COLL_OK && coll_comm_free(comm) == COLL_OK);
  });
}

// Lengths change from call to call: the plan of one call must not serve the next.
TEST(Pieces, MayHaveOtherLengthsInEveryCall) {
  run_processes(3, [](Context& c) {
    coll_comm* comm = c.comm();
    if (comm == nullptr) return;
    std::vector<uint32_t> in(30000), out(30000);
    for (size_t i = 0; i < in.size(); i++) in[i] = input(c.rank, i, 0);
    std::mt19937_64 same(coll::test::seed());
    for (int round = 0; round < 300 && !c.failed(); round++) {
      size_t counts[3];
      for (size_t& count : counts) count = same() % 5 == 0 ? 0 : same() % (round % 2 == 0 ? 9000 : 30);
      RANK_CHECK(c,
                 coll_allgatherv(in.data(), counts[c.rank], out.data(), counts, nullptr, COLL_UINT32, comm) == COLL_OK);
      size_t at = 0;
      for (int r = 0; r < 3; r++)
        for (size_t i = 0; i < counts[r]; i++)
          if (out[at++] != input(r, i, 0))
            return c.fail("round " + std::to_string(round) + ": wrong from rank " + std::to_string(r));
    }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

}  // namespace
