// SPDX-License-Identifier: BSD-3-Clause
#include "algo/rooted.h"

#include <optional>

#include "algo/common.h"

namespace coll::algo {
namespace {

// The common part of the generators.
class Rooted {
 protected:
  // `blocks` is the number of blocks of all slots of one iteration together.
  Rooted(const PlanRequest& request, Collective what, const char* name, int blocks)
      : out_(what == Collective::scatter),
        ranks_(request.hierarchy->ranks()),
        root_(request.root),
        ring_(ring_of_blocks(request, blocks)),
        b_(start(what, name, request)) {
    b_.parameter("chunk", ring_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
    for (int distance = 1; distance < ranks_; ++distance) peers_.push_back((root_ + distance) % ranks_);
    const auto range_of = [&](int peer) {
      return piece(b_, out_ ? root_ : peer, out_ ? peer : root_, ring_.chunk_bytes);
    };
    for (int rank = 0; rank < ranks_; ++rank) pieces_.push_back(range_of(rank));
    longest_ = range_of(any_rank);
  }

  uint16_t piece_of(int rank) const { return pieces_[size_t(rank)]; }
  // The root copies its own piece chunk by chunk, in the same loop, so that this overlaps with the peers' work.
  void copy_own(LaneBuilder& lane) const {
    lane.copy_result(piece_of(root_), out_ ? own_recv() : own_recv(root_), out_ ? own_send(root_) : own_send());
  }

  const bool out_;  // scatter
  const int ranks_, root_;
  const Ring ring_;
  Builder b_;
  std::vector<int> peers_;        // by their distance from the root
  std::vector<uint16_t> pieces_;  // by peer
  uint16_t longest_;
};

// ---- the peers move -----------------------------------------------------------------------------------------

// The position of a rank. Its holder is the root or a leader, whose buffer or slots contain the pieces of the rank and
// of all ranks below it.
struct Link {
  int holder = -1;
  int round = 0;    // the round that serves it, if the root is the holder
  int before = -1;  // the rank that must have finished before
  std::vector<int> children = {};
  std::vector<int> below = {};
};

// Value n of a holder's flag: in a scatter, n chunks of every piece are complete; in a gather, the slots of the first
// n-1 iterations are open. Each round has such a flag, because the root serves slots round by round, so that it does
// not wait for ranks whose round has not begun.
class PeersMove : Rooted {
 public:
  PeersMove(const PlanRequest& request, Collective what, const char* name, bool leaders = false)
      : Rooted(request, what, name, request.hierarchy->ranks() * (leaders ? 2 : 1)),
        data_(b_, out_ ? Buffer::send : Buffer::recv, ring_, ranks_),
        moved_(b_.flag()),
        done_(b_.flag()),
        links_(size_t(ranks_)) {
    b_.direction(out_ ? plan::Direction::read : plan::Direction::write);
    if (leaders) slots_.emplace(b_, Buffer::none, ring_, ranks_);
  }

  Plan flat(int k) {
    constexpr int most_rounds = 100;  // each round has a flag
    const int peers = ranks_ - 1, least = std::max((peers + most_rounds - 1) / most_rounds, 1);
    const bool throttled = k > 0;
    k = throttled ? std::clamp(k, least, std::max(peers, 1)) : std::max(peers, 1);
    for (int number = 0; number < peers; ++number) {
      if (number % k == 0) rounds_.emplace_back();
      rounds_.back().push_back(peers_[size_t(number)]);
      link(peers_[size_t(number)]) = {
          .holder = root_, .round = number / k, .before = number < k ? -1 : peers_[size_t(number - k)]};
    }
    last_.assign(peers_.end() - std::min(k, peers), peers_.end());
    if (throttled) {
      b_.parameter("k", k);
      b_.throttle(k);
    }
    return make();
  }

