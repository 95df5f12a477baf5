// SPDX-License-Identifier: BSD-3-Clause
// Allgather through other ranks: whoever has a piece has it for others too. Two lanes a rank: one offers the rank's own
// piece, the other fetches all the rest in the turns of the schedule and offers what others will ask for.
#include <algorithm>

#include "algo/allgather.h"
#include "algo/common.h"

namespace coll::algo {
namespace {

class Relay {
 public:
  Relay(const Request& request, const char* name, const Schedule& schedule)
      : schedule_(schedule),
        ranks_(request.hierarchy->ranks()),
        ring_(ring_of_blocks(request, ranks_)),
        b_(start(Collective::allgather, name, request)),
        held_(b_, Buffer::recv, ring_, ranks_),
        taken_(b_.flag()),
        longest_(piece(b_, any_rank, any_rank, ring_.chunk_bytes)) {
    b_.direction(plan::Direction::read);
    b_.parameter("chunk", ring_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
    for (auto [parameter, value] : schedule.parameters) b_.parameter(parameter, value);
    for (int stage = 1; stage < schedule.stages; ++stage) reached_.push_back(b_.flag());
    for (int rank = 0; rank < ranks_; ++rank) pieces_.push_back(piece(b_, rank, any_rank, ring_.chunk_bytes));
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      const std::vector<int> readers = schedule_.readers(rank);
      offer_own(rank, readers);
      fetch(rank, readers);
    }
    return b_.finish();
  }

 private:
  // Value n+1: n passes of the piece are there. 1 says how the rank's buffer is seen, also where its piece is empty.
  void offer_own(int rank, const std::vector<int>& readers) {
    const uint16_t mine = pieces_[size_t(rank)];
    LaneBuilder lane = b_.lane(rank);
    held_.publish(lane);
    lane.loop(mine);
    wait_each(lane, readers, taken_, pass_before(ring_.depth), held_.staged());
    lane.copy(mine, held_.of(rank, rank), own_send(), held_.staged());
    lane.post(held_.flag, this_pass(1), held_.staged());
    lane.copy(mine, own_recv(rank), own_send());
    lane.post(held_.flag, this_pass(1), held_.direct());
    lane.end();
    lane.post(held_.flag, all_passes(mine, 1));
  }

  void fetch(int rank, const std::vector<int>& readers) {
    const std::vector<bool> asked = asked_of(rank, readers);
    LaneBuilder lane = b_.lane(rank);
    lane.wait(rank, held_.flag, constant(1));  // by the other lane: the view is published
    lane.loop(longest_);
    lane.wait(rank, held_.flag, this_pass_of(pieces_[size_t(rank)], 1));  // its own piece is among those it has
    bool slot_is_free = false;
    for (const Fetch& fetch : schedule_.fetches(rank)) {
      if (fetch.stage == 0) {
        lane.wait(fetch.from, held_.flag, this_pass_of(pieces_[size_t(fetch.from)], 1));
      } else {
        lane.wait(fetch.from, held_.flag, constant(1));
        lane.wait(fetch.from, reached_[size_t(fetch.stage) - 1], this_pass());
      }
      for (int p : fetch.pieces) {
        const uint16_t range = pieces_[size_t(p)];
        lane.copy(range, own_recv(p), held_.of(fetch.from, p), {}, asked[size_t(p)]);
        if (!asked[size_t(p)]) continue;
        if (!slot_is_free) wait_each(lane, readers, taken_, pass_before(ring_.depth), held_.staged());
        slot_is_free = true;
        lane.copy(range, held_.of(rank, p), own_recv(p), held_.staged());
      }
      if (fetch.reaches != 0) lane.post(reached_[size_t(fetch.reaches) - 1], this_pass());
    }
    lane.post(taken_, this_pass()).end();
    wait_each(lane, readers, taken_, all_passes(longest_), held_.direct());
  }

  // Which pieces others fetch from this rank.
  std::vector<bool> asked_of(int rank, const std::vector<int>& readers) const {
    std::vector<bool> asked(pieces_.size());
    for (int reader : readers)
      for (const Fetch& fetch : schedule_.fetches(reader))
        if (fetch.from == rank)
          for (int p : fetch.pieces) asked[size_t(p)] = true;
    return asked;
  }

  const Schedule& schedule_;
  const int ranks_;
  const Ring ring_;
  Builder b_;
  const Window held_;
  const uint16_t taken_, longest_;
  std::vector<uint16_t> reached_;  // by stage - 1
  std::vector<uint16_t> pieces_;   // by sender
};

}  // namespace

Plan relay(const Request& request, const char* name, const Schedule& schedule) {
  if (request.hierarchy->ranks() == 1) return alone(Collective::allgather, name, request);
  return Relay(request, name, schedule).make();
}

}  // namespace coll::algo
