// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts by scatter and allgather (van de Geijn; paper CMA, V-B): every chunk is cut into one slice per rank; each rank
// reads its own slice from the root and all others from ranks that have them.
//
// In the scatter, k ranks at a time read from the root, in the order of their distance from it: one with k=1, all with
// k >= p-1. In the allgather, ranks read from the slices' owners, around a ring, or by recursive doubling. The root is
// only a source in it, because it has all slices.
#include "algo/common.h"
#include "algo/families.h"

namespace coll::algo {
namespace {

enum class Allgather { from_owners, ring, doubling };  // how the second half works

constexpr int most_ring_ranks = 120;  // each step needs a flag, of which a plan has at most 128 (exec::max_flags)
constexpr int usual_throttle = 4;     // best, or nearly so, on most machines of the paper CMA, IV-A

class ScatterAllgather {
 public:
  ScatterAllgather(const PlanRequest& request, const char* name, Allgather allgather)
      : allgather_(allgather),
        ranks_(request.hierarchy->ranks()),
        root_(request.root),
        k_(request.parameters.k > 0 ? request.parameters.k : usual_throttle),
        slice_(ring_of_blocks(request, ranks_)),
        ring_{slice_.chunk_bytes * uint32_t(ranks_), slice_.depth},
        b_(start(Collective::bcast, name, request)),
        data_(b_, Buffer::recv, ring_),
        passed_(b_.flag()),
        chunks_(b_.range({.chunk_bytes = ring_.chunk_bytes})) {
    b_.parameter("chunk", slice_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
    b_.parameter("k", k_);
    b_.direction(plan::Direction::read);
    const int steps = allgather == Allgather::ring ? ranks_ - 2 : allgather == Allgather::doubling ? levels() - 1 : 0;
    for (int step = 0; step < steps; ++step) steps_.push_back(b_.flag());
    // Makes the ranges in the same order whichever programs are made; Builder::range() finds them again later.
    for (int number = 0; number < ranks_; ++number) slices(number, 1);
    if (allgather_ == Allgather::doubling)
      for (int level = 0; level < levels(); ++level)
        for (int first = 0; first < ranks_; first += 1 << level) slices(first, std::min(1 << level, ranks_ - first));
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      LaneBuilder lane = b_.lane(rank);
      if (rank == root_) root(lane);
      else peer(lane, (rank - root_ + ranks_) % ranks_);
    }
    return b_.finish();
  }

 private:
  // Ranks are numbered from the root; slice n belongs to number n.
  int rank_of(int number) const { return (number + root_) % ranks_; }
  uint16_t slices(int first, int count) {
    return b_.range(
        {.sub = uint16_t(first), .subs = uint16_t(ranks_), .span = uint16_t(count), .chunk_bytes = ring_.chunk_bytes});
  }

  void root(LaneBuilder& lane) {
    const std::vector<int> peers = all_but(ranks_, root_);
    data_.announce(lane, chunks_);
    lane.loop(chunks_);
    wait_each(lane, peers, passed_, iteration_before(ring_.depth), data_.staged());
    // The root's send and receive buffer are the same memory.
    lane.copy(chunks_, data_.of(root_), own_send(), data_.staged());
    lane.post(data_.flag, this_iteration(), data_.staged()).end();
    wait_each(lane, peers, passed_, all_iterations(chunks_), data_.direct());
  }

  void peer(LaneBuilder& lane, int number) {
    const std::vector<int> readers = readers_of(number);
    const int before = number - k_;
    if (!readers.empty()) data_.publish(lane);
    lane.loop(chunks_);
    lane.wait(root_, data_.flag, this_iteration());
    // The first readers of an iteration wait for the last readers of the previous one.
    if (before > 0) lane.wait(rank_of(before), data_.flag, this_iteration());
    else if (k_ < ranks_ - 1) lane.wait(rank_of(before + ranks_ - 1), data_.flag, iteration_before(1));
    wait_each(lane, readers, passed_, iteration_before(ring_.depth), data_.staged());
    copy_slices(lane, number, slices(number, 1), root_, !readers.empty());
    lane.post(data_.flag, this_iteration());
    switch (allgather_) {
      case Allgather::from_owners: from_owners(lane, number); break;
      case Allgather::ring: round_the_ring(lane, number); break;
      case Allgather::doubling: by_doubling(lane, number, !readers.empty()); break;
    }
    lane.post(passed_, this_iteration()).end();
    wait_each(lane, readers, passed_, all_iterations(chunks_), data_.direct());
  }

