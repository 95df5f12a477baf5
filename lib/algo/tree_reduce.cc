// SPDX-License-Identifier: BSD-3-Clause
// Reduction up a hierarchy, chunk by chunk; an allreduce sends every finished chunk down while later ones are still on
// their way up (XHC IV-B). With one group for all ranks it is the flat reduction.
//
// In every group the leader reduces, in the balanced order: one partial result for every node that the group consists
// of (nodes.h). A partial result, or the input of a rank that no group has reduced, is read from its place by the
// leader of the group where it becomes part of a larger result. Partial results are staged. If every group is one node
// and all ranks have a receive buffer (allreduce), they are in the receive buffers: the final result cannot overwrite a
// partial one too early, because it is made from it.
#include <optional>

#include "algo/downward.h"
#include "algo/families.h"
#include "algo/fold.h"

namespace coll::algo {
namespace {

class TreeReduce {
 public:
  TreeReduce(const PlanRequest& request, Collective what, const char* name, const topo::Hierarchy& hierarchy)
      : everywhere_(what == Collective::allreduce),
        tree_(hierarchy.tree_for_root(request.root)),
        partials_(hierarchy, request.root),
        ring_(partials_.blocks() > 1 ? ring_of_blocks(request, partials_.blocks() + partials_.boxes() + 2)
                                     : ring_of(request)),
        b_(start(what, name, request)),
        input_(b_, Buffer::send, ring_),
        chunks_(b_.range({.chunk_bytes = ring_.chunk_bytes})) {
    b_.parameter("chunk", ring_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
    if (everywhere_) b_.synchronizing();
    for (int level = 0; level < partials_.levels(); ++level) reduced_.push_back(b_.flag());
    const bool in_recv = everywhere_ && partials_.groups_are_nodes();
    if (partials_.blocks() > 0) shown_.emplace(b_, in_recv ? Buffer::recv : Buffer::none, ring_, partials_.blocks());
    if (partials_.boxes() > 0) boxes_.emplace(Boxes::exactly(partials_.boxes(), b_, ring_.chunk_bytes));
    if (everywhere_) down_.emplace(b_, Buffer::recv, ring_);
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      Node node;
      node.parent = tree_.parent(rank);
      std::vector<int> children = tree_.children(rank);
      if (!children.empty()) node.rounds.push_back(std::move(children));
      if (partials_.destination(rank).leader != rank) supply(rank);
      if (!partials_.made_by(rank).empty()) lead(rank, node);
      if (everywhere_ && rank != tree_.root()) {
        LaneBuilder lane = b_.lane(rank);
        down_->receive(lane, rank, node);
      }
    }
    return b_.finish();
  }

 private:
  // ---- views and flags ----
  // The flag that `leader` posts when it has reduced an iteration at that level, or at all levels.
  uint16_t flag_of(int leader, int level) const {
    if (level != partials_[partials_.made_by(leader).back()].level) return reduced_[size_t(level)];
    if (leader != tree_.root()) return shown_->flag;
    return everywhere_ ? down_->data().flag : reduced_[size_t(level)];
  }
  uint16_t ready_flag(const Partial& partial) const {
    return partial.is_input() ? input_.flag : flag_of(partial.leader, partial.level);
  }
  Operand place_of(const Partial& partial, int rank) const {
    if (partial.is_input()) return partial.leader == rank ? own_send() : input_.of(partial.leader);
    if (partial.block < 0) return own_recv();
    return shown_->of(partial.leader, partials_.blocks() > 1 ? partial.block : int(plan::no_block));
  }

  void supply(int rank) {
    const Partial& reader = partials_.destination(rank);
    const uint16_t read = flag_of(reader.leader, reader.level);
    LaneBuilder lane = b_.lane(rank);
    input_.announce(lane, chunks_);
    lane.loop(chunks_);
    lane.wait(reader.leader, read, iteration_before(ring_.depth), input_.staged());
    lane.copy(chunks_, input_.of(rank), own_send(), input_.staged());
    lane.post(input_.flag, this_iteration(), input_.staged());
    lane.end();
    // In an allreduce the rank knows this when it receives the last result from above.
    if (!everywhere_) lane.wait(reader.leader, read, all_iterations(chunks_), input_.direct());
  }