  Plan in_groups(const topo::Tree& tree) {
    for (int rank : peers_) {
      link(rank).holder = tree.parent(rank);
      link(rank).children = tree.children(rank);
      for (int above = tree.parent(rank); above != root_; above = tree.parent(above)) link(above).below.push_back(rank);
    }
    last_ = tree.children(root_);
    if (!last_.empty()) rounds_.push_back(last_);
    return make();
  }

 private:
  Link& link(int rank) { return links_[size_t(rank)]; }

  Plan make() {
    if (rounds_.empty()) rounds_.emplace_back();  // a single rank
    for (size_t round = 0; round < rounds_.size(); ++round) round_flags_.push_back(round == 0 ? data_.flag : b_.flag());
    for (int rank : b_.ranks()) {
      LaneBuilder lane = b_.lane(rank);
      if (rank == root_) root(lane);
      else peer(lane, rank);
    }
    return b_.finish();
  }

  void root(LaneBuilder& lane) {
    data_.publish(lane);
    for (uint16_t flag : round_flags_) {
      if (!out_) lane.post(flag, constant(1), data_.staged());
      lane.post(flag, all_iterations(longest_, out_ ? 0 : 1), data_.direct());
    }
    for (size_t round = 0; round < rounds_.size(); ++round) {
      lane.loop(longest_);
      // Meanwhile the first pieces are still being written, or the last ones are still being read.
      if (!out_ && round == 0) copy_own(lane);
      for (int child : rounds_[round]) {
        const uint16_t own = piece_of(child);
        lane.wait(child, moved_, out_ ? iteration_before_of(own, ring_.depth) : this_iteration_of(own), data_.staged());
        copy_at_root(lane, child);
        for (int rank : link(child).below) copy_at_root(lane, rank);
      }
      lane.post(round_flags_[round], this_iteration(out_ ? 0 : 1), data_.staged());
      if (out_ && round + 1 == rounds_.size()) copy_own(lane);
      lane.end();
    }
    wait_each(lane, last_, done_, constant(1), data_.direct());
  }

  void copy_at_root(LaneBuilder& lane, int rank) const {
    const Operand slot = data_.of(root_, rank);
    if (out_) lane.copy(piece_of(rank), slot, own_send(rank), data_.staged());
    else lane.copy_result(piece_of(rank), own_recv(rank), slot, data_.staged());
  }

  void peer(LaneBuilder& lane, int rank) {
    const Link& at = link(rank);
    const bool leads = !at.children.empty(), under_root = at.holder == root_;
    const StagedView& held = under_root ? data_ : *slots_;
    const uint16_t flag = under_root ? round_flags_[size_t(at.round)] : slots_->flag, own = piece_of(rank);
    const Operand own_there = held.of(at.holder, rank);
    if (leads && !out_) lane.post(slots_->flag, constant(1));
    // Only the line of data_.flag says how the root's view is accessed; the flags of later rounds do not.
    if (under_root && (at.round > 0 || !out_)) lane.wait(root_, data_.flag, this_iteration_of(own));
    if (at.before >= 0) lane.wait(at.before, done_, constant(1));
    lane.loop(own);
    if (out_) {
      lane.wait(at.holder, flag, this_iteration());
      if (leads) {
        wait_each(lane, at.children, moved_, iteration_before(ring_.depth));
        for (int r : at.below) lane.copy(piece_of(r), slots_->of(rank, r), held.of(at.holder, r));
        lane.post(slots_->flag, this_iteration());
      }
      lane.copy_result(own, own_recv(), own_there);
    } else {
      lane.wait(at.holder, flag, this_iteration(1 - ring_.depth));
      lane.copy(own, own_there, own_send());
      if (leads) {
        wait_each(lane, at.children, moved_, this_iteration());
        for (int r : at.below) lane.copy(piece_of(r), held.of(at.holder, r), slots_->of(rank, r));
        lane.post(slots_->flag, this_iteration(1));
      }
    }
    lane.post(moved_, this_iteration()).end();
    if (under_root) lane.post(done_, constant(1));
  }

