// SPDX-License-Identifier: BSD-3-Clause
// Bruck's alltoall. Piece i of a rank is the one for the rank i above it. In step k the pieces whose bit k is set
// advance by 2^k ranks: every rank reads them from the rank 2^k below. After its last bit a piece has arrived and goes
// to the receive buffer; before that it is in a slot block, one for each of its hops, so that each block is written
// once per iteration.
#include <bit>

#include "algo/alltoall.h"
#include "algo/common.h"

namespace coll::algo {
namespace {

int bits(int i) { return std::popcount(unsigned(i)); }

class Bruck {
 public:
  explicit Bruck(const Request& request)
      : ranks_(request.hierarchy->ranks()),
        ring_(ring_of_blocks(request, places())),
        b_(start(Collective::alltoall, "bruck", request)),
        shared_(b_, Buffer::none, ring_, places()),
        consumed_(b_.flag()),
        all_(piece(b_, any_rank, any_rank, ring_.chunk_bytes)) {
    b_.parameter("chunk", ring_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
    for (int distance = 1; distance < ranks_; distance *= 2) ready_.push_back(b_.flag());
    for (int i = 0, place = 0; i < ranks_; place += bits(i++)) first_place_.push_back(place);
  }

  Plan make() {
    for (int rank : b_.ranks()) program(rank);
    return b_.finish();
  }

 private:
  int places() const {
    int sum = 0;
    for (int i = 1; i < ranks_; ++i) sum += bits(i);
    return sum;
  }
  int rank_of(int number) const { return (number + ranks_) % ranks_; }
  // The place of piece i on `rank` before it advances by `distance`.
  Operand waiting(int rank, int i, int distance) const {
    return shared_.of(rank, first_place_[size_t(i)] + bits(i & (distance - 1)));
  }

  void program(int rank) {
    LaneBuilder lane = b_.lane(rank);
    lane.loop(all_);
    for (int distance = 1; distance < ranks_; distance *= 2)
      lane.wait(rank_of(rank + distance), consumed_, iteration_before(ring_.depth));
    for (int i = 1; i < ranks_; ++i) lane.copy(all_, waiting(rank, i, 1), own_send(rank_of(rank + i)));
    int step = 0;
    lane.post(ready_[0], this_iteration());
    lane.copy(all_, own_recv(rank), own_send(rank), {}, false);
    for (int distance = 1; distance < ranks_; distance *= 2) {
      const int from = rank_of(rank - distance);
      lane.wait(from, ready_[size_t(step++)], this_iteration());
      for (int i = 1; i < ranks_; ++i) {
        if ((i & distance) == 0) continue;
        if (i < 2 * distance) lane.copy(all_, own_recv(rank_of(rank - i)), waiting(from, i, distance), {}, false);
        else lane.copy(all_, waiting(rank, i, 2 * distance), waiting(from, i, distance));
      }
      if (2 * distance < ranks_) lane.post(ready_[size_t(step)], this_iteration());
    }
    lane.post(consumed_, this_iteration()).end();
  }

  const int ranks_;
  const Ring ring_;
  Builder b_;
  const Window shared_;
  const uint16_t consumed_, all_;
  std::vector<uint16_t> ready_;   // by step: the pieces that advance in it are in the rank's slots
  std::vector<int> first_place_;  // [i]: first block of piece i in a slot
};

}  // namespace

Plan alltoall_bruck(const Request& request) {
  if (request.hierarchy->ranks() == 1) return alone(Collective::alltoall, "bruck", request);
  return Bruck(request).make();
}

}  // namespace coll::algo
