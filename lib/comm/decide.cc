// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm serves a call, with which parameters: what a variable forces, else what the selector says. Every rank
// finds the same from the same table, hierarchy and settings.
#include <algorithm>
#include <cstdio>

#include "comm/comm.h"
#include "exec/latency.h"
#include "exec/latency_reductions.h"
#include "mem/processor.h"

namespace coll::comm {

using plan::Collective;

model::Question Comm::question(const Call& call) const {
  return {.collective = call.collective,
          .bytes = call.bytes(),
          .irregular = call.pieces != nullptr,
          .element_bytes = call.element_bytes,
          .ranks = ranks(),
          .levels = hierarchy_.levels(),
          .kernel_copies = copies_only(),
          .kernel_times = kernel_times_,
          .crowded = team_.crowded,
          .groups_apart = groups_apart_,
          .huge_pages = huge_pages_,
          .mapped = heaps_are_shared_ && call.bytes() >= model::shared_heap_min_bytes,
          .cache_bytes = cache_bytes_,
          .core_cache_bytes = machine_->l2.size_bytes,
          .overwrites = mem::processor().strings_overwrite()};
}

model::Selection Comm::decide(const Call& call, bool other_way) {
  const model::Question question = this->question(call);
  if (other_way)
    if (const std::optional<model::Choice> other = selector_.other_way(question))
      return {.choice = *other, .by = model::Decider::tried};
  const model::Forced* forced = model::find_forced(settings_.forced[size_t(call.collective)], question);
  model::Selection selected;
  if (forced != nullptr && forced->choice.algorithm != nullptr) {
    selected.by = model::Decider::forced;
    selected.choice = selector_.builtin(question);  // whether the kernel copies stays as it would be
    selected.choice.algorithm = forced->choice.algorithm;
    selected.choice.parameters = forced->choice.parameters;
  } else {
    selected = selector_.select(question);
    forced = nullptr;
  }
  const bool throttled = selected.choice.algorithm->name.starts_with("throttled");
  const bool chunk = settings_.chunk_bytes != 0 && (forced == nullptr || !forced->chunk);
  const bool throttle = settings_.throttle != 0 && throttled && (forced == nullptr || !forced->k);
  if (chunk) selected.choice.parameters.chunk_bytes = settings_.chunk_bytes;
  if (throttle) selected.choice.parameters.k = settings_.throttle;
  if (chunk || throttle) selected.by = model::Decider::forced, selected.row = nullptr, selected.expected_us = 0;
  if (selected.by == model::Decider::forced) model::complete(question, selected.choice);
  return selected;
}

// What was decided, once per bound plan; COLL_LOG=debug.
void Comm::log_decision(const Call& call, const model::Selection& selected) const {
  if (!settings_.log_decisions || rank() != 0) return;
  const model::Choice& choice = selected.choice;
  fprintf(stderr, "libcoll: %s of %zu bytes on %d ranks: %s%s (%s)\n", plan::name(call.collective), call.bytes(),
          ranks(), model::setting_text(choice).c_str(), choice.kernel_copies ? " with kernel-assisted copies" : "",
          model::decider_text(selected).c_str());
}

// How much one rank may show to the others on the latency path, by collective; 0: it is not taken.
void Comm::set_latency_paths() {
  if (takes_tree()) {
    bcast_groups_ = topo::in_small_groups(hierarchy_, topo::Counted::l3s);
    const topo::Hierarchy groups = topo::in_small_groups(hierarchy_, topo::Counted::ranks);
    const topo::Tree tree = groups.tree_for_root(0);
    barrier_place_ = {tree.parent(rank()), tree.children(rank())};
  }
  for (int c = 0; c < plan::collectives; c++) {
    const auto collective = Collective(c);
    const std::vector<model::Forced>& forced = settings_.forced[size_t(c)];
    size_t limit = selector_.latency_path_bytes(question({.collective = collective}));
    if (!forced.empty()) {
      const bool latency = forced.front().choice.algorithm == nullptr;
      const size_t most = std::min(forced.front().up_to_bytes, exec::Cell::payload_bytes);
      limit = latency ? most * plan::pieces_shown(collective, ranks()) : 0;
    }
    // The steps of plans are recorded, those of this path are not.
    if (team_.record != nullptr) limit = std::min(limit, model::tiny_bytes);
    if (ranks() > exec::most_reduced_ranks && plan::is_reduction(collective)) limit = 0;
    latency_bytes_[size_t(c)] = std::min(limit, exec::Cell::payload_bytes);
  }
}

// Each rank alone where ranks are oversubscribed: a hop costs a time slice.
const exec::Groups& Comm::groups() {
  if (!groups_.members.empty()) return groups_;
  std::vector<std::vector<int>> members;
  if (takes_tree()) {
    const topo::Hierarchy groups = topo::in_small_groups(hierarchy_, topo::Counted::ranks);
    for (int group = 0; group < groups.groups(0); group++) members.push_back(groups.ranks_of(0, group));
  } else {
    for (int rank = 0; rank < ranks(); rank++) members.push_back({rank});
  }
  return groups_ = exec::Groups(std::move(members));
}

// Of reductions. 16-bit floats would be rounded in partial results of groups.
const exec::Groups& Comm::groups_of(const Call& reduction) {
  const bool alone = team_.crowded || reduction.rounds();
  exec::Groups& groups = alone ? single_ranks_ : aligned_groups_;
  if (groups.members.empty()) groups = exec::aligned_groups(ranks(), alone ? 1 : topo::small_group);
  return groups;
}

}  // namespace coll::comm
