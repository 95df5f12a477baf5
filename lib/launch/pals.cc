// SPDX-License-Identifier: BSD-3-Clause
// PALS, the launcher behind mpiexec and aprun on HPE Cray systems. PMI_SIZE of its PMI is the number of ranks.
#include "launch/job_rank.h"
#include "launch/variables.h"

namespace coll::launch {

namespace {

bool find_rank(JobRank& job_rank) {
  const std::string application = text_of("PALS_APID");
  if (application.empty() || text_of("PALS_RANKID").empty()) return false;
  job_rank.launcher = "mpiexec (PALS)";
  if (!read_rank("PALS_RANKID", "PMI_SIZE", job_rank)) {
    job_rank.problem = "PALS has started this process as rank " + text_of("PALS_RANKID") +
                       ", but PMI_SIZE, the number of ranks, is not set; " + explicit_hint;
    return true;
  }
  job_rank.job = "pals/" + application;
  int here = number_of("PALS_LOCAL_SIZE").value_or(0);
  if (here == 0) here = number_of("PMI_LOCAL_SIZE").value_or(0);
  if (here > 0 && here < job_rank.ranks) note_several_nodes(job_rank, here);
  return true;
}

}  // namespace

const Launcher pals{{"PALS_RANKID", "PALS_APID"}, find_rank, nullptr};

}  // namespace coll::launch
