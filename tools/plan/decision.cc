// SPDX-License-Identifier: BSD-3-Clause
#include "tools/plan/decision.h"

#include <algorithm>

#include "tune/tuner_candidates.h"

namespace coll::tools {

Decision decide(const ModelMachine& machine, tune::Selector& selector, plan::Collective collective, size_t bytes,
                size_t element_bytes, bool irregular) {
  Decision made{.situation = situation_on(machine, collective, bytes, element_bytes)};
  made.situation.irregular = irregular;
  made.selected = selector.select(made.situation);
  made.selected.choice.kernel_copies |= made.situation.single_copy && !made.selected.choice.staged;
  if (irregular) return made;
  const size_t shown = bytes * plan::pieces_shown(collective, machine.hierarchy.ranks());
  // A communicator determines this limit once, for all sizes.
  const size_t limit = selector.latency_path_bytes(situation_on(machine, collective, 0, element_bytes));
  made.latency = std::max<size_t>(shown, 1) <= limit;
  return made;
}

std::vector<Decision> tuning_candidates(const ModelMachine& machine, const Decision& decision) {
  std::vector<Decision> made;
  if (decision.situation.bytes < tune::long_tuned_min_bytes) return made;  // COLL_TUNE=on alone tunes them
  if (machine.chosen_by != nullptr || decision.situation.single_copy || machine.assumed.in_place) return made;
  for (const tune::Choice& other : decision.selected.alternatives)
    made.push_back({.situation = decision.situation, .selected = {.choice = other, .by = tune::Source::tuned}});
  return made;
}

}  // namespace coll::tools
