// SPDX-License-Identifier: BSD-3-Clause
// Allgather through other ranks: a rank that has a piece offers it to others. Each rank has two lanes: one offers the
// rank's own piece, the other fetches all other pieces in the order of the schedule and offers those that other ranks
// fetch.
#include <algorithm>

#include "algo/allgather.h"
#include "algo/common.h"

namespace coll::algo {
namespace {

class Relay {
 public:
  Relay(const PlanRequest& request, const char* name, const Schedule& schedule)
      : schedule_(schedule),
        ranks_(request.hierarchy->ranks()),
        ring_(ring_of_blocks(request, ranks_)),
        b_(start(Collective::allgather, name, request)),
        held_(b_, Buffer::recv, ring_, ranks_),
        consumed_(b_.flag()),
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
  // Value n+1 of the flag: n iterations of the piece are complete. Value 1 says how the rank's buffer is accessed, also
  // if its piece is empty.
  void offer_own(int rank, const std::vector<int>& readers) {
    const uint16_t mine = pieces_[size_t(rank)];
    LaneBuilder lane = b_.lane(rank);
    held_.publish(lane);
    lane.loop(mine);
    wait_each(lane, readers, consumed_, iteration_before(ring_.depth), held_.staged());
    lane.copy(mine, held_.of(rank, rank), own_send(), held_.staged());
    lane.post(held_.flag, this_iteration(1), held_.staged());
    lane.copy(mine, own_recv(rank), own_send());
    lane.post(held_.flag, this_iteration(1), held_.direct());
    lane.end();
    lane.post(held_.flag, all_iterations(mine, 1));
  }

  void fetch(int rank, const std::vector<int>& readers) {
    const std::vector<bool> asked = asked_of(rank, readers);
    LaneBuilder lane = b_.lane(rank);
    lane.wait(rank, held_.flag, constant(1));  // the other lane has published the view
    lane.loop(longest_);
    lane.wait(rank, held_.flag, this_iteration_of(pieces_[size_t(rank)], 1));  // stages include the own piece
    bool slot_is_free = false;
    for (const Fetch& fetch : schedule_.fetches(rank)) {
      if (fetch.stage == 0) {
        lane.wait(fetch.from, held_.flag, this_iteration_of(pieces_[size_t(fetch.from)], 1));
      } else {
        lane.wait(fetch.from, held_.flag, constant(1));
        lane.wait(fetch.from, reached_[size_t(fetch.stage) - 1], this_iteration());
      }
      for (int p : fetch.pieces) {
        const uint16_t range = pieces_[size_t(p)];
        if (!asked[size_t(p)]) {
          lane.copy_result(range, own_recv(p), held_.of(fetch.from, p));
          continue;
        }
        lane.copy(range, own_recv(p), held_.of(fetch.from, p));
        if (!slot_is_free) wait_each(lane, readers, consumed_, iteration_before(ring_.depth), held_.staged());
        slot_is_free = true;
        lane.copy(range, held_.of(rank, p), own_recv(p), held_.staged());
      }
      if (fetch.reaches != 0) lane.post(reached_[size_t(fetch.reaches) - 1], this_iteration());
    }
    lane.post(consumed_, this_iteration()).end();
    wait_each(lane, readers, consumed_, all_iterations(longest_), held_.direct());
  }

  // Which pieces other ranks fetch from this one.
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
  const StagedView held_;
  const uint16_t consumed_, longest_;
  std::vector<uint16_t> reached_;  // by stage - 1
  std::vector<uint16_t> pieces_;   // by sender
};

}  // namespace

Plan relay(const PlanRequest& request, const char* name, const Schedule& schedule) {
  if (request.hierarchy->ranks() == 1) return alone(Collective::allgather, name, request);
  return Relay(request, name, schedule).make();
}

}  // namespace coll::algo
