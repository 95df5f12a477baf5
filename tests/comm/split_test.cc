// SPDX-License-Identifier: BSD-3-Clause
// Splits, creates and frees communicators without leaking memory.
#include <dirent.h>
#include <fstream>

#include "address_space.h"
#include "comm/collectives.h"

using namespace ranks;

namespace {

uint32_t sum_of_ranks(Context& c, coll_comm* comm, uint32_t mine) {
  uint32_t sum = 0;
  RANK_CHECK(c, coll_allreduce(&mine, &sum, 1, COLL_UINT32, COLL_SUM, comm) == COLL_OK);
  return sum;
}

TEST(Split, GroupsByColourAndOrdersByKey) {
  run_processes(6, [](Context& c) {
    coll_comm *world = c.comm(), *part = nullptr;
    // Even and odd ranks; the highest rank first.
    RANK_CHECK(c, coll_comm_split(world, c.rank % 2, -c.rank, &part) == COLL_OK);
    RANK_CHECK(c, coll_comm_size(part) == 3);
    RANK_CHECK(c, coll_comm_rank(part) == 2 - c.rank / 2);
    RANK_CHECK(c, sum_of_ranks(c, part, uint32_t(c.rank)) == (c.rank % 2 == 0 ? 6u : 9u));
    uint32_t value = uint32_t(c.rank);
    RANK_CHECK(c, coll_bcast(&value, 1, COLL_UINT32, 0, part) == COLL_OK);
    RANK_CHECK(c, value == (c.rank % 2 == 0 ? 4u : 5u));
    // The parent stays usable, and parts can be split again.
    RANK_CHECK(c, sum_of_ranks(c, world, 1) == 6);
    coll_comm* nested = nullptr;
    RANK_CHECK(c, coll_comm_split(part, coll_comm_rank(part) == 1 ? -5 : 3, 0, &nested) == COLL_OK);
    RANK_CHECK(c, (nested == nullptr) == (coll_comm_rank(part) == 1));
    if (nested != nullptr) RANK_CHECK(c, coll_comm_size(nested) == 2 && sum_of_ranks(c, nested, 7) == 14);
    RANK_CHECK(c, coll_comm_free(world) == COLL_OK);  // freed before its parts
    RANK_CHECK(c, sum_of_ranks(c, part, 1) == 3);
    if (nested != nullptr) RANK_CHECK(c, sum_of_ranks(c, nested, 1) == 2);
    RANK_CHECK(c, coll_comm_free(part) == COLL_OK && coll_comm_free(nested) == COLL_OK);
  });
}

TEST(Split, NegativeColoursTakeNoPart) {
  run_processes(3, [](Context& c) {
    coll_comm *world = c.comm(), *part = nullptr;
    RANK_CHECK(c, coll_comm_split(world, -1, 0, &part) == COLL_OK && part == nullptr);
    RANK_CHECK(c, coll_comm_split(world, c.rank == 1 ? 0 : -1, 0, &part) == COLL_OK);
    RANK_CHECK(c, (part != nullptr) == (c.rank == 1));
    if (part != nullptr) RANK_CHECK(c, coll_comm_size(part) == 1 && sum_of_ranks(c, part, 3) == 3);
    RANK_CHECK(c, coll_comm_free(part) == COLL_OK && coll_comm_free(world) == COLL_OK);
  });
}

// If a part cannot be created, all its ranks fail; the other parts are not affected.
TEST(Split, APartThatFailsFailsAlone) {
  run_processes(4, [](Context& c) {
    coll_comm *world = c.comm(), *part = nullptr;
    if (c.rank == 2) setenv("COLL_TRANSPORT", "pigeon", 1);
    coll_status status = coll_comm_split(world, c.rank / 2, 0, &part);
    if (c.rank < 2) {
      RANK_CHECK(c, status == COLL_OK && part != nullptr);
      RANK_CHECK(c, sum_of_ranks(c, part, 5) == 10);
    } else {
      RANK_CHECK(c, status == COLL_ERR_UNAVAILABLE && part == nullptr);
      RANK_CHECK(c, strstr(coll_last_error(), "pigeon") != nullptr);
    }
    unsetenv("COLL_TRANSPORT");
    RANK_CHECK(c, sum_of_ranks(c, world, 1) == 4);
    RANK_CHECK(c, coll_comm_free(part) == COLL_OK && coll_comm_free(world) == COLL_OK);
  });
}

int open_descriptors() {
  int count = 0;
  DIR* directory = opendir("/proc/self/fd");
  while (readdir(directory) != nullptr) count++;
  closedir(directory);
  return count;
}
// All mappings of communicators' shared memory.
size_t segment_mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:libcoll") != std::string::npos;
  return count;
}

