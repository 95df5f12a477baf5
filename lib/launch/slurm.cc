// SPDX-License-Identifier: BSD-3-Clause
// Slurm: reads the variables that srun sets for the tasks of a step. They suffice for every --mpi=TYPE.
//
// sbatch and salloc set SLURM_NTASKS and others for plain programs, too; only steps have SLURM_STEP_NUM_TASKS. The
// steps in which Slurm runs batch scripts and interactive shells have special numbers and contain no ranks.
#include <charconv>

#include "launch/job_rank.h"
#include "launch/variables.h"

namespace coll::launch {

namespace {

constexpr unsigned first_special_step = 0xfffffff0;  // above SLURM_MAX_NORMAL_STEP_ID

bool is_step(const std::string& text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number < first_special_step;
}

bool find_step(JobRank& job_rank) {
  const std::string step = text_of("SLURM_STEP_ID"), job = text_of("SLURM_JOB_ID");
  if (!is_step(step) || job.empty() || !read_rank("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", job_rank)) return false;
  job_rank.launcher = "srun";
  job_rank.job = "slurm/" + text_of("SLURM_CLUSTER_NAME") + "/" + job + "." + step;
  if (number_of("SLURM_HET_SIZE").value_or(1) > 1) {
    job_rank.problem = "the step is one of a heterogeneous job (SLURM_HET_SIZE=" + text_of("SLURM_HET_SIZE") +
                       "), whose parts libcoll does not join; start all ranks as one step without ':', or " +
                       explicit_hint;
  } else if (number_of("SLURM_STEP_NUM_NODES").value_or(1) > 1 && job_rank.ranks > 1) {
    note_several_nodes(job_rank, 0);
  }
  return true;
}

}  // namespace

const Launcher slurm{{"SLURM_PROCID", "SLURM_STEP_ID"}, find_step, nullptr};

}  // namespace coll::launch
