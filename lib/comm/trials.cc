// SPDX-License-Identifier: BSD-3-Clause
#include "comm/trials.h"

#include <algorithm>
#include <bit>

#include "sync/flag.h"

namespace coll::comm {

using plan::Collective;

// First calls find memory without pages, and long buffers that are about to get huge ones (HugePages); a way that has
// rested finds caches without its staging.
Contest::Contest(size_t bytes) {
  constexpr size_t until_settled = 8, first_bytes = size_t(8) << 20, again_bytes = size_t(2) << 20;
  left_ = uint32_t(until_settled + 1 + first_bytes / bytes);
  ready_ = uint32_t(1 + again_bytes / bytes);
}

Contest::Turn Contest::next() {
  if (left_ > 0) {
    left_--;
    return {.other = other_};
  }
  const uint32_t call = trial_calls_++, half = ready_ + timed;
  return {.other = other_ != (call >= half), .timed = call % half >= ready_, .last = call + 1 == 2 * half};
}

void Contest::took(const Turn& turn, double us) {
  double& least = turn.other ? times_.other_us : times_.usual_us;
  least = std::min(least, us);
}

Contest::Times Contest::agree(std::span<const Times> all) {
  Times slowest{0, 0};
  for (const Times& one : all)
    slowest = {std::max(slowest.usual_us, one.usual_us), std::max(slowest.other_us, one.other_us)};
  const double taken = other_ ? slowest.other_us : slowest.usual_us;
  const double not_taken = other_ ? slowest.usual_us : slowest.other_us;
  const bool changes = not_taken * gain < taken;
  other_ ^= changes;
  left_ = changes ? least_apart : apart_;
  apart_ = std::min(2 * left_, most_apart);
  trial_calls_ = 0;
  times_ = {};
  return slowest;
}

void look_at(std::span<const char> memory) {
  const volatile char* line = memory.data();
  for (size_t at = 0; at < memory.size(); at += sync::line_bytes) (void)line[at];
}

Trials::Trials(int ranks) {
  for (size_t collective = 0; collective < contests_.size(); collective++) {
    const bool pieces = plan::has_blocks(Collective(collective), plan::Buffer::send) ||
                        plan::has_blocks(Collective(collective), plan::Buffer::recv);
    for (size_t c = 0; c < classes; c++)
      contests_[collective][c] = Contest((size_t(1) << c) * (pieces ? size_t(ranks) : 1));
  }
}

Contest& Trials::of(Collective collective, size_t bytes) {
  return contests_[size_t(collective)][size_t(std::bit_width(bytes)) - 1];
}

}  // namespace coll::comm
