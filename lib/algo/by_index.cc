// SPDX-License-Identifier: BSD-3-Clause
// hierarchical_by_index: reduction up a hierarchy in which all members of a group work, each on its own slice of the chunk,
// straight into the leader's memory; an allreduce sends finished chunks down while later ones go up (XHC IV-B, step 2a).
// tree_reduce.cc is the form for short vectors, where the leader reduces alone: one hop less per level.
//
// What differs from the text: the leader takes a slice as well.
//
// A rank shows its send buffer to its group, and, where it leads, a result that its members write and, one level up, the
// other leaders read. Value n of a result's flag says that the slots of the first n-1 passes are open for writing.
#include <map>
#include <optional>

#include "algo/downward.h"
#include "algo/families.h"

namespace coll::algo {
namespace {

class ByIndex {
 public:
  ByIndex(const Request& request, Collective what)
      : everywhere_(what == Collective::allreduce),
        tree_(request.hierarchy->tree_for_root(request.root)),
        ring_(ring_of(request)),
        b_(start(what, "hierarchical_by_index", request)),
        input_(b_, Buffer::send, ring_),
        final_(b_, Buffer::recv, ring_),
        partial_(final_),
        chunks_(b_.range({.chunk_bytes = ring_.chunk_bytes})) {
    b_.parameter("chunk", ring_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
    if (everywhere_) b_.synchronizing();
    if (tree_.levels() > 1) b_.tree_order();
    // In a reduction leaders other than the root have no receive buffer.
    if (!everywhere_ && tree_.levels() > 1) partial_ = Window(b_, Buffer::none, ring_);
    if (everywhere_) down_.emplace(b_, Buffer::recv, ring_);
    for (int level = 0; level < tree_.levels(); ++level) {
      done_.push_back(b_.flag());
      ready_.push_back(b_.flag());
      for (int group = 0; group < tree_.groups(level); ++group) {
        const int members = tree_.group_size(tree_.group(level, group).leader(), level);
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
  const Window& result_of(int rank) const { return rank == tree_.root() ? final_ : partial_; }
  // The first level at which the rank's domain has more than one member: what it reads there is the send buffers.
  int first_level(int rank) const {
    int level = 0;
    while (tree_.group_size(rank, level) == 1) ++level;
    return level;
  }
  int last_level(int rank) const {  // of those it leads, -1 when it leads nobody
    int level = tree_.levels_led(rank) - 1;
    while (level >= 0 && tree_.group_size(rank, level) == 1) --level;
    return level;
  }

  // ---- members of a group, and what they show there ----

  std::vector<int> in_order(int rank, int level) const {
    std::vector<int> members = tree_.group_of(rank, level).members;
    std::ranges::sort(members, {},
                      [&](int member) { return level == 0 ? member : tree_.group_index(member, level - 1); });
    return members;
  }
  // Leaders of a domain that holds nobody else show their send buffer at the next level.
  bool shows_input(int member, int level) const { return first_level(member) == level; }
  static std::vector<int> others(std::vector<int> members, int rank) {
    std::erase(members, rank);
    return members;
  }
  Operand shown_by(int member, int level) const {
    return shows_input(member, level) ? input_.of(member) : result_of(member).of(member);
  }
  uint16_t shown_flag(int member, int level) const {
    return shows_input(member, level) ? input_.flag : ready_[size_t(level)];
  }

  void supply(int rank) {
    const int level = first_level(rank);
    const std::vector<int> members = in_order(rank, level), readers = others(members, rank);
    const int index = int(std::ranges::find(members, rank) - members.begin());
    LaneBuilder lane = b_.lane(rank);
    input_.announce(lane, chunks_);
    lane.loop(chunks_);
    wait_each(lane, readers, done_[size_t(level)], pass_before(ring_.depth), input_.staged());
    slices_.at(int(members.size())).copy_others(lane, index, input_.of(rank), own_send(), input_.staged());
    lane.post(input_.flag, this_pass(), input_.staged()).end();
    // In an allreduce the last result from above says as much; its root has waited itself.
    if (!everywhere_) wait_each(lane, readers, done_[size_t(level)], all_passes(chunks_), input_.direct());
  }

  void work(int rank) {
    const bool root = rank == tree_.root();
    const int first = first_level(rank), last = last_level(rank);
    LaneBuilder lane = b_.lane(rank);
    if (last >= 0) announce(lane, rank);
    learn(lane, rank);
    lane.loop(chunks_);
    for (int level = first; level <= tree_.levels_led(rank) && level < tree_.levels(); ++level) {
      if (tree_.group_size(rank, level) == 1) continue;
      const std::vector<int> members = in_order(rank, level);
      const int leader = tree_.leader(rank, level);
      if (level == first && leader == rank) open_slot(lane, rank);
      reduce(lane, rank, level, members, leader);
      if (leader != rank) break;
      wait_each(lane, others(members, rank), done_[size_t(level)], this_pass());
      if (!root || level < last) lane.post(ready_[size_t(next_level(rank, level))], this_pass());
    }
    if (root) deliver(lane, rank);
    lane.end();
    if (root && everywhere_) down_->retire(lane, down_node(rank));
  }

  int next_level(int rank, int level) const {
    do ++level;
    while (tree_.group_size(rank, level) == 1);
    return level;
  }

  // ready_ does not tell how a result is seen; the result's own flag does.
  void learn(LaneBuilder& lane, int rank) const {
    for (int level = 0; level <= tree_.levels_led(rank) && level < tree_.levels(); ++level)
      for (int member : in_order(rank, level))
        if (member != rank && !shows_input(member, level) && !result_of(member).plain)
          lane.wait(member, result_of(member).flag, constant(1));
  }

  // ---- my own result, as a leader ----

  void announce(LaneBuilder& lane, int rank) const {
    const Window& result = result_of(rank);
    if (result.plain) return;
    lane.publish(result.view).post(result.flag, constant(1), result.staged());
    lane.post(result.flag, all_passes(chunks_, 1), result.direct());
    if (rank == tree_.root() && everywhere_) down_->publish(lane);
  }

  // Its slot of this pass may be written once those who read it `depth` passes ago are done: the root itself, which is
  // the same lane, or the group one level up.
  void open_slot(LaneBuilder& lane, int rank) const {
    const Window& result = result_of(rank);
    if (rank != tree_.root()) {
      const int level = tree_.parent_level(rank);
      wait_each(lane, others(in_order(rank, level), rank), done_[size_t(level)], pass_before(ring_.depth),
                result.staged());
    }
    lane.post(result.flag, this_pass(1), result.staged());
  }

  void reduce(LaneBuilder& lane, int rank, int level, const std::vector<int>& members, int leader) {
    std::vector<Operand> sources;
    int index = 0;
    for (int member : members) {
      if (member == rank) index = int(sources.size());
      const bool own_input = member == rank && shows_input(member, level);
      sources.push_back(own_input ? own_send() : shown_by(member, level));
      if (member != rank) lane.wait(member, shown_flag(member, level), this_pass());
    }
    const Window& result = result_of(leader);
    if (leader != rank && shows_input(leader, level)) lane.wait(leader, result.flag, this_pass(1));
    const Operand to[] = {result.of(leader)};
    lane.reduce(slices_.at(int(members.size())).of(index), to, sources);
    lane.post(done_[size_t(level)], this_pass());
  }

  Node down_node(int rank) const { return {.rounds = {tree_.children(rank)}}; }

  // The root has a finished chunk: into its receive buffer, unless it is there, and on to the children.
  void deliver(LaneBuilder& lane, int rank) {
    lane.copy(chunks_, own_recv(), final_.of(rank), final_.staged(), everywhere_);
    if (!everywhere_) return;
    const Node node = down_node(rank);
    down_->await_slot(lane, node);
    lane.copy(chunks_, down_->data().of(rank), own_recv(), down_->data().staged());
    down_->offer(lane, node);
  }

  const bool everywhere_;
  const topo::Tree tree_;
  const Ring ring_;
  Builder b_;
  const Window input_, final_;
  Window partial_;
  const uint16_t chunks_;
  std::vector<uint16_t> done_;    // by level: I have reduced my slice
  std::vector<uint16_t> ready_;   // by level: what I show at this level is complete
  std::map<int, Slices> slices_;  // by size of a group
  std::optional<Downward> down_;
};

}  // namespace

Plan hierarchical_by_index(const Request& request, Collective what) {
  if (request.hierarchy->ranks() == 1) return alone(what, "hierarchical_by_index", request);
  return ByIndex(request, what).make();
}

}  // namespace coll::algo
