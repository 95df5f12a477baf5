// SPDX-License-Identifier: BSD-3-Clause
// --measure: measures the flag latency between all pairs of cores, or a sample of them, and concurrent accesses to one
// process.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <random>
#include <thread>

#include <sched.h>

#include "bench/lockstep/lockstep.h"
#include "tools/bench/contention/contention.h"
#include "tools/command.h"
#include "tools/common/launch.h"
#include "tools/report/sections.h"

namespace coll::tools::report {
namespace {

using Clock = std::chrono::steady_clock;

// Pairs that are not measured within this time are skipped. A pair takes 0.1 ms (at 175 ns per flag) if both cores are
// free, so 8128 pairs of 128 cores take seconds; if other processes use the cores, a pair takes up to hundreds of ms.
constexpr double most_seconds = 40;
// The latency of a line depends on the slice of the L3 that is its home: average over several lines.
constexpr int lines = 4, trips = 16;

struct alignas(128) Line {
  std::atomic<uint32_t> value{0};
};

// Two threads that move to two given cores and exchange cache lines. The caller leads, the other thread follows.
class PingPong {
 public:
  PingPong() : follower_([this] { follow(); }) {}
  ~PingPong() {
    command_.store(stop, std::memory_order_release);
    follower_.join();
  }
  PingPong(const PingPong&) = delete;
  PingPong& operator=(const PingPong&) = delete;

  // Returns the one-way latency in nanoseconds, the median of `repeats`. Negative: a thread could not move to its core.
  double measure(int a, int b, int repeats) {
    wanted_cpu_ = b;
    repeats_ = repeats;
    const int number = ++number_;
    if (!pin_to(a)) return -1;
    command_.store(number, std::memory_order_release);
    while (ready_.load(std::memory_order_acquire) != number) sched_yield();
    if (!there_) return -1;
    std::vector<double> ns;
    for (int repeat = 0; repeat <= repeats; ++repeat) {
      const uint64_t begin = lockstep_ticks();
      for (int line = 0; line < lines; ++line)
        for (int trip = 0; trip < trips; ++trip) {
          const uint32_t next = ++sent_[line];
          mine_[line].value.store(next, std::memory_order_release);
          while (theirs_[line].value.load(std::memory_order_acquire) != next) {}
        }
      const double each = double(lockstep_ticks() - begin) * lockstep_ns_per_tick() / (2 * lines * trips);
      if (repeat > 0) ns.push_back(each);  // the first repetition fetches the lines from the cores of the previous pair
    }
    std::nth_element(ns.begin(), ns.begin() + long(ns.size() / 2), ns.end());
    return ns[ns.size() / 2];
  }

 private:
  static constexpr int stop = -1;

  void follow() {
    uint32_t seen[lines] = {};
    for (int done = 0;;) {
      const int number = command_.load(std::memory_order_acquire);
      if (number == stop) return;
      if (number == done) {
        sched_yield();
        continue;
      }
      done = number;
      there_ = pin_to(wanted_cpu_);
      const int repeats = repeats_;
      const bool play = there_;
      ready_.store(number, std::memory_order_release);
      if (!play) continue;
      for (int repeat = 0; repeat <= repeats; ++repeat)
        for (int line = 0; line < lines; ++line)
          for (int trip = 0; trip < trips; ++trip) {
            ++seen[line];
            while (mine_[line].value.load(std::memory_order_acquire) != seen[line]) {}
            theirs_[line].value.store(seen[line], std::memory_order_release);
          }
    }
  }

