// SPDX-License-Identifier: BSD-3-Clause
// hierarchical_by_index: a reduction up a hierarchy in which all members of a group work, each on its own slice of the
// chunk, directly in the leader's memory; an allreduce sends finished chunks down while later ones go up (XHC IV-B,
// step 2a). tree_reduce.cc is the variant for short vectors, in which the leader reduces alone: one hop less per level.
//
// Difference from the paper: the leader reduces a slice as well.
//
// A rank shows its send buffer to the group that reduces it. A leader also shows the results of its group in the
// balanced order: one partial result for every node that the group consists of (nodes.h). The members of the group
// write them, and those of another group, usually the one a level above, read them. Value n of the view's flag says
// that the slots of the first n-1 iterations are open for writing.
#include <map>
#include <optional>

#include "algo/downward.h"
#include "algo/families.h"
#include "algo/fold.h"

namespace coll::algo {
namespace {

class ByIndex {
 public:
  ByIndex(const PlanRequest& request, Collective what)
      : everywhere_(what == Collective::allreduce),
        tree_(request.hierarchy->tree_for_root(request.root)),
        partials_(*request.hierarchy, request.root),
        ring_(partials_.blocks() > 1 ? ring_of_blocks(request, partials_.blocks() + partials_.boxes() + 3)
                                     : ring_of(request)),
        b_(start(what, "hierarchical_by_index", request)),
        input_(b_, Buffer::send, ring_),
        final_(b_, Buffer::recv, ring_),
        shown_(final_),
        chunks_(b_.range({.chunk_bytes = ring_.chunk_bytes})) {
    b_.parameter("chunk", ring_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
    if (everywhere_) b_.synchronizing();
    // In a reduction leaders other than the root have no receive buffer, and a receive buffer holds only one partial
    // result.
    if (partials_.blocks() > 0 && !(everywhere_ && partials_.groups_are_nodes()))
      shown_ = StagedView(b_, Buffer::none, ring_, partials_.blocks());
    if (partials_.boxes() > 0) boxes_.emplace(Boxes::exactly(partials_.boxes(), b_, ring_.chunk_bytes));
    if (everywhere_) down_.emplace(b_, Buffer::recv, ring_);
    for (int level = 0; level < partials_.levels(); ++level) {
      done_.push_back(b_.flag());
      ready_.push_back(b_.flag());
      for (int group = 0; group < partials_.groups(level); ++group) {
        const int members = int(partials_.members(level, group).size());
        if (!slices_.contains(members)) slices_[members] = Slices(b_, members, ring_.chunk_bytes);
      }
    }
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      supply(rank);
      work(rank);
      if (everywhere_ && rank != tree_.root()) {
        Node node{.parent = tree_.parent(rank)};
        std::vector<int> children = tree_.children(rank);
        if (!children.empty()) node.rounds.push_back(std::move(children));
        LaneBuilder lane = b_.lane(rank);
        down_->receive(lane, rank, node);
      }
    }
    return b_.finish();
  }

 private:
  // ---- positions ----

  const StagedView& window_of(const Partial& partial) const {
    if (partial.is_input()) return input_;
    return partial.block < 0 ? final_ : shown_;
  }
  Operand place_of(const Partial& partial) const {
    const bool several = partial.block >= 0 && partials_.blocks() > 1;
    return window_of(partial).of(partial.leader, several ? partial.block : int(plan::no_block));
  }
  // The ranks that read the input or partial result.
  std::vector<int> readers_of(int index) const {
    const Partial& reader = partials_.destination(index);
    return partials_.members(reader.level, reader.group);
  }
  static int index_in(const std::vector<int>& members, int rank) {
    const auto found = std::ranges::find(members, rank);
    return found == members.end() ? -1 : int(found - members.begin());
  }

  void supply(int rank) {
    const int level = partials_.destination(rank).level;
    const std::vector<int> members = readers_of(rank);
    const int index = index_in(members, rank);
    LaneBuilder lane = b_.lane(rank);
    input_.announce(lane, chunks_);
    lane.loop(chunks_);
    wait_others(lane, members, rank, done_[size_t(level)], iteration_before(ring_.depth), input_.staged());
    const std::vector<uint16_t> all{chunks_};
    for (uint16_t range : index < 0 ? all : slices_.at(int(members.size())).others(index))
      lane.copy(range, input_.of(rank), own_send(), input_.staged());
    lane.post(input_.flag, this_iteration(), input_.staged()).end();
    // In an allreduce the rank knows this when it receives the last result from above, and the root has waited itself.
    if (!everywhere_) wait_others(lane, members, rank, done_[size_t(level)], all_iterations(chunks_), input_.direct());
  }

  void work(int rank) {
    const bool root = rank == tree_.root();
    LaneBuilder lane = b_.lane(rank);
    announce(lane, rank);
    learn(lane, rank);
    lane.loop(chunks_);
    open_slots(lane, rank);
    for (int level = 0; level < partials_.levels(); ++level) {
      const int group = partials_.group_of(rank, level), leader = partials_.leader(level, group);
      reduce(lane, rank, level, group);
      if (leader != rank) break;
      const std::vector<int>& made = partials_.made_in(level, group);
      if (made.empty()) continue;
      wait_others(lane, partials_.members(level, group), rank, done_[size_t(level)], this_iteration());
      if (partials_[made[0]].into >= 0) lane.post(ready_[size_t(level)], this_iteration());
    }
    if (root) deliver(lane, rank);
    lane.end();
    if (root && everywhere_) down_->retire(lane, down_node(rank));
  }

