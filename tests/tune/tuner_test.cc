// SPDX-License-Identifier: BSD-3-Clause
// The decisions of auto-tuning, with times that the test invents: no clock is read.
#include "tune/tuner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace coll::tune {
namespace {

using plan::Collective;

Choice flat(uint32_t chunk) {
  Choice choice{.algorithm = algo::find(Collective::bcast, "flat_read")};
  choice.parameters.chunk_bytes = chunk;
  return choice;
}

std::vector<Choice> choices(size_t number) {
  std::vector<Choice> made;
  for (size_t i = 0; i < number; i++) made.push_back(flat(uint32_t(4096) << i));
  return made;
}

// The same cell on some ranks, which run in step with a clock of the test.
class Job {
 public:
  // The time of a call with a candidate, and the delay of a rank.
  using Time = std::function<double(const Choice&, int call)>;
  using Late = std::function<double(int rank, int call)>;

  explicit Job(std::vector<Choice> choices, int ranks = 2, Cell::Variants around = {}, double exchange_us = 0)
      : cells_(size_t(ranks), Cell(exchange_us)), choices_(std::move(choices)), around_(std::move(around)) {}

  void run(int calls, const Time& time_us, const Late& late_us = {}) {
    for (int i = 0; i < calls; i++) call(time_us, late_us);
  }

  const Cell& cell() const { return cells_[0]; }
  int calls() const { return calls_; }
  int timed() const { return timed_; }
  int exchanges() const { return exchanges_; }
  double total_us() const { return total_us_; }
  // Number of calls that used this candidate.
  int of(size_t number) const { return number < of_.size() ? of_[number] : 0; }
  uint32_t chunk() const { return cell().candidates()[cell().now()].choice.parameters.chunk_bytes; }

 private:
  void call(const Time& time_us, const Late& late_us) {
    std::vector<Cell::Assignment> turns;
    for (Cell& cell : cells_) {
      if (cell.rests()) {
        turns.push_back({.candidate = cell.now()});
        continue;
      }
      if (cell.awaits_times()) {
        if (&cell == &cells_[0]) {
          exchanges_++;
          notes_.clear();
          for (const Cell& each : cells_) notes_.push_back(each.notes());
        }
        cell.learn(notes_);
      }
      if (!cell.has_begun()) cell.begin(choices_, around_);
      turns.push_back(cell.rests() ? Cell::Assignment{.candidate = cell.now()} : cell.assign(65536));
    }
    const Choice& choice = cells_[0].has_begun() ? cells_[0].candidates()[turns[0].candidate].choice : choices_[0];
    const double us = time_us(choice, calls_);
    double last = 0;
    for (size_t rank = 0; rank < cells_.size() && late_us; rank++) last = std::max(last, late_us(int(rank), calls_));
    for (size_t rank = 0; rank < cells_.size(); rank++) {
      EXPECT_EQ(turns[rank].candidate, turns[0].candidate);
      EXPECT_EQ(turns[rank].sample, turns[0].sample);
      const double begin_us = now_us_ + (late_us ? late_us(int(rank), calls_) : 0);
      cells_[rank].record(turns[rank], int64_t(begin_us * 1000), int64_t((now_us_ + last + us) * 1000) | 1);
    }
    of_.resize(std::max<size_t>(of_.size(), turns[0].candidate + size_t(1)));
    of_[turns[0].candidate]++;
    timed_ += turns[0].sample >= 0;
    total_us_ += us;
    now_us_ += last + us;
    calls_++;
  }

  std::vector<Cell> cells_;
  std::vector<Choice> choices_;
  Cell::Variants around_;
  std::vector<Notes> notes_;
  std::vector<int> of_;
  double now_us_ = 4.2e6, total_us_ = 0;  // the truncated clock wraps soon
  int calls_ = 0, timed_ = 0, exchanges_ = 0;
};

// By chunk.
Job::Time times(std::vector<double> us) {
  return [us](const Choice& choice, int) {
    return us[size_t(std::log2(choice.parameters.chunk_bytes / 4096)) % us.size()];
  };
}

TEST(Median, OfOddAndEvenNumbers) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 100}), 3.5);
}

TEST(Duration, FromTheLastBeginToTheLastEnd) {
  std::vector<Notes> all(3);
  all[0].begin_ns[2] = 1000, all[0].end_ns[2] = 9000;
  all[1].begin_ns[2] = 6000, all[1].end_ns[2] = 8000;
  all[2].begin_ns[2] = 2000, all[2].end_ns[2] = 9500;
  EXPECT_EQ(duration_ns(all, 2), 3500u);
  all[1] = {};
  EXPECT_EQ(duration_ns(all, 2), 0u);  // one rank has no time
}