  Line mine_[lines], theirs_[lines];
  uint32_t sent_[lines] = {};
  std::atomic<int> command_{0}, ready_{0};
  int number_ = 0, wanted_cpu_ = 0, repeats_ = 0;
  bool there_ = false;
  std::thread follower_;  // last member: it uses the others
};

// Returns the first processing unit of each core on which this process may run.
std::vector<topo::Place> one_per_core(const topo::Machine& machine) {
  const std::vector<int> allowed = allowed_cpus();
  std::vector<topo::Place> cores;
  for (const topo::Place& at : machine.pus) {
    if (std::ranges::find(allowed, at.pu) == allowed.end()) continue;
    if (at.core >= 0 && std::ranges::find(cores, at.core, &topo::Place::core) != cores.end()) continue;
    cores.push_back(at);
  }
  return cores;
}

struct Flags {
  std::vector<topo::Place> cores;
  std::vector<double> ns;  // of the pairs (i, j), i < j, row by row; negative: not measured
  size_t sampled = 0;
  double seconds = 0;
};

// Measures pairs in random order, so that pairs that a time limit skips are spread evenly.
Flags measure_flags(const topo::Machine& machine, const Show& show) {
  Flags made{.cores = one_per_core(machine)};
  if (made.cores.size() < 2)
    throw Failure("--measure: this process may use one core only, and a flag needs two; leave --measure out");
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0; i < made.cores.size(); ++i)
    for (size_t j = i + 1; j < made.cores.size(); ++j) pairs.emplace_back(i, j);
  made.ns.assign(pairs.size(), -1);
  std::vector<size_t> order(pairs.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  const int repeats = pairs.size() < 200 ? 25 : 5;
  lockstep_ns_per_tick();  // measures the clock once
  const Clock::time_point begin = Clock::now();
  std::atomic<size_t> done{0};
  std::atomic<bool> finished{false};
  // A thread of its own leads, so that the affinity of this one does not change.
  std::thread leader([&] {
    const auto pair = std::make_unique<PingPong>();
    for (size_t at : order) {
      if (std::chrono::duration<double>(Clock::now() - begin).count() > most_seconds) break;
      const auto [i, j] = pairs[at];
      made.ns[at] = pair->measure(made.cores[i].pu, made.cores[j].pu, repeats);
      done.fetch_add(1, std::memory_order_relaxed);
    }
    finished = true;
  });
  while (!finished) {
    show(done, pairs.size(), "flags between cores");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  leader.join();
  made.sampled = size_t(std::ranges::count_if(made.ns, [](double ns) { return ns >= 0; }));
  made.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return made;
}

ordered_json flags_json(const Flags& flags) {
  ordered_json cores = ordered_json::array(), ns = ordered_json::array();
  for (const topo::Place& at : flags.cores) cores.push_back(at.pu);
  for (double value : flags.ns) ns.push_back(value < 0 ? ordered_json() : ordered_json(std::round(10 * value) / 10));
  return {{"cpus", cores},
          {"flag_ns", ns},
          {"pairs", flags.ns.size()},
          {"measured", flags.sampled},
          {"seconds", rounded(flags.seconds)}};
}

ordered_json measure_accesses(const Show& show) {
  ContentionTask task;
  task.ranks = std::min<int>(int(allowed_cpus().size()), LOCKSTEP_MAX_RANKS);
  task.paths = {CopyPath::cma, CopyPath::kcoll_copy, CopyPath::kcoll_map, CopyPath::shm};
  task.patterns = {AccessPattern::one_to_all};
  task.pages = {16};
  task.seconds = task.ranks > 16 ? 0.01 : 0.02;
  const ContentionResult result =
      measure_contention(task, [&](size_t done, size_t all) { show(done, all, "concurrent accesses"); });
  ordered_json rows = ordered_json::array();
  for (const ContentionCell& cell : result.cells)
    rows.push_back({{"transport", path_names[size_t(cell.path)]},
                    {"pattern", pattern_names[size_t(cell.pattern)]},
                    {"pages", cell.pages},
                    {"concurrent", cell.concurrent},
                    {"median_us", rounded(cell.median_us)},
                    {"p10_us", rounded(cell.p10_us)},
                    {"p90_us", rounded(cell.p90_us)},
                    {"relative", rounded(cell.relative)},
                    {"lock_waits", cell.lock_waits < 0 ? ordered_json() : ordered_json(rounded(cell.lock_waits))}});
  return {{"source", "--measure"}, {"ranks", task.ranks}, {"rows", rows}};
}

}  // namespace

MeasuredNow measure_now(const topo::Machine& machine, const Show& show) {
  MeasuredNow made;
  made.flags = flags_json(measure_flags(machine, show));
  made.contention = measure_accesses(show);
  return made;
}

}  // namespace coll::tools::report