  // ready_ does not say how a partial result is accessed; the flag of its view does.
  void learn(LaneBuilder& lane, int rank) const {
    for (int level = 0; level < partials_.levels(); ++level) {
      const int group = partials_.group_of(rank, level);
      for (int made : partials_.made_in(level, group))
        for (int index : partials_[made].sources) {
          const Partial& source = partials_[index];
          if (source.leader != rank && !source.is_input() && !window_of(source).plain)
            lane.wait(source.leader, window_of(source).flag, constant(1));
        }
      if (partials_.leader(level, group) != rank) break;
    }
  }

  // ---- the leader's views ----

  // The windows that hold the rank's partial results.
  std::vector<const StagedView*> windows_of(int rank) const {
    std::vector<const StagedView*> windows;
    for (int made : partials_.made_by(rank)) {
      const StagedView& window = window_of(partials_[made]);
      if (std::ranges::find(windows, &window) == windows.end()) windows.push_back(&window);
    }
    return windows;
  }

  void announce(LaneBuilder& lane, int rank) const {
    for (const StagedView* window : windows_of(rank)) {
      if (window->plain) continue;
      lane.publish(window->view).post(window->flag, constant(1), window->staged());
      lane.post(window->flag, all_iterations(chunks_, 1), window->direct());
    }
    if (rank == tree_.root() && everywhere_) down_->publish(lane);
  }

  // Posts that slots of this iteration may be written, once the readers of their content from `depth` iterations ago
  // have finished. This lane has already waited for the groups that the rank leads, and waits here for others.
  void open_slots(LaneBuilder& lane, int rank) const {
    std::vector<int> awaited;
    for (int made : partials_.made_by(rank)) {
      if (partials_[made].into < 0 || partials_.destination(made).leader == rank) continue;
      const Partial& reader = partials_.destination(made);
      const int any_made_there = partials_.made_in(reader.level, reader.group)[0];
      if (std::ranges::find(awaited, any_made_there) != awaited.end()) continue;
      awaited.push_back(any_made_there);
      wait_others(lane, readers_of(made), rank, done_[size_t(reader.level)], iteration_before(ring_.depth),
                  window_of(partials_[made]).staged());
    }
    for (const StagedView* window : windows_of(rank)) lane.post(window->flag, this_iteration(1), window->staged());
  }

  // ---- reduction in a group ----

  void reduce(LaneBuilder& lane, int rank, int level, int group) const {
    const std::vector<int>& made = partials_.made_in(level, group);
    if (made.empty()) return;
    const std::vector<int> members = partials_.members(level, group);
    const uint16_t slice = slices_.at(int(members.size())).of(index_in(members, rank));
    const std::vector<Operand> boxes = boxes_ ? boxes_->of(rank) : std::vector<Operand>();
    for (int index : made) {
      const Partial& partial = partials_[index];
      std::vector<Operand> sources;
      bool open = partial.leader == rank;
      for (int from : partial.sources) {
        const Partial& source = partials_[from];
        sources.push_back(from == rank ? own_send() : place_of(source));
        if (source.leader == rank) continue;
        lane.wait(source.leader, source.is_input() ? input_.flag : ready_[size_t(source.level)], this_iteration());
        open = open || (source.leader == partial.leader && &window_of(source) == &window_of(partial));
      }
      const Operand to = place_of(partial);
      if (!open) lane.wait(partial.leader, window_of(partial).flag, this_iteration(1));
      lane.reduce(slice, {&to, 1}, fold_nodes(lane, slice, partial.steps, sources, boxes));
    }
    lane.post(done_[size_t(level)], this_iteration());
  }

  Node down_node(int rank) const { return {.rounds = {tree_.children(rank)}}; }

  // The root has a finished chunk: copies it into its receive buffer if it is not there, and offers it to the children.
  void deliver(LaneBuilder& lane, int rank) {
    if (everywhere_) lane.copy(chunks_, own_recv(), final_.of(rank), final_.staged());
    else lane.copy_result(chunks_, own_recv(), final_.of(rank), final_.staged());
    if (!everywhere_) return;
    const Node node = down_node(rank);
    down_->await_slot(lane, node);
    lane.copy(chunks_, down_->data().of(rank), own_recv(), down_->data().staged());
    down_->offer(lane, node);
  }

  const bool everywhere_;
  const topo::Tree tree_;
  const Partials partials_;
  const Ring ring_;
  Builder b_;
  const StagedView input_, final_;
  StagedView shown_;  // partial results, except those that contain the root's own input
  const uint16_t chunks_;
  std::vector<uint16_t> done_;    // by level: the rank has reduced its slice
  std::vector<uint16_t> ready_;   // by level: the results of the rank's group are complete
  std::map<int, Slices> slices_;  // by size of a group
  std::optional<Boxes> boxes_;
  std::optional<Downward> down_;
};

}  // namespace

Plan hierarchical_by_index(const PlanRequest& request, Collective what) {
  if (request.hierarchy->ranks() == 1) return alone(what, "hierarchical_by_index", request);
  return ByIndex(request, what).make();
}

}  // namespace coll::algo
