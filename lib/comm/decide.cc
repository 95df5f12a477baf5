// SPDX-License-Identifier: BSD-3-Clause
// Describes calls for the selection of their algorithm, and sets the sizes up to which the latency path serves them.
// Every rank computes the same from the same table, hierarchy and settings.
#include <algorithm>
#include <cstdio>
#include <string_view>

#include "comm/comm.h"
#include "exec/latency.h"
#include "exec/latency_reductions.h"
#include "mem/shared_stores.h"

namespace coll::comm {

using plan::Collective;

namespace {

// The mechanism of kernel-assisted copies as tables name it. kcoll keeps pages pinned from the second copy on.
model::Mechanism kernel_of(const transport::Mechanism* mechanism) {
  const bool is_cma = mechanism == nullptr || std::string_view(mechanism->name()) == "cma";
  return is_cma ? model::Mechanism::cma : model::Mechanism::kcoll_pinned;
}

}  // namespace

tune::Situation Comm::situation(const Call& call) const {
  return {.collective = call.collective,
          .bytes = call.bytes(),
          .irregular = call.pieces != nullptr,
          .element_bytes = call.element_bytes,
          .ranks = ranks(),
          .levels = hierarchy_.levels(),
          .oversubscribed = team_.oversubscribed,
          .scheduler_groups = scheduler_groups_,
          .single_copy = copies_only(),
          .may_stage = settings_.transport == Transport::automatic,
          .cma_times = cma_times_,
          .cma_works = copies_work_,
          .in_place = in_place(),
          .mapped = heaps_are_shared_ && call.bytes() >= tune::shared_heap_min_bytes,
          .huge_pages = huge_pages_,
          .rfo_free = mem::has_rfo_free_stores(),
          .core_cache_bytes = machine_->l2.size_bytes,
          .cache_bytes = cache_bytes_,
          .processor = machine_->processor,
          .kernel = kernel_of(team_.mechanism.get())};
}

tune::Forced Comm::forced(Collective collective) const {
  return {settings_.forced[size_t(collective)], settings_.chunk_bytes, settings_.throttle};
}

// Logs the decision, once per bound plan, with COLL_LOG=debug.
void Comm::log_decision(const Call& call, const tune::Selection& selected) const {
  if (!settings_.log_decisions || rank() != 0) return;
  fprintf(stderr, "libcoll: %s of %zu bytes on %d ranks: %s\n", plan::name(call.collective), call.bytes(), ranks(),
          tune::text(selected).c_str());
}

// Sets, by collective, how many bytes one rank may publish on the latency path; 0: the path is not used.
void Comm::set_latency_paths() {
  if (takes_tree()) {
    bcast_groups_ = topo::in_small_groups(hierarchy_, topo::Counted::l3s);
    const topo::Hierarchy groups = topo::in_small_groups(hierarchy_, topo::Counted::ranks);
    const topo::Tree tree = groups.tree_for_root(0);
    barrier_tree_ = {tree.parent(rank()), tree.children(rank())};
  }
  for (int c = 0; c < plan::collectives; c++) {
    const auto collective = Collective(c);
    size_t limit = selector_.latency_path_bytes(situation({.collective = collective}), forced(collective));
    // A trace records the steps of plans, but not those of the latency path.
    if (is_traced_) limit = std::min(limit, tune::tiny_bytes);
    if (ranks() > exec::most_reduced_ranks && plan::is_reduction(collective)) limit = 0;
    const bool to_readers = collective == Collective::alltoall && are_many() && team_.oversubscribed;
    latency_bytes_[size_t(c)] = std::min(limit, to_readers ? exec::most_row_to_readers : exec::Mailbox::payload_bytes);
  }
}

// Oversubscribed ranks form groups of one, because each hop costs a context switch.
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

// The groups of a reduction. 16-bit floats use groups of one, because partial results of groups would be rounded.
const exec::Groups& Comm::groups_of(const Call& reduction) {
  const bool alone = team_.oversubscribed || reduction.rounds();
  exec::Groups& groups = alone ? single_ranks_ : aligned_groups_;
  if (groups.members.empty()) groups = exec::aligned_groups(ranks(), alone ? 1 : topo::small_group);
  return groups;
}

}  // namespace coll::comm