  // Copies slices from another rank; also into the rank's own slots if its view is staged and other ranks read them.
  void copy_slices(LaneBuilder& lane, int number, uint16_t range, int from, bool forwarded) const {
    const int rank = rank_of(number);
    if (!forwarded) return lane.copy_result(range, own_recv(), data_.of(from)), void();
    lane.copy2(range, own_recv(), data_.of(rank), data_.of(from), data_.staged());
    lane.copy(range, own_recv(), data_.of(from), data_.direct());
  }

  void from_owners(LaneBuilder& lane, int number) {
    for (int step = 1; step < ranks_; ++step) {
      const int owner = (number - step + ranks_) % ranks_;
      lane.wait(rank_of(owner), data_.flag, this_iteration());
      copy_slices(lane, number, slices(owner, 1), rank_of(owner), false);
    }
  }

  void round_the_ring(LaneBuilder& lane, int number) {
    const int left = rank_of(number - 1);
    for (int step = 1; step < ranks_; ++step) {
      const bool forwarded = number + 1 < ranks_ && step + 1 < ranks_;
      if (left != root_) lane.wait(left, step == 1 ? data_.flag : steps_[size_t(step) - 2], this_iteration());
      copy_slices(lane, number, slices((number - step + ranks_) % ranks_, 1), left, forwarded);
      if (forwarded) lane.post(steps_[size_t(step) - 1], this_iteration());
    }
  }

  // In by_doubling(), a group of 2^level numbers whose members all have all of its slices exchanges these with its
  // sibling. The last group has fewer members, if the number of ranks is no multiple; each then serves more readers.
  struct Sibling {
    int first, count;  // count <= 0: no sibling
    int source;        // the member that `number` reads from
  };
  Sibling sibling(int number, int level) const {
    const int size = 1 << level, first = number / size * size ^ size, count = std::min(size, ranks_ - first);
    return {first, count, count > 0 ? first + number % size % count : 0};
  }
  int levels() const { return int(std::bit_width(unsigned(ranks_ - 1))); }

  void by_doubling(LaneBuilder& lane, int number, bool has_readers) {
    for (int level = 0; level < levels(); ++level) {
      const Sibling other = sibling(number, level);
      const bool forwarded = has_readers && level + 1 < levels();
      if (other.count > 0) {
        const int source = rank_of(other.source);
        lane.wait(source, data_.flag, this_iteration());
        if (level > 0 && source != root_) lane.wait(source, steps_[size_t(level) - 1], this_iteration());
        copy_slices(lane, number, slices(other.first, other.count), source, forwarded);
      }
      if (forwarded) lane.post(steps_[size_t(level)], this_iteration());
    }
  }

  // The ranks that read slices from the given one in the allgather.
  std::vector<int> readers_of(int number) const {
    std::vector<int> readers;
    for (int reader = 1; reader < ranks_; ++reader) {
      if (reader == number) continue;
      bool reads = allgather_ == Allgather::from_owners || (allgather_ == Allgather::ring && reader == number + 1);
      for (int level = 0; allgather_ == Allgather::doubling && level < levels(); ++level) {
        const Sibling other = sibling(reader, level);
        reads |= other.count > 0 && other.source == number;
      }
      if (reads) readers.push_back(rank_of(reader));
    }
    return readers;
  }

  const Allgather allgather_;
  const int ranks_, root_, k_;
  const Ring slice_, ring_;  // of a slice, of a chunk
  Builder b_;
  const StagedView data_;  // its flag: the rank's slice of the iteration is complete
  const uint16_t passed_;  // the rank has read all it needs of the iteration
  const uint16_t chunks_;
  std::vector<uint16_t> steps_;  // [i]: the rank has the slice of step i + 1 of the ring, or those of level i
};

Plan make(const PlanRequest& request, const char* name, Allgather allgather) {
  if (request.hierarchy->ranks() == 1) return alone(Collective::bcast, name, request);
  return ScatterAllgather(request, name, allgather).make();
}

}  // namespace

bool fits_slice_ring(const PlanRequest& request) { return request.hierarchy->ranks() <= most_ring_ranks; }

Plan scatter_allgather(const PlanRequest& request) {
  return make(request, "scatter_allgather", Allgather::from_owners);
}

Plan scatter_allgather_ring(const PlanRequest& request) {
  return make(request, "scatter_allgather_ring", fits_slice_ring(request) ? Allgather::ring : Allgather::from_owners);
}

Plan scatter_allgather_doubling(const PlanRequest& request) {
  return make(request, "scatter_allgather_doubling", Allgather::doubling);
}

}  // namespace coll::algo