TEST(Duration, WhileTheClockWraps) {
  std::vector<Notes> all(2);
  all[0].begin_ns[0] = 0xffffff00u, all[0].end_ns[0] = 0x500;
  all[1].begin_ns[0] = 0x100, all[1].end_ns[0] = 0x400;
  EXPECT_EQ(duration_ns(all, 0), 0x400u);
}

TEST(Cell, UsesTheFastestAfterTheFirstTrial) {
  for (size_t fastest = 0; fastest < 6; fastest++) {
    std::vector<double> us(6, 20.0);
    us[fastest] = 15;
    Job job(choices(6));
    job.run(120, times(us));
    EXPECT_EQ(job.cell().now(), fastest);
    EXPECT_NEAR(job.cell().candidates()[fastest].us, 15, 0.01);
    EXPECT_GE(job.cell().trials(), 1u);
  }
}

TEST(Cell, KeepsTheChoiceOfTheBooksWhenEqual) {
  Job job(choices(3));
  job.run(5000, times({100, 98, 97.5}));
  EXPECT_EQ(job.cell().now(), 0);
  EXPECT_GT(job.cell().trials(), 3u);
}

TEST(Cell, ChangesWhenTheMachineDoes) {
  Job job(choices(2));
  job.run(500, times({100, 90}));
  EXPECT_EQ(job.cell().now(), 1);
  job.run(5000, times({90, 100}));
  EXPECT_EQ(job.cell().now(), 0);
}

TEST(Cell, DropsMuchWorseCandidatesAfterThreeTimedCalls) {
  Job job(choices(4));
  job.run(Cell::warmup_calls + 100, times({100, 1000, 99, 101}));
  EXPECT_EQ(job.of(1), 4);
  EXPECT_TRUE(job.cell().candidates()[1].dropped);
  EXPECT_GT(job.of(2), 6);
}

// One call in seven takes ten times as long, with any candidate.
TEST(Cell, OutliersDoNotDecide) {
  int right = 0;
  for (unsigned seed = 0; seed < 40; seed++) {
    std::mt19937 random(seed);
    Job job(choices(3));
    job.run(6000, [&](const Choice& choice, int) {
      const double us = choice.parameters.chunk_bytes == 8192 ? 80 : 100;
      return random() % 7 == 0 ? 10 * us : us * (1 + double(random() % 100) / 5000);
    });
    right += job.cell().now() == 1;
  }
  EXPECT_GE(right, 39);
}

// The median decides, not the minimum: a candidate that is fast only sometimes is not better.
TEST(Cell, LuckyCallsDoNotDecide) {
  Job job(choices(2));
  job.run(2000, [](const Choice& choice, int call) {
    return choice.parameters.chunk_bytes == 8192 ? (call % 4 == 0 ? 70.0 : 110.0) : 100.0;
  });
  EXPECT_EQ(job.cell().now(), 0);
}

// Candidates with two modes of the same mean: a trial may find the fast mode of one by chance, but the duel seldom does
// so again. Of equal candidates the current one stays, and a worse one never wins.
TEST(Cell, TwoModesDoNotDecide) {
  int changed = 0;
  for (unsigned seed = 0; seed < 60; seed++) {
    std::mt19937 random(seed);
    Job job(choices(6));
    job.run(300, [&](const Choice& choice, int) {
      const double worse = choice.parameters.chunk_bytes == 4096 ? 1 : 1.04;
      return worse * (random() % 2 == 0 ? 60.0 : 100.0) * (1 + double(random() % 100) / 2000);
    });
    changed += job.cell().now() != 0;
  }
  EXPECT_LE(changed, 9);
}

// A fast mode that occurs only sometimes does not displace a candidate whose calls are all equal.
TEST(Cell, ACandidateWithTwoModesDoesNotDropTheSteadyOne) {
  int right = 0;
  for (unsigned seed = 0; seed < 40; seed++) {
    std::mt19937 random(seed);
    Job job(choices(3));
    job.run(8000, [&](const Choice& choice, int) {
      if (choice.parameters.chunk_bytes == 8192) return 80.0;
      return (random() % 4 == 0 ? 45.0 : 110.0) * (1 + double(random() % 100) / 2000);
    });
    right += job.cell().now() == 1;
  }
  EXPECT_GE(right, 38);
}

// The machine changes its mode during the trial: times from before do not predict later ones.
TEST(Cell, AChangeOfTheMachineDuringATrialDoesNotDecide) {
  for (int at = 5; at < 150; at += 5) {
    Job job(choices(4));
    job.run(300, [&](const Choice& choice, int call) {
      return (choice.parameters.chunk_bytes == 4096 ? 100.0 : 102.0) * (call < at ? 1 : 0.6);
    });
    EXPECT_EQ(job.cell().now(), 0) << at;
  }
}

