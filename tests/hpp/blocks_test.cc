// SPDX-License-Identifier: BSD-3-Clause
// Collectives of blocks and scans: blocking, non-blocking, persistent; sizes that do not fit are reported.
#include <array>

#include "hpp/ranks_of.h"

namespace {

using ranks::Context;

// Value of the block from rank `from` for rank `to`.
int item(int from, int to, size_t i) { return from * 10000 + to * 100 + int(i); }

TEST(Blocks, GoWhereTheyBelong) {
  ranks::run(3, [](Context& context, coll::Communicator& comm) {
    const int me = comm.rank(), p = comm.size();
    const size_t n = 5;
    std::vector<int> all(n * size_t(p)), got(all.size()), own(n), part(n);
    for (int r = 0; r < p; r++)
      for (size_t i = 0; i < n; i++) all[size_t(r) * n + i] = item(me, r, i);
    for (size_t i = 0; i < n; i++) own[i] = item(me, 0, i);

    comm.scatter(all, part, 1);
    RANK_CHECK(context, part[4] == item(1, me, 4));
    if (me == 2) comm.scatter(all, coll::in_place, 2);
    else comm.scatter(std::span<const int>(), part, 2);
    RANK_CHECK(context, me == 2 || part[3] == item(2, me, 3));
    comm.gather(own, got, 0);
    for (int r = 0; r < p && me == 0; r++) RANK_CHECK(context, got[size_t(r) * n + 2] == item(r, 0, 2));
    got.assign(got.size(), 0);
    comm.iallgather(own, got).wait();
    for (int r = 0; r < p; r++) RANK_CHECK(context, got[size_t(r) * n + 1] == item(r, 0, 1));
    coll::Request again = comm.alltoall_init(all, got);
    for (int round = 0; round < 3; round++) {
      got.assign(got.size(), 0);
      again.start();
      again.wait();
      for (int r = 0; r < p; r++) RANK_CHECK(context, got[size_t(r) * n] == item(r, me, 0));
    }
  });
}

TEST(Blocks, MayHaveTheirOwnLengthsAndPlaces) {
  ranks::run(3, [](Context& context, coll::Communicator& comm) {
    const int me = comm.rank();
    const std::array<size_t, 3> counts{2, 0, 3}, displs{4, 0, 1};
    std::vector<int> own(counts[size_t(me)]), got(6, -1);
    for (size_t i = 0; i < own.size(); i++) own[i] = item(me, 0, i);
    comm.allgatherv(own, got, {counts, displs});
    RANK_CHECK(context, got == (std::vector<int>{-1, item(2, 0, 0), item(2, 0, 1), item(2, 0, 2), item(0, 0, 0),
                                                 item(0, 0, 1)}));
    got.assign(5, -1);
    comm.igatherv(own, got, me == 1 ? coll::Blocks{counts, {}} : coll::Blocks{}, 1).wait();
    RANK_CHECK(context, me != 1 || got == (std::vector<int>{item(0, 0, 0), item(0, 0, 1), item(2, 0, 0), item(2, 0, 1),
                                                            item(2, 0, 2)}));
    std::vector<int> back(own.size());
    comm.scatterv(got, {counts, {}}, back, 1);
    RANK_CHECK(context, back == own);
    const std::vector<size_t> ones(3, 1);
    std::vector<int> letters{item(me, 0, 0), item(me, 1, 0), item(me, 2, 0)};
    comm.alltoallv(coll::in_place, {}, letters, {ones, {}});
    RANK_CHECK(context, letters == (std::vector<int>{item(0, me, 0), item(1, me, 0), item(2, me, 0)}));
  });
}

TEST(Blocks, AreReduced) {
  ranks::run(3, [](Context& context, coll::Communicator& comm) {
    const int me = comm.rank();
    const std::vector<int> in{1 + me, 10 + me, 100 + me, 1000 + me, 10000 + me, 100000 + me};
    std::vector<int> two(2), uneven, sums(6), before(6, -7);
    comm.reduce_scatter_block(in, two, coll::sum);
    RANK_CHECK(context, two[0] == 3 * in[size_t(2 * me)] - 3 * me + 3);
    const std::array<size_t, 3> counts{4, 1, 1};
    uneven.resize(counts[size_t(me)]);
    comm.reduce_scatter(in, uneven, counts, coll::max);
    RANK_CHECK(context, uneven[0] == (me == 0 ? 3 : me == 1 ? 10002 : 100002));
    comm.scan(in, sums, coll::sum);
    RANK_CHECK(context, sums[1] == 10 * (me + 1) + me * (me + 1) / 2);
    // The operation appends digits: it is not commutative.
    const coll::Op<int> append([](const int& a, const int& b) { return a * 10 + b; });
    std::vector<int> digit{me + 1}, number{0};
    comm.iexscan(digit, number, append).wait();
    RANK_CHECK(context, number[0] == (me == 0 ? 0 : me == 1 ? 1 : 12));
  });
}

// Rank r sends one message to the next rank, and two to itself, of different types.
TEST(Neighbors, ExchangeVectors) {
  ranks::run(3, [](Context& context, coll::Communicator& comm) {
    const int me = comm.rank(), above = (me + 1) % 3, below = (me + 2) % 3;
    const std::vector<int> up{item(me, above, 0), item(me, above, 1)};
    const std::array<double, 1> first{1.5 * me}, second{2.5 * me};
    const std::array sends{coll::outgoing(above, up), coll::outgoing(me, first), coll::outgoing(me, second)};
    std::vector<int> from_below(2);
    std::array<double, 1> one{}, two{};
    const std::array receives{coll::incoming(me, one), coll::incoming(below, from_below), coll::incoming(me, two)};
    const auto right = [&] {
      const bool all =
          from_below == std::vector<int>{item(below, me, 0), item(below, me, 1)} && one == first && two == second;
      from_below = {0, 0}, one = two = {-1.0};
      return all;
    };
    comm.neighbor_exchange(sends, receives);
    RANK_CHECK(context, right());
    comm.ineighbor_exchange(sends, receives).wait();
    RANK_CHECK(context, right());
    coll::Request again = comm.neighbor_exchange_init(sends, receives);
    for (int round = 0; round < 2; round++) {
      again.start();
      again.wait();
      RANK_CHECK(context, right());
    }
    comm.neighbor_exchange({}, {});
    std::vector<int> short_one(1);
    const std::array too_short{coll::incoming(below, short_one)};
    const std::array only_up{coll::outgoing(above, up)};
    try {
      comm.neighbor_exchange(only_up, too_short);
      RANK_CHECK(context, false);
    } catch (const coll::Error& error) { RANK_CHECK(context, error.status() == COLL_ERR_TRUNCATE); }
  });
}

TEST(Blocks, ThatDoNotFitAreRefusedBeforeDataMoves) {
  ranks::run(2, [](Context& context, coll::Communicator& comm) {
    std::vector<int> three(3), four(4), two(2);
    const std::array<size_t, 1> one_count{2};
    const auto refused = [&](auto call) {
      try {
        call();
      } catch (const coll::Error& error) { return error.status() == COLL_ERR_COUNT || error.status() == COLL_ERR_ARG; }
      return false;
    };
    RANK_CHECK(context, refused([&] { comm.allgather(two, three); }));
    RANK_CHECK(context, refused([&] { comm.allgather(three, four); }));
    RANK_CHECK(context, refused([&] { comm.alltoall(two, four); }));
    RANK_CHECK(context, refused([&] { comm.reduce_scatter_block(three, two, coll::sum); }));
    RANK_CHECK(context, refused([&] { comm.allgatherv(two, four, {one_count, {}}); }));
    comm.allgather(two, four);
  });
}

}  // namespace
