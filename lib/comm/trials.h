// SPDX-License-Identifier: BSD-3-Clause
// A rule may have more than one candidate for long vectors (tune::Selection::alternatives): staging or kernel-assisted
// copies, shorter or longer chunks, reductions for mapped or for other memory. Which is faster depends on the processor, on
// the distance of the cores, on the buffers and their pages and on other load: calls of a program take both ways in turn now
// and then, and the next ones take the faster. What arrives is the same either way.
//
// All ranks number their calls alike, so that all take the same way:
// 1. Which way a call takes follows from its number, and from what was agreed before it.
// 2. A rank takes its own times; what is agreed is made of all ranks' times, and each makes the same of them.
// A late rank makes the others wait, whichever way they take: of a way the shortest time counts, and of the ranks the
// slowest. What a rank has got it looks at within the time: what was left in another core's caches has still to come.
// What is level stays as it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "plan/plan.h"
#include "tune/select.h"

namespace coll::comm {

// The two ways of one collective and one class of sizes.
class Contest {
 public:
  static constexpr uint32_t timed = 3;                             // calls each way in a trial
  static constexpr uint32_t least_apart = 256, most_apart = 4096;  // between trials; the more often one changes nothing
  static constexpr double gain = 1.05;                             // from here on a way is faster

  // For calls in which a rank moves about so many bytes.
  explicit Contest(size_t bytes = size_t(1) << 20);

  struct Turn {
    bool other = false;  // not the way that is usual for such calls
    bool timed = false;
    bool last = false;  // ranks agree after it
  };
  // The least time of each way in a trial, in microseconds.
  struct Times {
    double usual_us = std::numeric_limits<double>::infinity(), other_us = usual_us;
  };

  // The next call's.
  Turn next();
  // Of a timed call.
  void took(const Turn& turn, double us);
  const Times& times() const { return times_; }
  // After the last call of a trial, on all ranks with the same: [ranks]. What was compared.
  Times agree(std::span<const Times> all);
  bool takes_other() const { return other_; }

 private:
  uint32_t ready_;                // calls of a way that come before those that are timed
  uint32_t left_;                 // until the next trial
  uint32_t apart_ = least_apart;  // after the one that comes next
  uint32_t trial_calls_ = 0;      // of the trial that is under way
  bool other_ = false;
  Times times_;
};

// Loads a word of every line.
void look_at(std::span<const char> memory);

class Trials {
 public:
  static constexpr size_t least_bytes = tune::tuned_min_bytes;

  explicit Trials(int ranks);
  // REQUIRES: bytes > 0.
  Contest& of(plan::Collective collective, size_t bytes);

 private:
  static constexpr size_t classes = 48;  // of what fits an address space
  std::array<std::array<Contest, classes>, plan::collectives> contests_;
};

}  // namespace coll::comm
