// SPDX-License-Identifier: BSD-3-Clause
// The launchers in their order, and the one that has started this process.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <vector>

#include "launch/innermost.h"
#include "launch/place.h"
#include "launch/variables.h"

namespace coll::launch {

namespace {

// lib/api reads the rest of it.
bool find_collctl(Place& place) {
  const std::string launch = text_of("COLL_LAUNCH");
  int descriptor = -1;
  place.launcher = "collctl run";
  if (sscanf(launch.c_str(), "%d/%d/%d", &place.rank, &place.ranks, &descriptor) == 3)
    place.is_cut_off = fcntl(descriptor, F_GETFD) < 0;
  return std::getenv("COLL_LAUNCH") != nullptr;
}

// Where several set variables for one process, the first counts: a variable of libcoll was set on purpose; a resource
// manager says more than the PMI or PMIx that it offers to its tasks.
const Launcher* const launchers[] = {&collctl_run, &variables_of_libcoll, &slurm, &flux, &pals, &torchrun, &pmix, &pmi};

struct Found {
  const Launcher* launcher;
  Place place;
};

// 0 ranks: not known yet.
bool agree(const Place& a, const Place& b) {
  return a.rank == b.rank && (a.ranks == b.ranks || a.ranks == 0 || b.ranks == 0);
}

std::string said(const Place& place) {
  return place.launcher + " says rank " + std::to_string(place.rank) +
         (place.ranks > 0 ? " of " + std::to_string(place.ranks) : "");
}

std::string ambiguous(const Place& a, const Place& b) {
  return said(a) + " and " + said(b) +
         ", and from this pid namespace it cannot be seen which of the two has started the other; unset the variables "
         "of "
         "the outer one, or start the ranks without a pid namespace of their own";
}

}  // namespace

const Launcher collctl_run{{"COLL_LAUNCH", "COLL_LAUNCH"}, find_collctl, nullptr};

Place find(const Launcher** by) {
  std::vector<Found> found;
  for (const Launcher* launcher : launchers) {
    Found one{launcher, {}};
    if (launcher->find(one.place)) found.push_back(std::move(one));
  }
  if (found.empty()) {
    Place place;
    *by = incomplete.find(place) ? &incomplete : nullptr;
    return *by == nullptr ? Place() : place;
  }
  // A launcher between that one and this process closes what it does not know, or has a daemon start the ranks.
  if (!std::ranges::all_of(found, &Place::is_cut_off, &Found::place))
    std::erase_if(found, [](const Found& one) { return one.place.is_cut_off; });
  std::vector<Settings> settings;
  for (const Found& one : found) settings.push_back(settings_of(one.launcher->variables));
  const std::optional<size_t> inner = innermost(settings);
  Found& chosen = found[inner.value_or(0)];
  *by = chosen.launcher;
  if (inner.has_value()) return chosen.place;
  for (const Found& one : found)
    if (!agree(one.place, chosen.place)) chosen.place.problem = ambiguous(chosen.place, one.place);
  return chosen.place;
}

}  // namespace coll::launch
