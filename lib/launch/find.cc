// SPDX-License-Identifier: BSD-3-Clause
// The list of launchers in order of precedence, and the search for the one that has started this process.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <vector>

#include "launch/innermost.h"
#include "launch/job_rank.h"
#include "launch/variables.h"

namespace coll::launch {

namespace {

// Reads rank and size only; lib/api reads the rest of COLL_LAUNCH.
bool find_collctl(JobRank& job_rank) {
  const std::string launch = text_of("COLL_LAUNCH");
  int descriptor = -1;
  job_rank.launcher = "collctl run";
  if (sscanf(launch.c_str(), "%d/%d/%d", &job_rank.rank, &job_rank.ranks, &descriptor) == 3)
    job_rank.is_cut_off = fcntl(descriptor, F_GETFD) < 0;
  return std::getenv("COLL_LAUNCH") != nullptr;
}

// In order of precedence: if several have set variables for a process, the first one decides. The variables of libcoll
// are first because the user has set them on purpose. Resource managers precede PMI and PMIx, which they offer to their
// tasks, because their own variables contain more.
const Launcher* const launchers[] = {&collctl_run, &variables_of_libcoll, &slurm, &flux, &pals, &torchrun, &pmix, &pmi};

struct Found {
  const Launcher* launcher;
  JobRank job_rank;
};

// Whether rank and size are equal. A size of 0 is not known yet and matches any.
bool agree(const JobRank& a, const JobRank& b) {
  return a.rank == b.rank && (a.ranks == b.ranks || a.ranks == 0 || b.ranks == 0);
}

std::string said(const JobRank& job_rank) {
  return job_rank.launcher + " says rank " + std::to_string(job_rank.rank) +
         (job_rank.ranks > 0 ? " of " + std::to_string(job_rank.ranks) : "");
}

std::string ambiguous(const JobRank& a, const JobRank& b) {
  return said(a) + " and " + said(b) +
         ", and from this pid namespace it cannot be seen which of the two has started the other; unset the variables "
         "of "
         "the outer one, or start the ranks without a pid namespace of their own";
}

}  // namespace

const Launcher collctl_run{{"COLL_LAUNCH", "COLL_LAUNCH"}, find_collctl, nullptr};

JobRank find(const Launcher** by) {
  std::vector<Found> found;
  for (const Launcher* launcher : launchers) {
    Found one{launcher, {}};
    if (launcher->find(one.job_rank)) found.push_back(std::move(one));
  }
  if (found.empty()) {
    JobRank job_rank;
    *by = incomplete.find(job_rank) ? &incomplete : nullptr;
    return *by == nullptr ? JobRank() : job_rank;
  }
  // Unless all places are cut off, one that is belongs to an outer launcher: the inner launcher has closed the
  // descriptor, or its daemon has started the ranks.
  if (!std::ranges::all_of(found, &JobRank::is_cut_off, &Found::job_rank))
    std::erase_if(found, [](const Found& one) { return one.job_rank.is_cut_off; });
  std::vector<Settings> settings;
  for (const Found& one : found) settings.push_back(settings_of(one.launcher->variables));
  const std::optional<size_t> inner = innermost(settings);
  Found& chosen = found[inner.value_or(0)];
  *by = chosen.launcher;
  if (inner.has_value()) return chosen.job_rank;
  for (const Found& one : found)
    if (!agree(one.job_rank, chosen.job_rank)) chosen.job_rank.problem = ambiguous(chosen.job_rank, one.job_rank);
  return chosen.job_rank;
}

}  // namespace coll::launch
