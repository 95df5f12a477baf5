// SPDX-License-Identifier: BSD-3-Clause
#include "tools/calibrate/rounds.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <numeric>
#include <random>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/lockstep/lockstep.h"
#include "tools/command.h"
#include "tools/common/first_problem.h"
#include "tools/common/launch.h"
#include "tools/common/now.h"
#include "tools/common/shared_memory.h"

namespace coll::tools {
namespace {

// Memory that the processes share. Process 0 writes every field, except `failure`.
struct Board {
  std::atomic<double> share;
  std::atomic<uint32_t> stage, probe;  // that are running
  FirstProblem failure;
};

struct Outcome {
  uint64_t ticks = 0, used_ticks = 0;
  bool switched = false;
};

// Everything that one run needs, created before the processes are forked.
struct Run {
  const RoundsTask& task;
  Board* board = nullptr;
  char *segment = nullptr, *segment_of_all = nullptr;  // of lockstep
  std::vector<FirstProblem*> found;                    // [stages][probes]
  std::vector<Outcome*> outcomes;                      // [stages][most][probes][processes]
  std::atomic<int>* rounds = nullptr;                  // [stages]

  Outcome& outcome(size_t stage, int round, size_t probe, int process) const {
    const size_t probes = task.stages[stage].probes.size();
    return outcomes[stage][(size_t(round) * probes + probe) * size_t(task.processes) + size_t(process)];
  }
};

// Detects that another process delayed this one: measures the time that the thread was runnable but did not run
// (schedstat), or, on kernels without schedstat, counts involuntary context switches. Sleeping until a peer is done is
// part of a call and does not count.
class RunQueueDelay {
 public:
  RunQueueDelay() : account_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)), kept_(figure(0) > 0) {}
  ~RunQueueDelay() {
    if (account_ >= 0) close(account_);
  }
  RunQueueDelay(const RunQueueDelay&) = delete;
  RunQueueDelay& operator=(const RunQueueDelay&) = delete;

  void begin() { begin_ns_ = waited_ns(), begin_switches_ = switches(); }
  // Returns whether the delay since begin() exceeds 2 % of `took_us`.
  bool disturbed(double took_us) const {
    constexpr double most_share = 0.02;
    return kept_ ? double(waited_ns() - begin_ns_) / 1000 > most_share * took_us : switches() != begin_switches_;
  }

 private:
  static long switches() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
  }
  // The file holds "running waiting slices", the first two in nanoseconds.
  uint64_t figure(int number) const {
    char text[96] = {};
    if (account_ < 0 || pread(account_, text, sizeof text - 1, 0) <= 0) return 0;
    char* rest = text;
    uint64_t value = 0;
    for (int i = 0; i <= number; ++i) value = std::strtoull(rest, &rest, 10);
    return value;
  }
  uint64_t waited_ns() const { return figure(1); }

  const int account_;
  const bool kept_;
  uint64_t begin_ns_ = 0;
  long begin_switches_ = 0;
};

class Process {
 public:
  Process(const Run& run, int self)
      : run_(run), task_(run.task), board_(*run.board), self_(self), random_(run.task.seed) {}

  int work() {
    if (self_ < task_.processes && !pin_to(task_.cpus[size_t(self_)]))
      return fail("cannot bind the process to its processor");
    if (task_.begin)
      if (std::string problem = task_.begin(self_); !problem.empty()) return fail(problem);
    // All processes have begun before the first probe. The process at rest sleeps until the last one is done.
    lockstep* all_processes =
        lockstep_attach(run_.segment_of_all, self_, task_.processes + int(task_.with_one_at_rest), 0);
    lockstep_start(all_processes);
    if (self_ < task_.processes) {
      step_ = lockstep_attach(run_.segment, self_, task_.processes, 1);
      begin_ = now();
      for (const Stage& stage : task_.stages) all_seconds_ += stage.seconds;
      for (stage_ = 0; stage_ < task_.stages.size(); ++stage_) run_stage(task_.stages[stage_]);
      lockstep_close(step_);
    }
    lockstep_start(all_processes);
    lockstep_close(all_processes);
    return 0;
  }

 private:
  int fail(const std::string& text) {
    board_.failure.report("process " + std::to_string(self_) + ": " + text);
    return 1;
  }

