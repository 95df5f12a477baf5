// SPDX-License-Identifier: BSD-3-Clause
// The balanced fold (Plan::balanced) in several steps.
#pragma once

#include <bit>
#include <span>
#include <vector>

#include "algo/common.h"
#include "algo/nodes.h"

namespace coll::algo {

// The number of operands in the left half of the balanced fold. REQUIRES: at least 2 operands.
inline size_t left_of_fold(size_t operands) { return std::bit_floor(operands - 1); }

// Folds all sources in one step. REQUIRES: at least one source.
inline void fold(LaneBuilder& lane, uint16_t range, Operand to, std::span<const Operand> sources) {
  if (sources.size() == 1) lane.copy(range, to, sources[0]);
  else lane.reduce(range, {&to, 1}, sources);
}

// Temporary memory in plain staging for the partial results of fold_pairs() and fold_nodes(), one chunk each.
class Boxes {
 public:
  // For fold_pairs(). REQUIRES: at least 2 operands.
  Boxes(Builder& b, uint32_t chunk_bytes, int operands)
      : Boxes(std::bit_width(unsigned(operands - 1)), b, chunk_bytes) {}
  // REQUIRES: count >= 1.
  static Boxes exactly(int count, Builder& b, uint32_t chunk_bytes) { return {count, b, chunk_bytes}; }
  std::vector<Operand> of(int rank) const {
    std::vector<Operand> all;
    for (int box = 0; box < count_; ++box) all.push_back(window_.of(rank, count_ > 1 ? box : int(plan::no_block)));
    return all;
  }

 private:
  Boxes(int count, Builder& b, uint32_t chunk_bytes)
      : count_(count), window_(b, Buffer::none, {chunk_bytes, 1}, count_) {}

  int count_;
  StagedView window_;
};

// The balanced fold of `sources`, two operands per step; the steps store partial results in `boxes` (Boxes). Returns
// the operand that holds the result: the first box, or the only source.
inline Operand fold_pairs(LaneBuilder& lane, uint16_t range, std::span<const Operand> sources,
                          std::span<const Operand> boxes);

// Returns the two operands whose combination is the fold; the caller chooses the destination. REQUIRES: at least two
// sources.
inline std::vector<Operand> fold_halves(LaneBuilder& lane, uint16_t range, std::span<const Operand> sources,
                                        std::span<const Operand> boxes) {
  const size_t left = left_of_fold(sources.size());
  const Operand first = fold_pairs(lane, range, sources.first(left), boxes);
  return {first, fold_pairs(lane, range, sources.subspan(left), boxes.subspan(left > 1 ? 1 : 0))};
}

inline Operand fold_pairs(LaneBuilder& lane, uint16_t range, std::span<const Operand> sources,
                          std::span<const Operand> boxes) {
  if (sources.size() == 1) return sources[0];
  const std::vector<Operand> halves = fold_halves(lane, range, sources, boxes);
  lane.reduce(range, boxes.first(1), halves);
  return boxes[0];
}

// Appends all of `steps` (fold_steps()) except the last, whose operands it returns; the caller chooses the destination.
inline std::vector<Operand> fold_nodes(LaneBuilder& lane, uint16_t range, std::span<const FoldStep> steps,
                                       std::span<const Operand> sources, std::span<const Operand> boxes) {
  std::vector<Operand> from;
  for (const FoldStep& step : steps) {
    from.clear();
    for (int source : step.sources) from.push_back(source >= 0 ? sources[size_t(source)] : boxes[size_t(~source)]);
    if (step.box >= 0) lane.reduce(range, boxes.subspan(size_t(step.box), 1), from);
  }
  return from;
}

}  // namespace coll::algo
