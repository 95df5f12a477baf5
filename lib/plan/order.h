// SPDX-License-Identifier: BSD-3-Clause
// The happens-before relation of a run, by vector clocks over lanes.
//
// Lanes are numbered through all ranks. A lane's time is the number of steps it has taken, so an epoch (lane, time)
// identifies a step, and a report can name it. A post keeps a copy of its lane's clock; a wait for a value joins the
// clock of the *first* post that reaches it, because every interleaving guarantees only that one. Each cell remembers
// the last write and the reads since: one epoch while the reads are ordered, a clock of its own once they are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coll::plan {

// A step: lane << 20 | time; 0: none. Bit 31 marks a set of readers, whose index is in the other bits.
using Epoch = uint32_t;

class Order {
 public:
  static constexpr size_t most_lanes = 2047;
  static constexpr uint32_t most_steps = (1u << 20) - 1;
  static uint32_t lane_of(Epoch epoch) { return epoch >> 20; }
  static uint32_t time_of(Epoch epoch) { return epoch & most_steps; }

  // An earlier access that is not ordered before the present one; there is none if epoch is 0.
  struct Conflict {
    uint32_t cell = 0;
    Epoch epoch = 0;
    bool write = false;
  };

  void reset(size_t lanes, size_t cells, size_t flags);

  // Begins the step of `lane` at `time`; the calls below concern this step.
  void step(uint32_t lane, uint32_t time) {
    now_ = lane << 20 | time;
    clock(lane)[lane] = int32_t(time);
  }
  Epoch now() const { return now_; }
  // Whether `epoch` comes before the present step of `lane`.
  bool before(Epoch epoch, uint32_t lane) const { return int32_t(time_of(epoch)) <= clock(lane)[lane_of(epoch)]; }

  Conflict read(uint32_t lane, uint32_t cell, size_t cells);
  Conflict write(uint32_t lane, uint32_t cell, size_t cells);
  // Returns false if an earlier post of the flag is not ordered before this one.
  bool post(uint32_t lane, uint32_t flag, int64_t value);
  void wait(uint32_t lane, uint32_t flag, int64_t value);

  // Returns an access of `cells` that is not ordered before the ends of `lanes`, which are all lanes of one rank.
  Conflict unfinished(uint32_t first_lane, uint32_t lanes, uint32_t cell, size_t cells);
  // Whether the end of any of `lanes` comes after any step of any of `others`.
  bool after(uint32_t first_lane, uint32_t lanes, uint32_t first_other, uint32_t others) const;

 private:
  static constexpr Epoch many = 1u << 31;
  static constexpr uint32_t none_kept = ~0u;
  struct Post {
    int64_t value;
    Epoch epoch;
    uint32_t clock;  // index into kept_: the lane's clock at the post, except that its own entry may be earlier
  };
  struct Shadow {
    Epoch write = 0, read = 0;
  };

  int32_t* clock(uint32_t lane) { return &clocks_[size_t(lane) * width_]; }
  const int32_t* clock(uint32_t lane) const { return &clocks_[size_t(lane) * width_]; }
  void join(int32_t* into, const int32_t* from) const;
  // Returns a reader that is not ordered before `clock`, or 0 if there is none.
  Epoch unordered_reader(const Shadow& shadow, const int32_t* clock) const;
  void add_reader(Shadow& shadow, uint32_t lane);

  size_t lanes_ = 0, width_ = 0;
  Epoch now_ = 0;
  std::vector<int32_t> clocks_;           // by lane
  std::vector<int32_t> kept_;             // clocks of posts; all posts of a lane between two joins share one
  std::vector<uint32_t> kept_of_;         // by lane: the kept clock that its next post may share, or none_kept
  std::vector<std::vector<Post>> posts_;  // by flag, in order of posting
  std::vector<Shadow> shadows_;           // by cell
  std::vector<int32_t> readers_;          // clocks of sets of readers
  std::vector<uint32_t> free_readers_;
  std::vector<int32_t> end_;
};

}  // namespace coll::plan
