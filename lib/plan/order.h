// SPDX-License-Identifier: BSD-3-Clause
// What happens before what, by vector clocks over lanes.
//
// Lanes are numbered through all ranks. A lane's time is the number of steps it has taken, so an epoch (lane, time)
// names a step, and a report can say which one it was. A post keeps a copy of its lane's clock; a wait for a value joins
// the clock of the *first* post that reaches it, which is all that every interleaving guarantees. Cells remember the last
// write and the reads since: one epoch while the reads are ordered, a clock of their own once they are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coll::plan {

// 0: never. Bit 31 marks a set of readers, of which the rest is the number.
using Epoch = uint32_t;

class Order {
 public:
  static constexpr size_t most_lanes = 2047;
  static constexpr uint32_t most_steps = (1u << 20) - 1;
  static uint32_t lane_of(Epoch epoch) { return epoch >> 20; }
  static uint32_t time_of(Epoch epoch) { return epoch & most_steps; }

  // An earlier access that is not ordered before the present one; none when epoch is 0.
  struct Conflict {
    uint32_t cell = 0;
    Epoch epoch = 0;
    bool write = false;
  };

  void reset(size_t lanes, size_t cells, size_t flags);

  // The step that `lane` takes now.
  void step(uint32_t lane, uint32_t time) {
    now_ = lane << 20 | time;
    clock(lane)[lane] = int32_t(time);
  }
  Epoch now() const { return now_; }
  // Whether `epoch` comes before the present step of `lane`.
  bool before(Epoch epoch, uint32_t lane) const { return int32_t(time_of(epoch)) <= clock(lane)[lane_of(epoch)]; }

  Conflict read(uint32_t lane, uint32_t cell, size_t cells);
  Conflict write(uint32_t lane, uint32_t cell, size_t cells);
  // False when an earlier post of the flag is not ordered before this one.
  bool post(uint32_t lane, uint32_t flag, int64_t value);
  void wait(uint32_t lane, uint32_t flag, int64_t value);

  // The accesses of `cells` that `lanes` (all lanes of one rank, at their ends) did not wait for.
  Conflict unfinished(uint32_t first_lane, uint32_t lanes, uint32_t cell, size_t cells);
  // Whether any of `lanes` at its end comes after any step of one of `others`.
  bool after(uint32_t first_lane, uint32_t lanes, uint32_t first_other, uint32_t others) const;

 private:
  static constexpr Epoch many = 1u << 31;
  static constexpr uint32_t none_kept = ~0u;
  struct Post {
    int64_t value;
    Epoch epoch;
    uint32_t clock;  // index into kept_: the lane's clock then, but for its own time, which may be earlier
  };
  struct Shadow {
    Epoch write = 0, read = 0;
  };

  int32_t* clock(uint32_t lane) { return &clocks_[size_t(lane) * width_]; }
  const int32_t* clock(uint32_t lane) const { return &clocks_[size_t(lane) * width_]; }
  void join(int32_t* into, const int32_t* from) const;
  // A reader not ordered before `clock`, 0 when there is none.
  Epoch unordered_reader(const Shadow& shadow, const int32_t* clock) const;
  void add_reader(Shadow& shadow, uint32_t lane);

  size_t lanes_ = 0, width_ = 0;
  Epoch now_ = 0;
  std::vector<int32_t> clocks_;           // per lane
  std::vector<int32_t> kept_;             // clocks of posts; one serves all posts between two joins of a lane
  std::vector<uint32_t> kept_of_;         // per lane: the kept clock that a post may share, or none_kept
  std::vector<std::vector<Post>> posts_;  // per flag, in order
  std::vector<Shadow> shadows_;           // per cell
  std::vector<int32_t> readers_;          // clocks of sets of readers
  std::vector<uint32_t> free_readers_;
  std::vector<int32_t> end_;
};

}  // namespace coll::plan
