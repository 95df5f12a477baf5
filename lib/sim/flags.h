// SPDX-License-Identifier: BSD-3-Clause
// When readers see a post. A flag is a cache line with one writer: a post reaches a reader after the latency of their
// distance, a line serves its readers one after another, and readers that share an L3 fetch it once (XHC V-D).
#pragma once

#include <cstdint>
#include <vector>

#include "model/table.h"
#include "plan/machine.h"
#include "topo/hierarchy.h"

namespace coll::sim {

class Flags {
 public:
  Flags(const plan::Machine& machine, const topo::Hierarchy& hierarchy, const model::Table& table);

  void post(uint32_t flag, int64_t value, double now);

  // Returns when a lane, which waits at its current step for `value` of `flag` and reads the flag at time `now`, goes
  // on (`at`), and when the post was made that meets the wait (`posted`). REQUIRES: that value has been posted.
  struct Seen {
    double at = 0, posted = 0;
  };
  Seen see(const plan::LaneState& lane, uint32_t flag, int64_t value, double now);

 private:
  struct Post {
    int64_t value;
    double at;
  };
  // The newest value of a flag that a rank, or the caches of an L3, have read, and when it arrived there.
  struct Copy {
    int64_t value = 0;
    double at = 0;
  };
  struct Line {
    std::vector<Post> posts;
    double free_at = 0;
  };
  struct Waits {
    uint32_t own = 0, shared = 0;  // indices of copies_: of the rank; of its L3 (the same if it has none)
  };

  const topo::Hierarchy& hierarchy_;
  const model::Table& table_;
  int flags_per_rank_;
  std::vector<Line> lines_;
  std::vector<uint32_t> first_step_;  // by lane
  std::vector<Waits> waits_;          // steps of all lanes in order; those of a lane begin at first_step_
  std::vector<Copy> copies_;
};

}  // namespace coll::sim
