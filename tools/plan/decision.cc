// SPDX-License-Identifier: BSD-3-Clause
#include "tools/plan/decision.h"

#include <algorithm>

namespace coll::tools {

Decision decide(const ModelMachine& machine, model::Selector& selector, plan::Collective collective, size_t bytes,
                size_t element_bytes, bool irregular) {
  Decision made{.question = question_of(machine, collective, bytes, element_bytes)};
  made.question.irregular = irregular;
  made.selected = selector.select(made.question);
  made.selected.choice.kernel_copies |= made.question.kernel_copies;
  if (irregular) return made;
  const size_t shown = bytes * plan::pieces_shown(collective, machine.hierarchy.ranks());
  // A communicator asks once for all sizes.
  const size_t limit = selector.latency_path_bytes(question_of(machine, collective, 0, element_bytes));
  made.latency = std::max<size_t>(shown, 1) <= limit;
  return made;
}

std::optional<Decision> tuning_candidate(const ModelMachine& machine, const model::Selector& selector,
                                         const Decision& decision) {
  const model::Question& question = decision.question;
  const bool staged = !question.kernel_copies && !machine.assumed.in_place;
  if (machine.chosen_by != nullptr || !staged || question.ranks < 2 || question.irregular ||
      question.bytes < model::tuned_min_bytes)
    return std::nullopt;
  const std::optional<model::Choice> other = selector.other_way(question);
  if (!other.has_value()) return std::nullopt;
  return Decision{.question = question, .selected = {.choice = *other, .by = model::Decider::tried}};
}

}  // namespace coll::tools
