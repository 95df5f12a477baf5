// SPDX-License-Identifier: BSD-3-Clause
// Bruck's alltoall. Piece i of a rank is the one for the rank i above it. In step k the pieces whose bit k is set
// advance by 2^k ranks: every rank reads them from the rank 2^k below. A piece makes as many moves as i has bits set;
// the last one goes to the receive buffer. Before each move the piece stands in a block of the staging of the rank that it
// has reached. Each of a piece's moves has a block of its own, so that every block is written once per iteration.
#include <bit>

#include "algo/alltoall.h"
#include "algo/common.h"

namespace coll::algo {
namespace {

int set_bits(int i) { return std::popcount(unsigned(i)); }

class Bruck {
 public:
  explicit Bruck(const PlanRequest& request)
      : ranks_(request.hierarchy->ranks()),
        ring_(ring_of_blocks(request, blocks())),
        b_(start(Collective::alltoall, "bruck", request)),
        staging_(b_, Buffer::none, ring_, blocks()),
        consumed_(b_.flag()),
        longest_(piece(b_, any_rank, any_rank, ring_.chunk_bytes)) {
    b_.parameter("chunk", ring_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
    for (int distance = 1; distance < ranks_; distance *= 2) ready_.push_back(b_.flag());
    for (int i = 0, block = 0; i < ranks_; block += set_bits(i++)) first_block_.push_back(block);
  }

  Plan make() {
    for (int rank : b_.ranks()) program(rank);
    return b_.finish();
  }

 private:
  // Blocks of a slot: one for each move of each piece.
  int blocks() const {
    int sum = 0;
    for (int i = 1; i < ranks_; ++i) sum += set_bits(i);
    return sum;
  }
  int rank_of(int number) const { return (number + ranks_) % ranks_; }
  // The block of piece i on `rank` before it advances by `distance`; it has moved once for each lower bit that is set.
  Operand waiting(int rank, int i, int distance) const {
    return staging_.of(rank, first_block_[size_t(i)] + set_bits(i & (distance - 1)));
  }

  void program(int rank) {
    LaneBuilder lane = b_.lane(rank);
    lane.loop(longest_);
    for (int distance = 1; distance < ranks_; distance *= 2)
      lane.wait(rank_of(rank + distance), consumed_, iteration_before(ring_.depth));
    for (int i = 1; i < ranks_; ++i) lane.copy(longest_, waiting(rank, i, 1), own_send(rank_of(rank + i)));
    int step = 0;
    lane.post(ready_[0], this_iteration());
    // Only now the own block, so that no peer waits for it.
    lane.copy_result(longest_, own_recv(rank), own_send(rank));
    for (int distance = 1; distance < ranks_; distance *= 2) {
      const int from = rank_of(rank - distance);
      lane.wait(from, ready_[size_t(step++)], this_iteration());
      for (int i = 1; i < ranks_; ++i) {
        if ((i & distance) == 0) continue;
        if (i < 2 * distance) lane.copy_result(longest_, own_recv(rank_of(rank - i)), waiting(from, i, distance));
        else lane.copy(longest_, waiting(rank, i, 2 * distance), waiting(from, i, distance));
      }
      if (2 * distance < ranks_) lane.post(ready_[size_t(step)], this_iteration());
    }
    lane.post(consumed_, this_iteration()).end();
  }

  const int ranks_;
  const Ring ring_;
  Builder b_;
  const StagedView staging_;
  const uint16_t consumed_;       // the rank has read its peers' slots of the iteration
  const uint16_t longest_;        // the range of the longest piece
  std::vector<uint16_t> ready_;   // by step: the pieces that advance in it are in the rank's slots
  std::vector<int> first_block_;  // [i]: the first block of piece i in a slot
};

}  // namespace

Plan alltoall_bruck(const PlanRequest& request) {
  if (request.hierarchy->ranks() == 1) return alone(Collective::alltoall, "bruck", request);
  return Bruck(request).make();
}

}  // namespace coll::algo
