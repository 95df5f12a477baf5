// SPDX-License-Identifier: BSD-3-Clause
// The two algorithms that exist only for allreduce, both for short vectors.
#include "algo/common.h"
#include "algo/families.h"

namespace coll::algo {
namespace {

// All ranks stage their vectors, and all ranks reduce everything: one hop. Two slots are sufficient, without
// acknowledgements: a rank that posts its next chunk has finished reading this one.
Plan all_read(const PlanRequest& request) {
  const int ranks = request.hierarchy->ranks();
  if (ranks == 1) return alone(Collective::allreduce, "all_read", request);
  Builder b = start(Collective::allreduce, "all_read", request);
  b.synchronizing();
  Ring ring{ring_of(request).chunk_bytes, 2};
  b.parameter("chunk", ring.chunk_bytes);
  StagedView input(b, Buffer::none, ring);
  const uint16_t chunks = b.range({.chunk_bytes = ring.chunk_bytes});
  for (int rank : b.ranks()) {
    std::vector<Operand> sources;
    for (int q = 0; q < ranks; ++q) sources.push_back(q == rank ? own_send() : input.of(q));
    const Operand to[] = {own_recv()};
    LaneBuilder lane = b.lane(rank);
    lane.loop(chunks);
    lane.copy(chunks, input.of(rank), own_send());
    lane.post(input.flag, this_iteration());
    wait_each(lane, all_but(ranks, rank), input.flag, this_iteration());
    lane.reduce(chunks, to, sources);
    lane.end();
  }
  return b.finish();
}

// In step k a rank combines the result of its block of 2^k aligned ranks with that of its sibling, the other half of a
// block of 2^(k+1): these blocks are the nodes of the balanced order. The last block may be truncated at the number of
// ranks; a block without a sibling is already the next larger block. Each step has a ring of its own. Two slots per
// ring are sufficient, because a rank posts the first flag of the next chunk only after all its steps of this one.
class RecursiveDoubling {
 public:
  explicit RecursiveDoubling(const PlanRequest& request)
      : ranks_(request.hierarchy->ranks()),
        b_(start(Collective::allreduce, "recursive_doubling", request)),
        chunk_bytes_(ring_of(request).chunk_bytes),
        chunks_(b_.range({.chunk_bytes = chunk_bytes_})) {
    b_.synchronizing();
    b_.parameter("chunk", chunk_bytes_);
    for (int size = 1; size < ranks_; size *= 2) blocks_.emplace_back(b_, Buffer::none, Ring{chunk_bytes_, 2});
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      LaneBuilder lane = b_.lane(rank);
      lane.loop(chunks_).copy(chunks_, blocks_[0].of(rank), own_send()).post(blocks_[0].flag, this_iteration());
      for (int step = 0; step < int(blocks_.size()); ++step)
        if (has_sibling(rank, step)) reduce(lane, rank, step);
      lane.end();
    }
    return b_.finish();
  }

 private:
  int sibling(int rank, int step) const { return ((rank >> step) ^ 1) << step; }  // the sibling's first rank
  bool has_sibling(int rank, int step) const { return sibling(rank, step) < ranks_; }
  // If the sibling is shorter than the reader's block, the readers are distributed over its ranks.
  int source(int rank, int step) const {
    const int first = sibling(rank, step), size = std::min(1 << step, ranks_ - first);
    return first + (rank & ((1 << step) - 1)) % size;
  }
  // The view in which a rank shows the result of its block in a step: that of the smallest block with the same ranks.
  const StagedView& shown(int rank, int step) const {
    while (step > 0 && !has_sibling(rank, step - 1)) --step;
    return blocks_[size_t(step)];
  }

  void reduce(LaneBuilder& lane, int rank, int step) const {
    const int other = source(rank, step);
    lane.wait(other, shown(other, step).flag, this_iteration());
    const Operand sources[] = {shown(std::min(rank, other), step).of(std::min(rank, other)),
                               shown(std::max(rank, other), step).of(std::max(rank, other))};
    const bool last = step + 1 == int(blocks_.size());
    const Operand to[] = {last ? own_recv() : blocks_[size_t(step) + 1].of(rank)};
    lane.reduce(chunks_, to, sources);
    if (!last) lane.post(blocks_[size_t(step) + 1].flag, this_iteration());
  }

  const int ranks_;
  Builder b_;
  const uint32_t chunk_bytes_;
  const uint16_t chunks_;
  std::vector<StagedView> blocks_;  // by step: the result of the rank's block of 2^step ranks
};

Plan recursive_doubling(const PlanRequest& request) {
  if (request.hierarchy->ranks() == 1) return alone(Collective::allreduce, "recursive_doubling", request);
  return RecursiveDoubling(request).make();
}

const Algorithm family[] = {
    {.collective = Collective::allreduce,
     .name = "all_read",
     .summary = "every rank reduces the data of all ranks: for very short vectors",
     .source = "this project",
     .reads = {.chunk = true},
     .described = plan::AccessMode::staged,
     .max_bytes = 16384,
     .applies = always,
     .make = all_read},
    {.collective = Collective::allreduce,
     .name = "recursive_doubling",
     .summary = "log2 p steps: each rank reduces its block of ranks with the neighbouring one of equal size",
     .source = "Thakur, Rabenseifner and Gropp 2005",
     .stores_partials = true,
     .reads = {.chunk = true},
     .described = plan::AccessMode::staged,
     .max_bytes = 65536,
     .applies = always,
     .make = recursive_doubling},
};

}  // namespace

std::span<const Algorithm> allreduce_family() { return family; }

}  // namespace coll::algo