TEST(Cell, LateRanksDoNotCount) {
  std::mt19937 random(1);
  std::vector<double> lateness(4);
  int of = -1;
  Job job(choices(3), 4);
  job.run(1000, times({100, 100, 90}), [&](int rank, int call) {
    if (call != of)
      for (double& each : lateness) each = double(random() % 100000);
    of = call;
    return lateness[size_t(rank)];
  });
  EXPECT_EQ(job.cell().now(), 2);
  EXPECT_NEAR(job.cell().candidates()[2].us, 90, 0.01);
}

// Unsuccessful trials of a cell cost less than the configured share, including clocks and exchanges, after the first
// hundred calls.
TEST(Cell, TrialsCostLittle) {
  for (const double us : {2.0, 50.0, 5000.0})
    for (const double exchange_us : {0.5, 26.0, -1.0}) {
      Job job(choices(8), 2, {}, exchange_us);
      const std::vector<double> all{us, 1.1 * us, 1.4 * us, 1.2 * us, 2 * us, 3 * us, 1.02 * us, 10 * us};
      job.run(100, times(all));
      const int timed = job.timed(), exchanges = job.exchanges();
      const double before = job.total_us();
      job.run(20000, times(all));
      const double least = 20000 * us;
      const double paid = job.total_us() - before + (job.timed() - timed) * Cell::timed_call_us +
                          (job.exchanges() - exchanges) * (exchange_us < 0 ? us : exchange_us);
      EXPECT_LT(paid / least, 1.02) << us << " us, exchange " << exchange_us << " us";
      EXPECT_EQ(job.cell().now(), 0);
      EXPECT_GE(job.cell().trials(), 2u);
    }
}

TEST(Cell, TimesNeighboursOfTheWinner) {
  const auto around = [](const Choice& winner) {
    const uint32_t chunk = winner.parameters.chunk_bytes;
    return std::vector<Choice>{flat(chunk / 2), flat(2 * chunk)};
  };
  // The best chunk is two steps away from the only candidate.
  Job job({flat(8192), flat(4096)}, 2, around);
  job.run(150, [](const Choice& choice, int) {
    return 10 + 5 * std::abs(std::log2(choice.parameters.chunk_bytes / 32768.0));
  });
  EXPECT_EQ(job.chunk(), 32768u);
}

TEST(Cell, OneForcedCandidateIsNeverTimed) {
  Job job(choices(1));
  job.run(10000, times({100}));
  EXPECT_EQ(job.timed(), 0);
  EXPECT_EQ(job.cell().now(), 0);
}

TEST(Cell, OneWatchedCandidateIsTimedPeriodically) {
  Cell cell;
  while (cell.rests()) {}
  cell.begin(choices(1), {}, {.watched = true});
  int timed = 0;
  for (int call = 0; call < 20000; call++) {
    if (cell.rests()) continue;
    if (cell.awaits_times()) cell.learn(std::vector<Notes>{cell.notes()});
    if (cell.rests()) continue;
    const Cell::Assignment turn = cell.assign(4096);
    timed += turn.sample >= 0;
    cell.record(turn, int64_t(call) * 100000, int64_t(call) * 100000 + 50001);
  }
  EXPECT_EQ(cell.now(), 0);
  EXPECT_GE(cell.trials(), 3u);
  EXPECT_NEAR(cell.usual_us(), 50, 0.1);
  EXPECT_LT(timed, 200);
}

TEST(Cell, AStoredResultIsUsedAtOnce) {
  Cell cell;
  for (uint32_t i = 0; i < Cell::warmup_calls; i++) EXPECT_TRUE(cell.rests());
  EXPECT_FALSE(cell.rests());
  cell.begin(choices(3), {}, {.first = 2, .learned = true});
  for (uint32_t i = 0; i < Cell::least_rest; i++) {
    EXPECT_TRUE(cell.rests());
    EXPECT_EQ(cell.now(), 2);
  }
  EXPECT_FALSE(cell.rests());
}

// The first candidate is used until its staging has pages. Only then it is compared with the others.
TEST(Cell, RestsBeforeTheFirstTrial) {
  Cell cell;
  while (cell.rests()) {}
  cell.begin(choices(3), {}, {.rest = 60});
  for (int i = 0; i < 60; i++) {
    EXPECT_TRUE(cell.rests());
    EXPECT_EQ(cell.now(), 0);
  }
  EXPECT_FALSE(cell.rests());
  EXPECT_EQ(cell.assign(4096).candidate, 0);
}

