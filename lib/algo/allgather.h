// SPDX-License-Identifier: BSD-3-Clause
// The generators of allgather, regular and irregular.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "algo/registry.h"

namespace coll::algo {

// Every piece goes directly from its source to its final place (allgather_source.cc).
plan::Plan source_read(const PlanRequest& request, const char* name);
plan::Plan ring_source_write(const PlanRequest& request);
plan::Plan shm_pipelined_allgather(const PlanRequest& request);

// All ranks write to rank 0 and read from there (allgather_root.cc).
plan::Plan gather_bcast(const PlanRequest& request);

// Pieces travel from rank to rank (relay.cc). A rank reads pieces from the receive buffer of a peer that has them, one
// fetch of the schedule after the other, and then offers them to other ranks.
struct Fetch {
  int from = 0;
  int stage = 0;            // the stage that `from` must have reached; 0: it has its own piece
  std::vector<int> pieces;  // by sender
  int reaches = 0;          // the stage of this rank after the fetch; 0: a stage that no rank waits for
};
struct Schedule {
  int stages = 1;  // stage numbers are below this one
  std::function<std::vector<Fetch>(int rank)> fetches;
  std::function<std::vector<int>(int rank)> readers;  // the ranks that fetch from this one, each listed once
  std::vector<std::pair<const char*, int>> parameters;
};
plan::Plan relay(const PlanRequest& request, const char* name, const Schedule& schedule);

}  // namespace coll::algo
