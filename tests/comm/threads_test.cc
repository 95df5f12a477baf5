// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are threads of one process, which the thread sanitizer can follow.
#include <tuple>

#include "comm/piece_calls.h"
#include "comm/requests.h"

using namespace ranks;

namespace {

class Threads : public testing::TestWithParam<std::tuple<const char*, int>> {};

const std::vector<size_t>& sizes() {
  static const std::vector<size_t> some{4, 56, 120, 1024, 1028, 16384, 40000, 200004};
  return some;
}

TEST_P(Threads, Collectives) {
  auto [transport, ranks] = GetParam();
  Environment forced("COLL_TRANSPORT", transport);
  run_threads(ranks, [](Context& c) {
    coll_comm* comm = c.comm();
    if (comm == nullptr) return;
    check_all(c, comm, sizes(), false);
    check_all(c, comm, {65536}, true);
    check_non_commutative(c, comm, 5000);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}
TEST_P(Threads, Pieces) {
  auto [transport, ranks] = GetParam();
  Environment forced("COLL_TRANSPORT", transport);
  run_threads(ranks, [](Context& c) {
    coll_comm* comm = c.comm();
    if (comm == nullptr) return;
    all_forms(c, comm, {3, 300, 3000}, false);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}
TEST_P(Threads, Requests) {
  auto [transport, ranks] = GetParam();
  Environment forced("COLL_TRANSPORT", transport);
  uint64_t seed = coll::test::seed();
  run_threads(ranks, [&](Context& c) { many_outstanding(c, seed, 3); });
  run_threads(ranks, [](Context& c) { persistent(c, 6); });
}
TEST_P(Threads, RequestsOfTwoThreadsPerRank) {
  auto [transport, ranks] = GetParam();
  Environment forced("COLL_TRANSPORT", transport);
  run_threads(ranks, [](Context& c) { waited_by_two_threads(c, 2); });
  run_threads(ranks, [](Context& c) { started_by_two_threads(c, 20); });
}
TEST_P(Threads, Splits) {
  auto [transport, ranks] = GetParam();
  Environment forced("COLL_TRANSPORT", transport);
  run_threads(ranks, [](Context& c) {
    coll_comm* world = c.comm();
    for (int round = 0; round < 5; round++) {
      coll_comm* part = nullptr;
      RANK_CHECK(c, coll_comm_split(world, c.rank % 2, -c.rank, &part) == COLL_OK);
      uint32_t one = 1, sum = 0;
      RANK_CHECK(c, coll_allreduce(&one, &sum, 1, COLL_UINT32, COLL_SUM, part) == COLL_OK);
      RANK_CHECK(c, int(sum) == coll_comm_size(part));
      RANK_CHECK(c, coll_comm_free(part) == COLL_OK);
    }
    RANK_CHECK(c, coll_comm_free(world) == COLL_OK);
  });
}
INSTANTIATE_TEST_SUITE_P(All, Threads, testing::Combine(testing::Values("auto", "shm"), testing::Values(2, 3, 4)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + std::to_string(std::get<1>(info.param));
                         });

// Communicators of one process are independent: a thread of its own drives each.
TEST(Threads, CommunicatorsAreIndependent) {
  run_threads(2, [](Context& c) {
    coll_comm *first = c.comm(), *second = nullptr;
    RANK_CHECK(c, coll_comm_split(first, 0, c.rank, &second) == COLL_OK);
    auto drive = [](coll_comm* comm, uint32_t value) {
      for (uint32_t i = 0; i < 200; i++) {
        uint32_t mine = value + i, sum = 0;
        if (coll_allreduce(&mine, &sum, 1, COLL_UINT32, COLL_SUM, comm) != COLL_OK || sum != 2 * mine) return false;
      }
      return true;
    };
    bool other_right = false;
    std::thread other([&] { other_right = drive(second, 1000); });
    RANK_CHECK(c, drive(first, 5));
    other.join();
    RANK_CHECK(c, other_right);
    RANK_CHECK(c, coll_comm_free(first) == COLL_OK && coll_comm_free(second) == COLL_OK);
  });
}

}  // namespace
