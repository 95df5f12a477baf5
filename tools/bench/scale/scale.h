// SPDX-License-Identifier: BSD-3-Clause
// The costs of communicators as the number of ranks grows: time, memory and descriptors, compared with as many
// processes without libcoll. Each job starts new processes (fork, exec), so that it does not profit from an earlier
// one.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <pthread.h>

#include "plan/plan.h"
#include "tools/common/first_problem.h"

namespace coll::tools {

// The work of the processes of a job between the barriers at their start and end.
enum class ScaleJob : int {
  bare,   // nothing
  calls,  // create, split and free communicators; call each collective
  load,   // create many communicators, each of which runs some collectives
};

inline constexpr int scale_communicators = 20;  // in the job `load`

// Memory of one process in bytes.
struct Footprint {
  uint64_t address_space = 0, proportional = 0, page_tables = 0, descriptors = 0;
};

// The report of one process. Times are in seconds; a negative one was not measured.
struct ScaleReport {
  double create = -1, split = -1, rows = -1, columns = -1, free = -1;
  Footprint before, created, used;  // before the first communicator; with it; at the end of the job
  uint64_t descriptors_of_second = 0;
  std::array<double, plan::collectives> first{}, later{};  // of 8 bytes; later: the median
};

// In a memfd that the processes of a job inherit: one board, then a report for each rank.
struct ScaleBoard {
  pthread_barrier_t barrier;
  FirstProblem problem;
  ScaleReport reports[];
};

inline constexpr size_t board_bytes(int ranks) { return sizeof(ScaleBoard) + size_t(ranks) * sizeof(ScaleReport); }

// Runs the rank that COLL_LAUNCH names and returns its exit status.
int run_scale_rank(ScaleJob job, int descriptor);

}  // namespace coll::tools