TEST(Communicators, LeaveNothingBehind) {
  run_processes(3, [](Context& c) {
    coll_comm* world = c.comm();
    std::vector<uint32_t> data(100'000, 1), result(data.size());
    const int descriptors = open_descriptors();
    const size_t mappings = segment_mappings();
    size_t bytes = 0;
    RANK_CHECK(c, mappings > 0);
    for (int round = 0; round < 60 && !c.failed(); round++) {
      coll_comm* copy = nullptr;
      RANK_CHECK(c, coll_comm_split(world, 0, round % 2 == 0 ? c.rank : -c.rank, &copy) == COLL_OK);
      RANK_CHECK(c, coll_allreduce(data.data(), result.data(), data.size(), COLL_UINT32, COLL_SUM, copy) == COLL_OK);
      RANK_CHECK(c, coll_comm_free(copy) == COLL_OK);
      RANK_CHECK(c, coll_barrier(world) == COLL_OK);
      if (round == 9) bytes = coll::test::address_space();
    }
    // The heap may grow a little.
    RANK_CHECK(c, coll::test::address_space() <= bytes + (size_t(16) << 20));
    RANK_CHECK(c, open_descriptors() == descriptors);
    RANK_CHECK(c, segment_mappings() == mappings);
    RANK_CHECK(c, coll_comm_free(world) == COLL_OK);
    RANK_CHECK(c, segment_mappings() == 0);  // no arena either: no rank has allocated memory that peers map
  });
}

TEST(Communicators, ManyLiveAtOnce) {
  run_processes(2, [](Context& c) {
    coll_comm* world = c.comm();
    std::vector<coll_comm*> all(40);
    for (coll_comm*& one : all) RANK_CHECK(c, coll_comm_split(world, 0, c.rank, &one) == COLL_OK);
    for (size_t i = 0; i < all.size() && !c.failed(); i++) RANK_CHECK(c, sum_of_ranks(c, all[i], uint32_t(i)) == 2 * i);
    for (coll_comm* one : all) RANK_CHECK(c, coll_comm_free(one) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(world) == COLL_OK);
  });
}

// Data that a fast rank has staged stays until a slow rank has read it, also if the fast one has freed its
// communicator, created others, or ended.
TEST(Communicators, MayBeFreedWhileASlowPeerReads) {
  for (bool ends : {false, true})
    for (size_t n : {size_t(1), size_t(200), size_t(20'000)})
      run_processes(3, [=](Context& c) {
        coll_comm *comm = c.comm(), *next = nullptr;
        std::vector<uint32_t> data(n, c.rank == 0 ? 42u : 0u);
        c.meet();
        if (c.rank == 2) usleep(100'000);
        RANK_CHECK(c, coll_bcast(data.data(), n, COLL_UINT32, 0, comm) == COLL_OK);
        RANK_CHECK(c, data == std::vector<uint32_t>(n, 42));
        RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
        if (ends) return;
        next = c.comm();
        RANK_CHECK(c, sum_of_ranks(c, next, 1) == 3);
        RANK_CHECK(c, coll_comm_free(next) == COLL_OK);
      });
}

}  // namespace