  void run_stage(const Stage& stage) {
    if (self_ == 0) board_.stage = uint32_t(stage_);
    impossible_.assign(stage.probes.size(), false);
    const bool late = lockstep_agree(step_, now() - begin_ > task_.most_seconds) != 0;
    const std::string problem = late ? "the time limit was reached" : stage.begin ? stage.begin(self_) : "";
    if (!problem.empty())
      for (size_t probe = 0; probe < stage.probes.size(); ++probe) note(probe, problem);
    if (lockstep_sum(step_, !problem.empty()) == 0) rounds(stage);
    if (stage.end && problem.empty()) stage.end(self_);
    done_seconds_ += stage.seconds;
  }

  void rounds(const Stage& stage) {
    std::vector<size_t> order(stage.probes.size());
    std::iota(order.begin(), order.end(), size_t(0));
    one_round(stage, -1, order, now());  // warms up pages, caches and clocks
    const double begin = now();
    for (int round = 0; round < stage.most; ++round) {
      const bool enough = round >= stage.least && now() - begin > stage.seconds;
      if (lockstep_agree(step_, enough) != 0) break;
      std::ranges::shuffle(order, random_);  // has the same seed in all processes
      one_round(stage, round, order, begin);
      if (self_ == 0) run_.rounds[stage_] = round + 1;
    }
  }

  void one_round(const Stage& stage, int round, const std::vector<size_t>& order, double begin) {
    for (size_t i = 0; i < order.size(); ++i) {
      if (!impossible_[order[i]]) time(stage.probes[order[i]], round, order[i]);
      if (self_ != 0) continue;
      const double by_rounds = (round + 1 + double(i) / double(order.size())) / (stage.most + 1);
      const double part = std::max(by_rounds, std::min(1.0, (now() - begin) / stage.seconds));
      board_.probe = uint32_t(order[i]);
      board_.share = (done_seconds_ + part * stage.seconds) / all_seconds_;
    }
  }

  // Takes one sample. A process reads whether the probe is impossible between the first two starts. No process writes
  // that flag there, so all of them read the same value and skip the probe in the same later rounds.
  Outcome sample(const Probe& probe, size_t index) {
    if (probe.prepare) note(index, probe.prepare(self_));
    lockstep_start(step_);
    const bool possible = !found(index).reported;
    if (!possible) impossible_[index] = true;
    delay_.begin();
    lockstep_start(step_);
    Outcome outcome;
    if (possible && (!probe.acts || probe.acts(self_))) {
      const uint64_t begin = lockstep_ticks();
      const std::string problem = probe.timed(self_);
      outcome.ticks = outcome.used_ticks = lockstep_ticks() - begin;
      if (probe.use) {
        probe.use(self_);
        outcome.used_ticks = lockstep_ticks() - begin;
      }
      outcome.switched = delay_.disturbed(double(outcome.used_ticks) * lockstep_ns_per_tick() / 1000);
      note(index, problem);
    }
    lockstep_start(step_);
    return outcome;
  }

  void time(const Probe& probe, int round, size_t index) {
    for (int i = 0; i < probe.rehearsals; ++i) sample(probe, index);
    const Outcome outcome = sample(probe, index);
    if (round >= 0) run_.outcome(stage_, round, index, self_) = outcome;
  }

  FirstProblem& found(size_t probe) const { return run_.found[stage_][probe]; }
  void note(size_t probe, const std::string& problem) {
    if (!problem.empty()) found(probe).report(problem);
  }

  const Run& run_;
  const RoundsTask& task_;
  Board& board_;
  const int self_;
  RunQueueDelay delay_;
  std::mt19937 random_;
  std::vector<bool> impossible_;  // [probes] of the stage
  lockstep* step_ = nullptr;
  size_t stage_ = 0;
  double begin_ = 0, all_seconds_ = 0, done_seconds_ = 0;
};

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * double(sorted.size() - 1);
  const size_t low = size_t(at), high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - double(low)) * (sorted[high] - sorted[low]);
}