// A request may end after its times were reported.
TEST(Cell, LateNotesAreIgnored) {
  Cell cell;
  while (cell.rests()) {}
  cell.begin(choices(2), {});
  Cell::Assignment timed;
  while (!cell.awaits_times()) timed = cell.assign(4096);
  const std::vector<Notes> none(2);
  cell.learn(none);
  cell.record(timed, 1, 2);
  EXPECT_EQ(cell.notes().begin_ns[size_t(timed.sample)], 0u);
  EXPECT_EQ(cell.trials(), 0u);  // nothing is known: the trial starts again
}

// On a busy machine most times are unknown.
TEST(Cell, DisturbedCallsAreMadeUpFor) {
  Cell cell;
  while (cell.rests()) {}
  cell.begin(choices(3), {});
  int call = 0;
  while (cell.trials() == 0 && call < 1000) {
    if (cell.awaits_times()) cell.learn(std::vector<Notes>{cell.notes()});
    if (cell.trials() > 0) break;
    const Cell::Assignment turn = cell.assign(4096);
    if (++call % 2 == 0) cell.record(turn, 1000000 * call, 1000000 * call + (turn.candidate == 1 ? 801 : 1001));
  }
  EXPECT_EQ(cell.now(), 1);
  EXPECT_LT(call, 200);
}

// Calls that the system has disturbed count only if there are no others.
TEST(Cell, DisturbedCallsDoNotDecide) {
  for (const bool all : {false, true}) {
    Cell cell;
    while (cell.rests()) {}
    cell.begin(choices(2), {});
    for (int call = 1; cell.trials() == 0; call++) {
      if (cell.awaits_times()) cell.learn(std::vector<Notes>{cell.notes()});
      if (cell.trials() > 0) break;
      const Cell::Assignment turn = cell.assign(4096);
      const bool disturbed = all || (turn.candidate == 1 && call % 3 != 0);
      const int64_t begin = 1000000 * call, us = turn.candidate == 1 ? (disturbed && !all ? 50000 : 800) : 1000;
      cell.record(turn, begin, begin + us + !disturbed);
    }
    EXPECT_EQ(cell.now(), 1) << all;
  }
}

// If no time is known, nothing changes, and trials become rare.
TEST(Cell, WithoutTimesNothingChanges) {
  Cell cell;
  int others = 0;
  for (int call = 0; call < 20000; call++) {
    uint8_t number = cell.now();
    if (!cell.rests()) {
      if (cell.awaits_times()) cell.learn(std::vector<Notes>(2));
      if (!cell.has_begun()) cell.begin(choices(4), {});
      number = cell.rests() ? cell.now() : cell.assign(4096).candidate;
    }
    others += number != 0;
  }
  EXPECT_EQ(cell.now(), 0);
  EXPECT_LT(others, 400);
}

TEST(Cell, SizesOfAClassCountByByte) {
  // Every second call has twice as many bytes, which takes twice as long: the candidates are equal nevertheless.
  Cell cell;
  while (cell.rests()) {}
  cell.begin(choices(2), {});
  int call = 0;
  while (cell.trials() == 0) {
    if (cell.awaits_times()) {
      cell.learn(std::vector<Notes>{cell.notes()});
      continue;
    }
    const size_t bytes = ++call % 2 != 0 ? 4096 : 8191;
    const int64_t begin = 1000000 * call;
    const Cell::Assignment turn = cell.assign(bytes);
    cell.record(turn, begin, (begin + int64_t(bytes)) | 1);
  }
  EXPECT_EQ(cell.now(), 0);
  EXPECT_NEAR(cell.candidates()[0].us, cell.candidates()[1].us, 0.02);
}

TEST(Tuner, CellsByCollectiveClassAndKind) {
  Tuner tuner(1);
  Cell& one = tuner.cell(Collective::bcast, 65536, false, false);
  EXPECT_EQ(&one, &tuner.cell(Collective::bcast, 131071, false, false));
  EXPECT_NE(&one, &tuner.cell(Collective::bcast, 131072, false, false));
  EXPECT_NE(&one, &tuner.cell(Collective::scatter, 65536, false, false));
  EXPECT_NE(&one, &tuner.cell(Collective::bcast, 65536, false, true));
  EXPECT_NE(&one, &tuner.cell(Collective::bcast, 65536, true, false));
  int cells = 0;
  tuner.visit([&](Collective, bool, bool, const Cell&) { cells++; });
  EXPECT_EQ(cells, 5);
}

}  // namespace
}  // namespace coll::tune
