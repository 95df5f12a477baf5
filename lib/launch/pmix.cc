// SPDX-License-Identifier: BSD-3-Clause
// PMIx: Open MPI and PRRTE. Namespace and rank are variables. The number of ranks is a variable of Open MPI; without
// it, e.g. under prterun, libpmix returns the number.
#include "launch/innermost.h"
#include "launch/pmix_library.h"
#include "launch/variables.h"

namespace coll::launch {

namespace {

// Whether Open MPI's variables belong to this job, and were not inherited from the environment of its launcher.
bool open_mpi_started(const JobRank& job_rank) {
  if (number_of("OMPI_COMM_WORLD_RANK") != job_rank.rank || !number_of("OMPI_COMM_WORLD_SIZE")) return false;
  return innermost({settings_of({"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}),
                    settings_of({"PMIX_NAMESPACE", "PMIX_RANK"})})
             .value_or(0) == 0;
}

bool find_process(JobRank& job_rank) {
  const std::string name = text_of("PMIX_NAMESPACE");
  const std::optional<int> rank = number_of("PMIX_RANK");
  if (name.empty() || !rank) return false;
  job_rank.launcher = "a launcher with PMIx";
  job_rank.rank = *rank;
  job_rank.ranks = 0;  // set by ask_for_sizes()
  // Two containers may use the same namespace, so the name contains the address of the server as well.
  job_rank.job = "pmix/" + name + "/" + text_of("PMIX_SERVER_URI2") + text_of("PMIX_SERVER_URI21");
  job_rank.id = job_rank.job + "/" + std::to_string(*rank);
  if (!open_mpi_started(job_rank)) return true;
  job_rank.launcher = "mpirun of Open MPI";
  read_rank("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", job_rank);
  const int here = number_of("OMPI_COMM_WORLD_LOCAL_SIZE").value_or(job_rank.ranks);
  if (here < job_rank.ranks) note_several_nodes(job_rank, here);
  return true;
}

void ask_for_sizes(JobRank& job_rank) {
  if (job_rank.ranks > 0) return;
  const std::string name = text_of("PMIX_NAMESPACE");
  const PmixJob& job = pmix_job(name);
  if (job.problem.empty() && job.ranks > uint32_t(job_rank.rank) && job.ranks < 1u << 31) {
    job_rank.ranks = int(job.ranks);
    if (job.ranks_here < job.ranks) note_several_nodes(job_rank, int(job.ranks_here));
    return;
  }
  job_rank.problem = "PMIX_RANK says that this is rank " + std::to_string(job_rank.rank) + " of a job, but " +
                     (job.problem.empty() ? "libpmix gives " + std::to_string(job.ranks) + " as the number of its ranks"
                                          : "libpmix does not give the number of its ranks: " + job.problem) +
                     "; install libpmix (Debian: libpmix2) where the ranks run, or " + explicit_hint;
}

}  // namespace

const Launcher pmix{{"PMIX_NAMESPACE", "PMIX_RANK"}, find_process, ask_for_sizes};

}  // namespace coll::launch
