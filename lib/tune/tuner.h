// SPDX-License-Identifier: BSD-3-Clause
// Online tuning: while a program runs, the calls of a communicator find out which of several candidates serves them
// fastest. A cell, of one collective and one class of sizes, first rests, then holds trials: its calls take the candidates
// in turn, and some of them are timed. No candidate changes a bit of the result (candidates()).
//
// All ranks decide alike, without locks:
//  1. All ranks make the calls of a cell in the same order. What a call does follows from its number, and from what was
//     learned before it.
//  2. A rank notes when its timed calls begin and end. After at most `samples` of them the ranks exchange their notes: each
//     writes its own TimesLine, and reads those of all. What is learned is made of all lines, by every rank the same.
//  3. The lines of a channel are used in turn: exchange N has line N mod 2 of each rank. A line has one writer, which stores
//     `number` last (release); a reader loads `number` first (acquire), and the notes once it is N.
//  4. A rank writes exchange N + 2 only after it has read all lines of exchange N + 1. Each of those was written after its
//     rank had read all lines of exchange N: so no rank still reads what is overwritten.
//  5. Exchanges of a channel are numbered in the order of its calls, and a call that learns has begun on all ranks once its
//     exchange is complete; no rank waits for one that has not made the same calls.
//
// A call lasts from the moment the last rank begins it to the moment the last one ends it: waiting for a late rank does not
// count. In a loop of calls these durations add up to the time of the loop.
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

inline constexpr size_t samples = 7;  // that one exchange tells

// One rank's notes: the monotonic clock of all processes, in nanoseconds, cut to 32 bits. Both 0: nothing is known of that
// call on this rank, so it does not count. An even end: the system took the core meanwhile.
struct Notes {
  std::array<uint32_t, samples> begin_ns{}, end_ns{};
};

struct alignas(plan::cache_line_bytes) TimesLine {
  std::atomic<uint64_t> number;
  Notes notes;
};
static_assert(sizeof(TimesLine) == plan::cache_line_bytes);
inline constexpr size_t lines_in_turn = 2;

// Of a sample, from the notes of all ranks; 0 if it does not count. Calls of less than two seconds.
uint32_t duration_ns(std::span<const Notes> all, size_t sample);

struct Way {
  Choice choice;        // algorithm null: the latency path
  double us = 0;        // in the last trial that it took part in, for a call of Cell::bytes(); 0: never timed
  bool is_out = false;  // much slower than the best one
};

class Cell {
 public:
  static constexpr uint32_t settling = 4;  // calls before the first trial: memory without pages, and plans not made yet
  static constexpr uint32_t least_rest = 128, most_rest = 4096;  // calls between trials; the longer the less changes
  static constexpr double gain = 1.03;                           // from here on another way is faster
  static constexpr double much_worse = 1.5;                      // than the best: dropped after three timed calls
  static constexpr double cost = 0.005;  // most of what a trial may cost of the time until the next
  static constexpr double timed_call_us =
      0.6;  // two looks at the clock, at the counter of lost cores, and at the result
  static constexpr size_t most_first = 8, most_final = 3, most_ways = 32;

  // What a call does.
  struct Turn {
    uint8_t way = 0;
    int8_t sample = -1;     // >= 0: it is timed
    uint32_t exchange = 0;  // that tells its time
  };
  // Others like a way that has just won, to be tried as well.
  using Around = std::function<std::vector<Choice>(const Choice& winner)>;

  // exchange_us: about what one exchange costs; < 0: as much as a call.
  explicit Cell(double exchange_us = 0) : exchange_us_(exchange_us) {}

  // True for calls between trials, which take way now(). The only question of most calls.
  bool rests() { return left_ > 0 && left_-- > 0; }
  uint8_t now() const { return now_; }

  // After rests() was false. False: begin() is to be called first.
  bool has_begun() const { return !ways_.empty(); }
  struct Start {
    size_t first = 0;      // the way to begin with
    bool learned = false;  // earlier, so the first trial can wait
    bool watched = false;  // a single way is timed as well
    // Calls after a change of ways that are not timed: they find caches without what the way stages.
    uint32_t warm = 1;
  };
  // ways[0] is what the books say, of calls of other sizes what they say for those.
  void begin(std::vector<Choice> ways, Around around, const Start& how);
  void begin(std::vector<Choice> ways, Around around) { begin(std::move(ways), std::move(around), Start()); }
  // The times of the calls so far must be exchanged and learned before turn().
  bool awaits_times() const { return awaits_; }
  // Of a call of so many bytes.
  Turn turn(size_t bytes);
  // When a timed call began and ended on this rank. Too late, if the exchange of its turn is over: without effect.
  void took(const Turn& turn, int64_t begin_ns, int64_t end_ns);
  const Notes& notes() const { return notes_; }
  // [ranks], the same on all. True if a trial has ended.
  bool learn(std::span<const Notes> all);

  // Calls on several channels take their turns in this order.
  uint64_t started = 0, taken = 0;

  std::span<const Way> ways() const { return ways_; }
  size_t bytes() const { return bytes_; }  // of the first call of a trial
  uint32_t trials() const { return trials_; }
  double usual_us() const { return ways_.empty() ? 0 : ways_[0].us; }

 private:
  // `duel`: the leader against the way in use, which it replaces only if its median is lower by `gain`, and its call is the
  // faster one in five of eight pairs of their calls. The fastest of many is often a lucky one.
  enum class Stage : uint8_t { first, final, around, duel, review };

  void start(Stage stage, std::vector<uint8_t> entrants);
  void end_pass();
  void judge();
  void look_around();
  void challenge();
  void rest();
  std::vector<uint8_t> best(size_t most) const;

  uint32_t left_ = settling;
  uint8_t now_ = 0;
  bool awaits_ = false, changed_ = false;
  Stage stage_ = Stage::first;
  uint32_t exchanges_ = 0, trials_ = 0;
  double exchange_us_;
  size_t bytes_ = 0;
  std::vector<Way> ways_;
  Around around_;
  uint32_t rest_ = least_rest;
  uint32_t warm_ = 1;
  uint8_t leader_ = 0;  // of the trial
  int steps_ = 0;       // around leaders
  uint8_t again_ = 0;   // the last one that was tried again in turn

  // The trial that is under way.
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

  // REQUIRES: bytes >= tuned_min_bytes. `sixteen_bits`: a reduction of elements of two bytes. Requests have other staging
  // than blocking calls, so cells of their own.
  Cell& cell(plan::Collective collective, size_t bytes, bool sixteen_bits, bool request);
  // Calls with the key of each cell that was made.
  using Visit = std::function<void(plan::Collective, bool sixteen_bits, bool request, const Cell&)>;
  void visit(const Visit& visit) const;

 private:
  static constexpr size_t classes = 48;  // of what fits an address space
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
