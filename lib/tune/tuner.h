// SPDX-License-Identifier: BSD-3-Clause
// Auto-tuning: while a program runs, the calls of a communicator measure which of several candidates is fastest. A cell
// serves one collective and one size class. It first rests, then holds trials: its calls use the candidates in turn,
// and some of these calls are timed. All candidates give the same bits (candidates()).
//
// All ranks make the same decisions, without locks:
//  1. All ranks make the calls of a cell in the same order. The candidate of a call depends on the number of the call
//     and on the times exchanged before it.
//  2. A rank notes when its timed calls begin and end. After at most `samples` timed calls the ranks exchange their
//     notes: each rank writes its own TimesLine and reads those of all ranks. Every rank evaluates all lines alike.
//  3. A channel uses its lines in turn: exchange N uses line N mod 2 of each rank. A line has one writer, which stores
//     `number` last (release). A reader loads `number` first (acquire), and reads the notes once it is N.
//  4. A rank writes exchange N + 2 only after it has read all lines of exchange N + 1. Each of those was written after
//     its rank had read all lines of exchange N, so no rank still reads a line that is overwritten.
//  5. Exchanges of a channel are numbered in the order of its calls. When an exchange is complete, all ranks have begun
//     the call that reads it, so no rank waits for a rank that has not made the same calls.
//
// The duration of a call is the time from the moment the last rank begins it to the moment the last rank ends it, so
// waiting for a late rank does not count. In a loop of calls these durations add up to the time of the loop.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "plan/geometry.h"
#include "plan/plan.h"
#include "tune/choice.h"

namespace coll::tune {

inline constexpr size_t samples = 7;  // timed calls per exchange

// The notes of one rank: times of the system-wide monotonic clock in nanoseconds, modulo 2^32. If begin and end are 0,
// this rank did not time the call, so it does not count. An even end means that the rank lost its core during the call.
struct Notes {
  std::array<uint32_t, samples> begin_ns{}, end_ns{};
};

struct alignas(plan::cache_line_bytes) TimesLine {
  std::atomic<uint64_t> number;
  Notes notes;
};
static_assert(sizeof(TimesLine) == plan::cache_line_bytes);
inline constexpr size_t lines_in_turn = 2;

// The duration of a sample from the notes of all ranks; 0 if it does not count. REQUIRES: a call of less than two
// seconds.
uint32_t duration_ns(std::span<const Notes> all, size_t sample);

struct TimedChoice {
  Choice choice;         // algorithm null: the latency path
  double us = 0;         // time of a call of Cell::bytes() in its last trial; 0: never timed
  bool dropped = false;  // much slower than the best candidate
};

class Cell {
 public:
  static constexpr uint32_t warmup_calls = 4;  // before begin()
  static constexpr uint32_t least_rest = 128,
                            most_rest = 4096;  // calls between trials; more while the choice does not change
  static constexpr double gain = 1.03;         // a candidate must be faster by this factor to replace another
  static constexpr double much_worse = 1.5;    // slower than the best by this factor: dropped after three timed calls
  static constexpr double cost = 0.005;        // maximum share of the time between trials that a trial may cost
  // Overhead of a timed call: it reads the clock and the counter of context switches twice, and the result once.
  static constexpr double timed_call_us = 0.6;
  static constexpr size_t most_first = 8, most_final = 3, most_candidates = 32;

  // The candidate that a call uses, and whether the call is timed.
  struct Assignment {
    uint8_t candidate = 0;
    int8_t sample = -1;     // >= 0: the call is timed
    uint32_t exchange = 0;  // the exchange that includes its time
  };
  // Returns variants of a candidate that has just won, to be timed as well.
  using Variants = std::function<std::vector<Choice>(const Choice& winner)>;

  // exchange_us: the approximate cost of one exchange; < 0: the time of a call.
  explicit Cell(double exchange_us = 0) : exchange_us_(exchange_us) {}

  // Returns true for calls between trials, which use candidate now(). Most calls need nothing else.
  bool rests() { return left_ > 0 && left_-- > 0; }
  uint8_t now() const { return now_; }

