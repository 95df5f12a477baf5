// SPDX-License-Identifier: BSD-3-Clause
// Reduction up a hierarchy, chunk by chunk; an allreduce sends every finished chunk down again while later ones are
// still on their way up (XHC IV-B). With one group for all ranks it is the flat reduction.
//
// In every group the leader reduces, operands in the order of the members' domains: rank order when domains are
// consecutive ranks. A rank without children shows its send buffer; a leader shows a partial result, in its recv buffer
// if that exists for all ranks (allreduce) or in staging. Where a partial result and the final one share the recv
// buffer, the second follows the first's last reader by construction: it was made from it.
#include <optional>

#include "algo/downward.h"
#include "algo/families.h"

namespace coll::algo {
namespace {

class TreeReduce {
 public:
  TreeReduce(const Request& request, Collective what, const char* name, const topo::Hierarchy& hierarchy)
      : everywhere_(what == Collective::allreduce),
        tree_(hierarchy.tree_for_root(request.root)),
        ring_(ring_of(request)),
        b_(start(what, name, request)),
        input_(b_, Buffer::send, ring_),
        chunks_(b_.range({.chunk_bytes = ring_.chunk_bytes})) {
    b_.parameter("chunk", ring_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
    if (everywhere_) b_.synchronizing();
    if (tree_.levels() > 1) b_.tree_order();
    for (int level = 0; level < tree_.levels(); ++level) reduced_.push_back(b_.flag());
    if (tree_.levels() > 1) partial_.emplace(b_, everywhere_ ? Buffer::recv : Buffer::none, ring_);
    if (everywhere_) down_.emplace(b_, Buffer::recv, ring_);
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      Node node;
      node.parent = tree_.parent(rank);
      std::vector<int> children = tree_.children(rank);
      const bool leaf = children.empty();
      if (!leaf) node.rounds.push_back(std::move(children));
      if (leaf) supply(rank);
      else lead(rank, node);
      if (everywhere_ && rank != tree_.root()) {
        LaneBuilder lane = b_.lane(rank);
        down_->receive(lane, rank, node);
      }
    }
    return b_.finish();
  }

 private:
  // ---- who shows what, and who says so ----
  bool leaf(int rank) const { return tree_.children(rank).empty(); }
  Operand shown_by(int rank) const { return leaf(rank) ? input_.of(rank) : partial_->of(rank); }
  uint16_t shown_flag(int rank) const { return leaf(rank) ? input_.flag : partial_->flag; }
  // The last level at which the rank has children: there its own result is complete.
  int last_level(int rank) const {
    int level = tree_.levels_led(rank) - 1;
    while (tree_.children(rank, level).empty()) --level;
    return level;
  }
  // What `leader` posts once the members' data of that level and pass has been read.
  uint16_t read_flag(int leader, int level) const {
    if (level != last_level(leader)) return reduced_[size_t(level)];
    if (leader != tree_.root()) return partial_->flag;
    return everywhere_ ? down_->data().flag : reduced_[size_t(level)];
  }

  void supply(int rank) {
    const int parent = tree_.parent(rank);
    const uint16_t read = read_flag(parent, tree_.parent_level(rank));
    LaneBuilder lane = b_.lane(rank);
    input_.announce(lane, chunks_);
    lane.loop(chunks_);
    lane.wait(parent, read, pass_before(ring_.depth), input_.staged());
    lane.copy(chunks_, input_.of(rank), own_send(), input_.staged());
    lane.post(input_.flag, this_pass(), input_.staged());
    lane.end();
    // In an allreduce the last result from above says as much.
    if (!everywhere_) lane.wait(parent, read, all_passes(chunks_), input_.direct());
  }

  void lead(int rank, const Node& node) {
    const bool root = rank == tree_.root(), sends_down = root && everywhere_;
    const int last = last_level(rank);
    const Operand result = root ? own_recv() : partial_->of(rank);

    LaneBuilder lane = b_.lane(rank);
    if (!root) partial_->publish(lane);
    if (sends_down) down_->publish(lane);
    lane.loop(chunks_);
    if (!root) {
      const uint16_t read = read_flag(node.parent, tree_.parent_level(rank));
      lane.wait(node.parent, read, pass_before(ring_.depth), partial_->staged());
    }
    if (sends_down) down_->await_slot(lane, node);
    Operand own = own_send();
    for (int level = 0; level <= last; ++level) {
      const std::vector<int> members = in_order(rank, level);
      if (members.size() == 1) continue;
      std::vector<Operand> sources;
      for (int member : members) {
        sources.push_back(member == rank ? own : shown_by(member));
        if (member != rank) lane.wait(member, shown_flag(member), this_pass());
      }
      const Operand to[] = {result, sends_down ? down_->data().of(rank) : result};
      if (sends_down && level == last) {
        lane.reduce(chunks_, to, sources, down_->data().staged());
        lane.reduce(chunks_, {to, 1}, sources, down_->data().direct());
        down_->offer(lane, node);
      } else {
        lane.reduce(chunks_, {to, 1}, sources);
        lane.post(read_flag(rank, level), this_pass());
      }
      own = result;
    }
    lane.end();
    if (sends_down) down_->retire(lane, node);
  }

  // The members of the group that `rank` leads at that level, by their domains.
  std::vector<int> in_order(int rank, int level) const {
    std::vector<int> members = tree_.group_of(rank, level).members;
    std::ranges::sort(members, {},
                      [&](int member) { return level == 0 ? member : tree_.group_index(member, level - 1); });
    return members;
  }

  const bool everywhere_;
  const topo::Tree tree_;
  const Ring ring_;
  Builder b_;
  const Window input_;
  const uint16_t chunks_;
  std::vector<uint16_t> reduced_;  // by level: "I have reduced this pass", for leaders that go on above it
  std::optional<Window> partial_;  // results of leaders other than the root
  std::optional<Downward> down_;
};

Plan tree_reduce(const Request& request, Collective what, const char* name, const topo::Hierarchy& hierarchy) {
  if (hierarchy.ranks() == 1) return alone(what, name, request);
  return TreeReduce(request, what, name, hierarchy).make();
}

}  // namespace

Plan hierarchical(const Request& request, Collective what) {
  return tree_reduce(request, what, "hierarchical", *request.hierarchy);
}

Plan flat_tree(const Request& request, Collective what) {
  return tree_reduce(request, what, "flat", topo::Hierarchy::flat(request.hierarchy->ranks()));
}

}  // namespace coll::algo
