// SPDX-License-Identifier: BSD-3-Clause
// What communicators cost as ranks grow in number: time, memory and descriptors, beside as many processes without
// libcoll. Each job is a set of new processes (fork, exec), so that nothing of an earlier one is warm.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <pthread.h>

#include "plan/plan.h"
#include "tools/common/first_problem.h"

namespace coll::tools {

// What the processes of a job do between the barriers at their start and end.
enum class ScaleJob : int {
  bare,   // nothing
  calls,  // create, split and free communicators; call each collective
  load,   // create many communicators, each of which runs some collectives
};

inline constexpr int scale_communicators = 20;  // of the job `load`

// Of one process. Bytes.
struct Footprint {
  uint64_t address_space = 0, proportional = 0, page_tables = 0, descriptors = 0;
};

// What a process tells. Seconds; a negative time was not measured.
struct ScaleReport {
  double create = -1, split = -1, rows = -1, columns = -1, free = -1;
  Footprint before, created, used;  // before the first communicator; with it; at the end of the job, all in use
  uint64_t descriptors_of_second = 0;
  std::array<double, plan::collectives> first{}, later{};  // of 8 bytes; later: the median
};

// Lies in a memfd that the processes of a job inherit: one board, then a report for each rank.
struct ScaleBoard {
  pthread_barrier_t barrier;
  FirstProblem problem;
  ScaleReport reports[];
};

inline constexpr size_t board_bytes(int ranks) { return sizeof(ScaleBoard) + size_t(ranks) * sizeof(ScaleReport); }

// The whole life of a rank, as COLL_LAUNCH names it: its exit status.
int run_scale_rank(ScaleJob job, int descriptor);

}  // namespace coll::tools
