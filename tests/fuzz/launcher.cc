// SPDX-License-Identifier: BSD-3-Clause
// The environment variables by which launchers describe a process.
#include <cstdint>
#include <cstdlib>

#include "environment.h"
#include "launch/innermost.h"
#include "launch/job_rank.h"

namespace {

using namespace coll::launch;

const char* const variables[] = {"COLL_LAUNCH",
                                 "COLL_RANK",
                                 "COLL_SIZE",
                                 "COLL_RENDEZVOUS",
                                 "FLUX_JOB_ID",
                                 "FLUX_JOB_NNODES",
                                 "FLUX_JOB_SIZE",
                                 "FLUX_TASK_RANK",
                                 "FLUX_URI",
                                 "HYDI_CONTROL_FD",
                                 "JSM_NAMESPACE_RANK",
                                 "JSM_NAMESPACE_SIZE",
                                 "LOCAL_WORLD_SIZE",
                                 "MASTER_ADDR",
                                 "MASTER_PORT",
                                 "MPI_LOCALNRANKS",
                                 "MV2_COMM_WORLD_RANK",
                                 "MV2_COMM_WORLD_SIZE",
                                 "OMPI_COMM_WORLD_LOCAL_SIZE",
                                 "OMPI_COMM_WORLD_RANK",
                                 "OMPI_COMM_WORLD_SIZE",
                                 "PALS_APID",
                                 "PALS_LOCAL_SIZE",
                                 "PALS_RANKID",
                                 "PMIX_NAMESPACE",
                                 "PMIX_RANK",
                                 "PMIX_SERVER_URI2",
                                 "PMIX_SERVER_URI21",
                                 "PMI_FD",
                                 "PMI_ID",
                                 "PMI_LOCAL_SIZE",
                                 "PMI_RANK",
                                 "PMI_SIZE",
                                 "RANK",
                                 "SLURM_CLUSTER_NAME",
                                 "SLURM_HET_SIZE",
                                 "SLURM_JOB_ID",
                                 "SLURM_PROCID",
                                 "SLURM_STEP_ID",
                                 "SLURM_STEP_NUM_NODES",
                                 "SLURM_STEP_NUM_TASKS",
                                 "TORCHELASTIC_RESTART_COUNT",
                                 "TORCHELASTIC_RUN_ID",
                                 "WORLD_SIZE"};

// An environment of several ranks must never give a communicator of one rank, and a place without a problem must allow
// ranks to meet. collctl's own variable is checked where its memory is mapped.
void find_place() {
  const Launcher* by = nullptr;
  const JobRank place = find(&by);
  if ((by == nullptr) == place.found()) abort();
  if (by == nullptr || by == &collctl_run || !place.problem.empty()) return;
  if (place.rank < 0 || (place.ranks != 0 && place.rank >= place.ranks)) abort();
  if (place.ranks == 0 && by->ask == nullptr) abort();
  if (place.ranks > 1 && place.job.empty() && place.path.empty()) abort();
}

// The environments of ancestors, which may hold anything: the input up to each empty line.
void find_innermost(std::string_view input) {
  std::vector<std::string> environments;
  while (!input.empty() && environments.size() < 64) {
    const size_t end = std::min(input.find("\n\n"), input.size());
    environments.emplace_back(input.substr(0, end));
    input.remove_prefix(std::min(end + 2, input.size()));
    std::ranges::replace(environments.back(), '\n', '\0');
  }
  const std::vector<Settings> settings = {settings_of(slurm.variables), settings_of(pmi.variables)};
  const std::optional<size_t> inner = innermost(settings, environments);
  if (inner.has_value() && *inner >= settings.size()) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  coll::fuzz::set_environment(text, variables);
  find_place();
  find_innermost(text);
  return 0;
}
