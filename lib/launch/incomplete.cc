// SPDX-License-Identifier: BSD-3-Clause
// Detects environments that contain a rank, but not the number of ranks or no way to find the other ranks. An error that
// names the wrong or missing variable is better than several communicators of one rank.
#include "launch/job_rank.h"
#include "launch/variables.h"

namespace coll::launch {

namespace {

struct Trace {
  const char *launcher, *rank_variable, *size_variable;
  const char* missing;  // the missing variable; null: libcoll does not support this launcher
  // Whether other programs than launchers set the variable of the rank: sbatch sets SLURM_PROCID for batch scripts.
  bool is_common = false;
};
constexpr Trace traces[] = {
    {"mpirun of Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE and PMIX_RANK are"},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_JOB_ID or SLURM_STEP_ID is", true},
    {"flux run", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_JOB_ID is"},
    {"mpirun of MVAPICH2", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", nullptr},
    {"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", nullptr},
    {"a launcher with PMI", "PMI_RANK", "PMI_SIZE", "PMI_FD is"},
    {"a launcher with PMI", "PMI_ID", "PMI_SIZE", nullptr},
    {"a launcher of PyTorch", "RANK", "WORLD_SIZE", "MASTER_PORT is", true},
};

// `mpiexec -pmi-port` of MPICH sets the rank and a port of the launcher, and no number of ranks.
bool find_port_of_pmi(JobRank& job_rank) {
  if (!number_of("PMI_ID") || text_of("PMI_PORT").empty()) return false;
  job_rank.launcher = "mpiexec (PMI)";
  job_rank.problem = "PMI_PORT and PMI_ID say that this is rank " + text_of("PMI_ID") +
                     ", but not how many ranks there are; start them without -pmi-port, or " + explicit_hint;
  return true;
}

// Whether the two variables contradict each other, or the number of ranks is missing.
bool is_contradictory(const Trace& trace) {
  if (trace.is_common) return number_of(trace.rank_variable) && number_of(trace.size_variable).value_or(0) > 1;
  return !text_of(trace.rank_variable).empty();
}

bool find_contradiction(JobRank& job_rank) {
  for (const Trace& trace : traces) {
    JobRank unused;
    if (read_rank(trace.rank_variable, trace.size_variable, unused) || !is_contradictory(trace)) continue;
    const std::string ranks = text_of(trace.size_variable);
    job_rank.launcher = trace.launcher;
    job_rank.problem = std::string(trace.rank_variable) + "='" + text_of(trace.rank_variable) + "' and " +
                       trace.size_variable + (ranks.empty() ? ", which is not set," : "='" + ranks + "'") +
                       " are no rank and number of ranks; unset both to run the program alone, or " + explicit_hint;
    return true;
  }
  return false;
}

// A rank that is no number, such as PMIx's PMIX_RANK_UNDEF, 4294967295, belongs to no process of a job.
bool find_wrong_rank_of_pmix(JobRank& job_rank) {
  const std::string rank = text_of("PMIX_RANK");
  if (rank.empty() || number_of("PMIX_RANK")) return false;
  job_rank.launcher = "a launcher with PMIx";
  job_rank.problem = "PMIX_RANK='" + rank + "' is no rank; unset it to run the program alone, or " + explicit_hint;
  return true;
}

// One of the two variables that every launcher with PMIx sets together.
bool find_half_of_pmix(JobRank& job_rank) {
  const bool has_rank = !text_of("PMIX_RANK").empty(), has_name = !text_of("PMIX_NAMESPACE").empty();
  if (has_rank == has_name) return false;
  job_rank.launcher = "a launcher with PMIx";
  job_rank.problem = std::string("PMIX_NAMESPACE and PMIX_RANK belong together, and ") +
                     (has_rank ? "PMIX_NAMESPACE" : "PMIX_RANK") +
                     " is not set; unset the other one to run the program alone, or " + explicit_hint;
  return true;
}

bool find_trace(JobRank& job_rank) {
  if (find_wrong_rank_of_pmix(job_rank)) return true;
  for (const Trace& trace : traces) {
    if (!read_rank(trace.rank_variable, trace.size_variable, job_rank) || job_rank.ranks == 1) continue;
    job_rank.launcher = trace.launcher;
    job_rank.problem =
        std::string(trace.rank_variable) + " and " + trace.size_variable + " say that this is rank " +
        std::to_string(job_rank.rank) + " of " + std::to_string(job_rank.ranks) +
        (trace.missing != nullptr ? ", but " + std::string(trace.missing) + " not set: "
                                  : " of " + job_rank.launcher + ", which does not say ") +
        (trace.missing != nullptr ? "the ranks cannot find each other; " : "how ranks find each other; ") +
        explicit_hint;
    return true;
  }
  return find_port_of_pmi(job_rank) || find_contradiction(job_rank) || find_half_of_pmix(job_rank);
}

}  // namespace

const Launcher incomplete{{}, find_trace, nullptr};

}  // namespace coll::launch
