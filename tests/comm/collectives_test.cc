// SPDX-License-Identifier: BSD-3-Clause
// The collectives between real processes, over every transport.
#include <tuple>

#include "comm/collectives.h"

using namespace ranks;

namespace {

void everything(Context& c) {
  coll_comm* comm = c.comm();
  if (comm == nullptr) return;
  check_all(c, comm, sizes_bytes(), false);
  check_all(c, comm, {4096, 65536, 1 << 20}, true);
  check_non_commutative(c, comm, 3);
  check_non_commutative(c, comm, 5000);
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
}

class Collectives : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(Collectives, GiveTheResultsOfTheirDefinition) {
  auto [transport, ranks] = GetParam();
  Environment forced("COLL_TRANSPORT", transport);
  run_processes(ranks, everything);
}

// With every kind of store for data that others read.
class Staged : public testing::TestWithParam<const char*> {};

TEST_P(Staged, GiveTheResultsOfTheirDefinition) {
  Environment staging("COLL_STAGING", GetParam());
  for (const char* name : {"shm", "mapped"}) {
    Environment transport("COLL_TRANSPORT", name);
    for (int ranks : {2, 4}) run_processes(ranks, everything);
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, Staged, testing::Values("cached", "streamed"),
                         [](const auto& info) { return std::string(info.param); });

INSTANTIATE_TEST_SUITE_P(Transports, Collectives,
                         testing::Combine(testing::ValuesIn(transports({"auto", "shm", "cma", "mapped"})),
                                          testing::Values(1, 2, 3, 4, 5, 8)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + std::to_string(std::get<1>(info.param));
                         });

}  // namespace