  // Called after rests() has returned false. If it returns false, begin() must be called first.
  bool has_begun() const { return !candidates_.empty(); }
  struct Start {
    size_t first = 0;      // the candidate to begin with
    bool learned = false;  // an earlier program learned it, so the first trial can wait
    bool watched = false;  // time a single candidate, too
    // Calls with the first candidate before the first trial, until its staging has pages: otherwise its time includes
    // page faults, and a slower candidate may replace it.
    uint32_t rest = 0;
    // Calls after a change of candidates that are not timed, because the new candidate's staging is not in the caches
    // yet.
    uint32_t warm = 1;
  };
  // candidates[0] is the choice of the books. Calls of other sizes in the class use the books' choice for their own
  // size.
  void begin(std::vector<Choice> candidates, Variants variants, const Start& how);
  void begin(std::vector<Choice> candidates, Variants variants) {
    begin(std::move(candidates), std::move(variants), Start());
  }
  // Whether the ranks must exchange and learn their times before assign().
  bool awaits_times() const { return awaits_; }
  // The candidate of the next call, which has `bytes` bytes.
  Assignment assign(size_t bytes);
  // Notes when a timed call began and ended on this rank. Has no effect after the exchange of the assignment.
  void record(const Assignment& assignment, int64_t begin_ns, int64_t end_ns);
  const Notes& notes() const { return notes_; }
  // `all`: [ranks], equal on all ranks. Returns true if a trial has ended.
  bool learn(std::span<const Notes> all);

  // Calls on several channels are assigned candidates in this order.
  uint64_t started = 0, taken = 0;

  std::span<const TimedChoice> candidates() const { return candidates_; }
  size_t bytes() const { return bytes_; }  // of the first call of a trial
  uint32_t trials() const { return trials_; }
  double usual_us() const { return candidates_.empty() ? 0 : candidates_[0].us; }

 private:
  // `variants`: variants of the leader. `duel`: the leader against the candidate in use, which it replaces only if its
  // median is lower by the factor `gain` and its call is the faster one in 5/8 of all pairs of their calls, because the
  // fastest of many candidates is often fast by chance. `review`: the candidate in use and the best others, in later
  // trials.
  enum class Stage : uint8_t { first, final, variants, duel, review };

  void start(Stage stage, std::vector<uint8_t> entrants);
  void end_pass();
  void decide();
  void try_variants();
  void challenge();
  void rest();
  std::vector<uint8_t> best(size_t most) const;

  uint32_t left_ = warmup_calls;
  uint8_t now_ = 0;
  bool awaits_ = false, changed_ = false;
  Stage stage_ = Stage::first;
  uint32_t exchanges_ = 0, trials_ = 0;
  double exchange_us_;
  size_t bytes_ = 0;
  std::vector<TimedChoice> candidates_;
  Variants variants_;
  uint32_t rest_ = least_rest;
  uint32_t warm_ = 1;
  uint8_t leader_ = 0;  // of the trial
  int steps_ = 0;       // how often variants of a leader were tried
  uint8_t again_ = 0;   // the candidate that was last included in a review in turn

  // The current trial.
  std::vector<uint8_t> entrants_;
  std::vector<std::vector<double>> times_;  // of each
  uint32_t timed_ = 0, passes_ = 0;
  uint32_t pass_ = 0, at_ = 0, call_ = 0;  // the next call: pass, entrant, call of the entrant
  size_t noted_ = 0;
  std::array<uint8_t, samples> of_{};    // entrant of each sample
  std::array<double, samples> scale_{};  // bytes() over those of the call
  Notes notes_;
};

double median(std::vector<double> values);

// The cells of a communicator.
class Tuner {
 public:
  explicit Tuner(double exchange_us) : exchange_us_(exchange_us) {}

  // REQUIRES: bytes >= tuned_min_bytes. `sixteen_bits`: a reduction of elements of two bytes. Requests use other
  // staging than blocking calls, so they have their own cells.
  Cell& cell(plan::Collective collective, size_t bytes, bool sixteen_bits, bool request);
  // Called with the key of each existing cell.
  using Visit = std::function<void(plan::Collective, bool sixteen_bits, bool request, const Cell&)>;
  void visit(const Visit& visit) const;

 private:
  static constexpr size_t classes = 48;  // sizes up to 2^48
  using Cells = std::array<std::unique_ptr<Cell>, classes * 4>;
  Cell& make(std::unique_ptr<Cells>& cells, size_t index);

  double exchange_us_;
  std::array<std::unique_ptr<Cells>, plan::collectives> cells_;
};

inline Cell& Tuner::cell(plan::Collective collective, size_t bytes, bool sixteen_bits, bool request) {
  std::unique_ptr<Cells>& cells = cells_[size_t(collective)];
  const size_t size_class = size_t(std::bit_width(bytes)) - 1;
  const size_t index = size_class * 4 + size_t(sixteen_bits) * 2 + size_t(request);
  if (cells != nullptr && (*cells)[index] != nullptr) [[likely]]
    return *(*cells)[index];
  return make(cells, index);
}

}  // namespace coll::tune