  const StagedView data_;
  const uint16_t moved_;  // the rank has moved this iteration's chunks of all pieces that it moves
  const uint16_t done_;   // the rank has moved all iterations
  std::optional<StagedView> slots_;
  std::vector<uint16_t> round_flags_;
  std::vector<std::vector<int>> rounds_;  // the root's children; those of one round are served at the same time
  std::vector<int> last_;                 // when these have finished, all children have
  std::vector<Link> links_;               // by rank
};

// ---- the root moves -----------------------------------------------------------------------------------------

class RootMoves : Rooted {
 public:
  RootMoves(const PlanRequest& request, Collective what, const char* name)
      : Rooted(request, what, name, 1), data_(b_, out_ ? Buffer::recv : Buffer::send, ring_), moved_(b_.flag()) {
    b_.direction(out_ ? plan::Direction::write : plan::Direction::read);
    b_.throttle(1);
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      LaneBuilder lane = b_.lane(rank);
      if (rank == root_) root(lane);
      else if (out_) get(lane, rank);
      else give(lane, rank);
    }
    return b_.finish();
  }

 private:
  void root(LaneBuilder& lane) const {
    // Value n+1 of a target's flag: the slots of the first n iterations are free again; value 1: the target has
    // started.
    for (int peer : peers_)
      if (out_) lane.wait(peer, data_.flag, this_iteration_of(piece_of(peer)));
    // In a gather the root copies its own piece first: meanwhile the peers stage theirs, and data that was stored a
    // moment ago is slower to fetch.
    if (!out_) {
      lane.loop(piece_of(root_));
      copy_own(lane);
      lane.end();
    }
    lane.loop(longest_);
    for (int peer : peers_) {
      const uint16_t piece = piece_of(peer);
      lane.wait(peer, data_.flag, this_iteration_of(piece, out_ ? 1 - ring_.depth : 0));
      if (out_) lane.copy(piece, data_.of(peer), own_send(peer));
      else lane.copy_result(piece, own_recv(peer), data_.of(peer));
    }
    if (!peers_.empty()) lane.post(moved_, this_iteration());
    if (out_) copy_own(lane);
    lane.end();
  }

  void get(LaneBuilder& lane, int rank) const {
    const uint16_t own = piece_of(rank);
    data_.publish(lane);
    lane.post(data_.flag, constant(1), data_.staged());
    lane.post(data_.flag, all_iterations(own, 1), data_.direct());
    lane.loop(own).wait(root_, moved_, this_iteration());
    lane.copy_result(own, own_recv(), data_.of(rank), data_.staged());
    lane.post(data_.flag, this_iteration(1), data_.staged()).end();
  }

  void give(LaneBuilder& lane, int rank) const {
    const uint16_t own = piece_of(rank);
    data_.announce(lane, own);
    lane.loop(own).wait(root_, moved_, iteration_before(ring_.depth), data_.staged());
    lane.copy(own, data_.of(rank), own_send(), data_.staged());
    lane.post(data_.flag, this_iteration(), data_.staged()).end();
    lane.wait(root_, moved_, all_iterations(own), data_.direct());
  }

  const StagedView data_;
  const uint16_t moved_;  // the root has moved this iteration's chunk of every piece
};

}  // namespace

Plan peers_move(const PlanRequest& request, Collective what, const char* name, int k) {
  return PeersMove(request, what, name).flat(k);
}

Plan throttled_peers_move(const PlanRequest& request, Collective what, const char* name) {
  constexpr int usual_throttle = 4;  // best, or nearly so, on most machines of CMA IV
  const int k = request.parameters.k;
  return peers_move(request, what, name, k > 0 ? k : usual_throttle);
}

Plan leaders_move(const PlanRequest& request, Collective what, const char* name) {
  return PeersMove(request, what, name, true).in_groups(request.hierarchy->tree_for_root(request.root));
}

Plan root_moves(const PlanRequest& request, Collective what, const char* name) {
  return RootMoves(request, what, name).make();
}

}  // namespace coll::algo
