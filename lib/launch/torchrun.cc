// SPDX-License-Identifier: BSD-3-Clause
// torchrun and other launchers that set the variables of PyTorch's init_method='env://'.
//
// RANK and WORLD_SIZE are common names. They are used only together with a name of the job: the port of rank 0's store,
// or the run id of torchrun.
#include "launch/job_rank.h"
#include "launch/variables.h"

namespace coll::launch {

namespace {

bool find_worker(JobRank& job_rank) {
  const std::string run = text_of("TORCHELASTIC_RUN_ID"), port = text_of("MASTER_PORT");
  if ((run.empty() && port.empty()) || !read_rank("RANK", "WORLD_SIZE", job_rank)) return false;
  job_rank.launcher = run.empty() ? "the launcher that sets MASTER_PORT" : "torchrun";
  // torchrun restarts all workers after a failure, so the name contains the number of restarts.
  job_rank.job =
      "torch/" + run + "/" + text_of("TORCHELASTIC_RESTART_COUNT") + "/" + text_of("MASTER_ADDR") + ":" + port;
  const int here = number_of("LOCAL_WORLD_SIZE").value_or(job_rank.ranks);
  if (here < job_rank.ranks) note_several_nodes(job_rank, here);
  return true;
}

}  // namespace

const Launcher torchrun{{"RANK", "MASTER_PORT"}, find_worker, nullptr};

}  // namespace coll::launch