  void lead(int rank, const Node& node) {
    const bool sends_down = rank == tree_.root() && everywhere_;
    const std::vector<int>& made = partials_.made_by(rank);
    LaneBuilder lane = b_.lane(rank);
    if (rank != tree_.root()) shown_->publish(lane);
    if (sends_down) down_->publish(lane);
    lane.loop(chunks_);
    await_readers(lane, rank);
    if (sends_down) down_->await_slot(lane, node);
    for (size_t i = 0; i < made.size(); ++i) {
      const Partial& partial = partials_[made[i]];
      const std::vector<Operand> from = gather(lane, rank, partial);
      const Operand result = place_of(partial, rank);
      if (sends_down && partial.into < 0) {
        const Operand to[] = {result, down_->data().of(rank)};
        lane.reduce(chunks_, to, from, down_->data().staged());
        lane.reduce(chunks_, {to, 1}, from, down_->data().direct());
        down_->offer(lane, node);
        continue;
      }
      lane.reduce(chunks_, {&result, 1}, from);
      const bool last_of_level = i + 1 == made.size() || partials_[made[i + 1]].level != partial.level;
      if (last_of_level) lane.post(flag_of(rank, partial.level), this_iteration());
    }
    lane.end();
    if (sends_down) down_->retire(lane, node);
  }

  // Waits until the slots of this iteration are free, that is, until their readers have finished with an earlier
  // iteration.
  void await_readers(LaneBuilder& lane, int rank) const {
    std::vector<std::pair<int, uint16_t>> readers;
    for (int index : partials_.made_by(rank)) {
      if (partials_[index].into < 0) continue;
      const Partial& reader = partials_.destination(index);
      const std::pair read(reader.leader, flag_of(reader.leader, reader.level));
      if (reader.leader == rank || std::ranges::find(readers, read) != readers.end()) continue;
      readers.push_back(read);
      lane.wait(read.first, read.second, iteration_before(ring_.depth), shown_->staged());
    }
  }

  // Makes all steps of a partial result except the last, whose operands it returns, in order.
  std::vector<Operand> gather(LaneBuilder& lane, int rank, const Partial& partial) const {
    std::vector<Operand> sources;
    for (int index : partial.sources) {
      const Partial& source = partials_[index];
      sources.push_back(place_of(source, rank));
      if (source.leader != rank) lane.wait(source.leader, ready_flag(source), this_iteration());
    }
    return fold_nodes(lane, chunks_, partial.steps, sources, boxes_ ? boxes_->of(rank) : std::vector<Operand>());
  }

  const bool everywhere_;
  const topo::Tree tree_;
  const Partials partials_;
  const Ring ring_;
  Builder b_;
  const StagedView input_;
  const uint16_t chunks_;
  std::vector<uint16_t> reduced_;    // by level: the iteration is reduced; for leaders that continue above it
  std::optional<StagedView> shown_;  // partial results
  std::optional<Boxes> boxes_;
  std::optional<Downward> down_;
};

Plan tree_reduce(const PlanRequest& request, Collective what, const char* name, const topo::Hierarchy& hierarchy) {
  if (hierarchy.ranks() == 1) return alone(what, name, request);
  return TreeReduce(request, what, name, hierarchy).make();
}

}  // namespace

bool has_consecutive_groups(const PlanRequest& request) { return consecutive_levels(*request.hierarchy).size() > 1; }

Plan hierarchical(const PlanRequest& request, Collective what) {
  return tree_reduce(request, what, "hierarchical", *request.hierarchy);
}

Plan flat_tree(const PlanRequest& request, Collective what) {
  return tree_reduce(request, what, "flat", topo::Hierarchy::flat(request.hierarchy->ranks()));
}

}  // namespace coll::algo
