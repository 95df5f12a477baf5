// SPDX-License-Identifier: BSD-3-Clause
// The generators of allgather, regular and irregular.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "algo/registry.h"

namespace coll::algo {

// Every piece goes straight to its last place (allgather_source.cc).
plan::Plan source_read(const Request& request, const char* name);
plan::Plan ring_source_write(const Request& request);
plan::Plan shm_pipelined_allgather(const Request& request);

// Everybody writes to rank 0 and reads from there (allgather_root.cc).
plan::Plan gather_bcast(const Request& request);

// Pieces travel from rank to rank (relay.cc). A rank takes pieces out of a peer's receive buffer, once that peer has
// them, in as many turns as the schedule says, and then has them for others.
struct Fetch {
  int from = 0;
  int stage = 0;            // that `from` must have reached; 0: it has its own piece
  std::vector<int> pieces;  // by sender
  int reaches = 0;          // the stage that the rank is in afterwards; 0: one that nobody waits for
};
struct Schedule {
  int stages = 1;  // stage numbers are below this
  std::function<std::vector<Fetch>(int rank)> fetches;
  std::function<std::vector<int>(int rank)> readers;  // the ranks that fetch from this one, each once
  std::vector<std::pair<const char*, int>> parameters;
};
plan::Plan relay(const Request& request, const char* name, const Schedule& schedule);

}  // namespace coll::algo
