// SPDX-License-Identifier: BSD-3-Clause
// Flux: reads the variables that its shell sets for the tasks of a job.
#include "launch/job_rank.h"
#include "launch/variables.h"

namespace coll::launch {

namespace {

bool find_task(JobRank& job_rank) {
  const std::string job = text_of("FLUX_JOB_ID");
  if (job.empty() || !read_rank("FLUX_TASK_RANK", "FLUX_JOB_SIZE", job_rank)) return false;
  job_rank.launcher = "flux run";
  // Nested instances of Flux use the same job numbers, so the name contains the URI of the instance.
  job_rank.job = "flux/" + text_of("FLUX_URI") + "/" + job;
  if (number_of("FLUX_JOB_NNODES").value_or(1) > 1 && job_rank.ranks > 1) note_several_nodes(job_rank, 0);
  return true;
}

}  // namespace

const Launcher flux{{"FLUX_TASK_RANK", "FLUX_JOB_ID"}, find_task, nullptr};

}  // namespace coll::launch