Timing timing_of(const Run& run, size_t stage, size_t probe) {
  const FirstProblem& found = run.found[stage][probe];
  if (found.reported) return {.problem = found.text};
  std::vector<Sample> samples;
  const double us_per_tick = lockstep_ns_per_tick() / 1000 / run.task.stages[stage].probes[probe].repeats;
  for (int round = 0; round < run.rounds[stage]; ++round) {
    Sample sample;
    for (int process = 0; process < run.task.processes; ++process) {
      const Outcome& outcome = run.outcome(stage, round, probe, process);
      sample.us = std::max(sample.us, double(outcome.ticks) * us_per_tick);
      sample.used_us = std::max(sample.used_us, double(outcome.used_ticks) * us_per_tick);
      sample.switched |= outcome.switched;
    }
    samples.push_back(sample);
  }
  return summarize_samples(samples);
}

}  // namespace

Timing summarize_samples(const std::vector<Sample>& samples) {
  Timing timing;
  std::vector<double> us, used_us;
  for (const Sample& sample : samples)
    if (sample.switched) timing.switched++;
    else us.push_back(sample.us);
  if (us.empty()) {
    timing.problem = "other processes disturbed every sample; calibrate on an idle machine";
    return timing;
  }
  std::ranges::sort(us);
  // Other work on the machine only adds time, and may add it to most samples: discard all that exceed 1.5 times the
  // 20th percentile.
  const double most = 1.5 * quantile(us, 0.2);
  while (us.back() > most) us.pop_back(), timing.stray++;
  for (const Sample& sample : samples)
    if (!sample.switched && sample.us <= most) used_us.push_back(sample.used_us);
  std::ranges::sort(used_us);
  timing.kept = uint32_t(us.size());
  timing.us = quantile(us, 0.5);
  timing.used_us = quantile(used_us, 0.5);
  timing.low_us = quantile(us, 0.25);
  timing.high_us = quantile(us, 0.75);
  return timing;
}

RoundsResult measure_rounds(const RoundsTask& task, const std::function<void(double, const std::string&)>& show) {
  Run run{task};
  size_t found = 0, outcomes = 0;
  for (const Stage& stage : task.stages) {
    found += stage.probes.size();
    outcomes += stage.probes.size() * size_t(stage.most) * size_t(task.processes);
  }
  const SharedMemory board(sizeof(Board)), segment(lockstep_segment_bytes()), segment_of_all(lockstep_segment_bytes()),
      all_found(found * sizeof(FirstProblem)), all_outcomes(outcomes * sizeof(Outcome)),
      rounds(task.stages.size() * sizeof(std::atomic<int>));
  run.board = new (board.data()) Board{};
  run.segment = segment.data();
  run.segment_of_all = segment_of_all.data();
  run.rounds = reinterpret_cast<std::atomic<int>*>(rounds.data());
  FirstProblem* next_found = reinterpret_cast<FirstProblem*>(all_found.data());
  Outcome* next_outcome = reinterpret_cast<Outcome*>(all_outcomes.data());
  for (const Stage& stage : task.stages) {
    run.found.push_back(next_found);
    run.outcomes.push_back(next_outcome);
    next_found += stage.probes.size();
    next_outcome += stage.probes.size() * size_t(stage.most) * size_t(task.processes);
  }
  lockstep_ns_per_tick();  // measures the clock once, before the fork

  const std::string problem = run_ranks(
      task.processes + int(task.with_one_at_rest), {}, 0, [&](int self) { return Process(run, self).work(); },
      [&] {
        const Stage& stage = task.stages[run.board->stage];
        if (show && run.board->probe < stage.probes.size())
          show(run.board->share, stage.name.empty() ? stage.probes[run.board->probe].name : stage.name);
      });
  if (!problem.empty()) throw Failure(run.board->failure.text[0] != 0 ? run.board->failure.text : problem);

  RoundsResult result;
  for (size_t stage = 0; stage < task.stages.size(); ++stage) {
    StageResult& made = result.stages.emplace_back();
    made.rounds = run.rounds[stage];
    for (size_t probe = 0; probe < task.stages[stage].probes.size(); ++probe) {
      made.of.push_back(timing_of(run, stage, probe));
      const Timing& timing = made.of.back();
      result.samples += timing.kept + timing.switched + timing.stray;
      result.discarded += timing.switched + timing.stray;
    }
  }
  return result;
}

}  // namespace coll::tools
