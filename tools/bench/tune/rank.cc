// SPDX-License-Identifier: BSD-3-Clause
// One rank of `collctl bench tune`. An iteration is the same as in `collctl bench`: the rank rewrites its input, all
// ranks start at the same instant, and the clock stops when the rank has read its result. Tuned calls are iterations,
// too.
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algo/registry.h"
#include "bench/lockstep/lockstep.h"
#include "coll/coll.h"
#include "tools/bench/tune/tune.h"
#include "tools/common/collective_call.h"
#include "tools/common/look_through.h"
#include "tools/common/median.h"
#include "tools/common/text.h"

namespace coll::tools {

namespace {

using plan::Collective;

constexpr size_t slots_bytes = size_t(2) << 20;
constexpr int sweep_warm = 1, sweep_timed = 9, finalists = 3, burst_timed = 6;

struct Error {
  std::string text;
};

void check(coll_status status) {
  if (status != COLL_OK) throw Error{coll_last_error()};
}

std::string variable_of(Collective collective) {
  std::string name = fmt::format("COLL_{}", plan::name(collective));
  for (char& c : name) c = char(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// A communicator of all ranks that is created with these variables set.
class Configured {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;
  Configured(coll_comm* of, int rank, const Variables& variables) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    status_ = coll_comm_split(of, 0, rank, &comm_);
    for (const auto& [name, value] : variables) unsetenv(name.c_str());
    check(status_);
  }
  ~Configured() {
    if (comm_ != nullptr) coll_comm_free(comm_);
  }
  Configured(Configured&& other) noexcept : comm_(std::exchange(other.comm_, nullptr)), status_(other.status_) {}
  Configured& operator=(Configured&&) = delete;
  coll_comm* comm() const { return comm_; }

 private:
  coll_comm* comm_ = nullptr;
  coll_status status_ = COLL_OK;
};

class Rank {
 public:
  Rank(const TuneTask& task, void* segment, int rank) : task_(task), rank_(rank) {
    step_ = lockstep_attach(segment, rank, task.ranks, task.spin);
    if (step_ == nullptr) throw Error{"cannot allocate memory for the clocks of the ranks"};
    setenv("COLL_TUNE", "off", 1);
    check(coll_comm_create_from_launcher(&all_));
    unsetenv("COLL_TUNE");
  }
  ~Rank() {
    if (all_ != nullptr) coll_comm_free(all_);
    lockstep_close(step_);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  void measure(TuneCell& cell) {
    prepare(cell);
    tune(cell);
    const std::vector<std::string> fastest = sweep(cell);
    // First compare the best settings of the sweep with each other, then the best of these with the others in new
    // communicators: a setting that was fastest by chance must not be selected and reported from the same samples.
    const std::vector<std::vector<double>> trial = time_interleaved(cell, communicators_of(cell, fastest));
    size_t best = 0;
    if (rank_ == 0)
      for (size_t i = 1; i < fastest.size(); ++i)
        if (median(trial[i]) < median(trial[best])) best = i;
    best = size_t(lockstep_agree(step_, int64_t(best)));
    std::vector<Configured> all;
    all.push_back(cell.tuned[0] == 0 ? untuned() : forced(cell.collective, cell.tuned));
    all.push_back(untuned());
    all.push_back(forced(cell.collective, fastest[best]));
    all.push_back(forced(cell.collective, fastest[best]));
    std::vector<std::vector<double>> times = time_interleaved(cell, std::move(all));
    if (rank_ != 0) return;
    cell.tuned_us = median(times[0]);
    cell.untuned_us = median(times[1]);
    cell.best_us = median(times[2]);
    cell.again_us = median(times[3]);
    std::ranges::sort(times[2]);
    cell.spread = (times[2][times[2].size() * 3 / 4] - times[2][times[2].size() / 4]) / cell.best_us;
    snprintf(cell.best, sizeof cell.best, "%s", fastest[best].c_str());
  }

 private:
  void prepare(const TuneCell& cell) {
    const size_t in = cell.bytes * blocks(cell.collective, plan::Buffer::send, task_.ranks);
    const size_t out = cell.bytes * blocks(cell.collective, plan::Buffer::recv, task_.ranks);
    in_.assign(in, char(rank_));
    out_.assign(out, 0);
  }

  // Auto-tuning keeps its result in a file: read the setting from it.
  void tune(TuneCell& cell) {
    const std::string file = fmt::format("/tmp/collctl-bench-tune-{}", lockstep_agree(step_, getpid()));
    Configured::Variables variables{{"COLL_TUNE", "on"}, {"COLL_TUNE_FILE", file}};
    if (!task_.table.empty()) variables.emplace_back("COLL_TABLE", task_.table);
    {
      const Configured configured(all_, rank_, variables);
      for (int i = 0; i < task_.calls; ++i) iterate(cell, configured.comm());
    }
    if (rank_ == 0) {
      std::ifstream lines(file);
      std::string line;
      while (std::getline(lines, line)) {
        const size_t from = line.find("]: "), to = line.find(" -- ");
        if (from == std::string::npos || to == std::string::npos) continue;
        snprintf(cell.tuned, sizeof cell.tuned, "%s", line.substr(from + 3, to - from - 3).c_str());
      }
      unlink(file.c_str());
    }
    lockstep_start(step_);
  }

  Configured untuned() {
    Configured::Variables variables{{"COLL_TUNE", "off"}};
    if (!task_.table.empty()) variables.emplace_back("COLL_TABLE", task_.table);
    return {all_, rank_, variables};
  }

  std::vector<Configured> communicators_of(const TuneCell& cell, const std::vector<std::string>& settings) {
    std::vector<Configured> all;
    for (const std::string& setting : settings) all.push_back(forced(cell.collective, setting));
    return all;
  }

  // Times bursts of calls of all communicators in rotating order, so that none always follows the same other one.
  std::vector<std::vector<double>> time_interleaved(const TuneCell& cell, std::vector<Configured> all) {
    std::vector<std::vector<double>> times(all.size());
    for (int round = 0; round < task_.rounds; ++round)
      for (size_t i = 0; i < all.size(); ++i) {
        const size_t at = (i + size_t(round)) % all.size();
        // The first calls replace what the other communicators left in the caches: a program has one communicator.
        warm(cell, all[at].comm());
        for (int call = 0; call < burst_timed; ++call) times[at].push_back(iterate(cell, all[at].comm()));
      }
    return times;
  }

  Configured forced(Collective collective, const std::string& setting) {
    return {all_, rank_, {{"COLL_TUNE", "off"}, {variable_of(collective), setting}}};
  }

  // Returns the fastest settings, the same ones on all ranks.
  std::vector<std::string> sweep(TuneCell& cell) {
    std::vector<std::pair<double, std::string>> found;
    for (const std::string& setting : tune_settings(cell.collective, cell.bytes, task_.ranks)) {
      const Configured configured = forced(cell.collective, setting);
      // A setting that does not work here fails on all ranks.
      if (perform(call_of(cell), configured.comm()) != COLL_OK) continue;
      warm(cell, configured.comm());
      std::vector<double> times;
      for (int call = 0; call < sweep_warm + sweep_timed; ++call)
        if (const double us = iterate(cell, configured.comm()); call >= sweep_warm) times.push_back(us);
      found.emplace_back(median(times), setting);
    }
    if (found.empty()) throw Error{"no algorithm can be measured here"};
    if (rank_ == 0) cell.swept = uint32_t(found.size());
    std::ranges::sort(found);
    std::vector<std::string> best;
    for (size_t i = 0; i < std::min<size_t>(found.size(), finalists); ++i) best.push_back(found[i].second);
    return best;
  }

  // The first calls touch new pages of the staging slots: repeat until all slots have been used once.
  void warm(const TuneCell& cell, coll_comm* comm) {
    for (size_t calls = 2 + std::min(slots_bytes / cell.bytes, size_t(256)); calls > 0; --calls)
      check(perform(call_of(cell), comm));
  }

  CollectiveCall call_of(const TuneCell& cell) {
    return {cell.collective, in_.data(), out_.data(), cell.bytes / sizeof(float), COLL_FLOAT, COLL_SUM, 0};
  }

  // Returns the time of the slowest rank in microseconds.
  double iterate(const TuneCell& cell, coll_comm* comm) {
    for (size_t at = 0; at < in_.size(); at += 64) in_[at]++;
    const bool sends_result = cell.collective == Collective::bcast && rank_ == 0;
    for (size_t at = 0; sends_result && at < out_.size(); at += 64) out_[at]++;
    const int slot = iteration_++ % LOCKSTEP_MAX_ITERATIONS;
    lockstep_start(step_);
    const uint64_t begin = lockstep_ticks();
    check(perform(call_of(cell), comm));
    if (has_result(cell.collective, rank_, 0)) look_through(out_.data(), out_.size());
    lockstep_record(step_, slot, begin, lockstep_ticks());
    lockstep_start(step_);
    return double(lockstep_duration(step_, slot)) * lockstep_ns_per_tick() / 1000;
  }

  const TuneTask& task_;
  const int rank_;
  lockstep* step_ = nullptr;
  coll_comm* all_ = nullptr;
  std::vector<char> in_, out_;
  int iteration_ = 0;
};

}  // namespace

std::vector<std::string> tune_settings(Collective collective, size_t bytes, int ranks) {
  std::vector<std::string> all;
  if (bytes * size_t(ranks) <= size_t(32) << 10) all.push_back("latency");
  std::vector<size_t> chunks;
  for (const size_t chunk : {size_t(4) << 10, size_t(16) << 10, size_t(64) << 10, size_t(256) << 10})
    if (chunk < bytes) chunks.push_back(chunk);
  chunks.push_back(std::min(std::bit_ceil(bytes), size_t(1) << 20));
  for (const algo::Algorithm& algorithm : algo::algorithms()) {
    if (algorithm.collective != collective || !algorithm.balanced) continue;
    if (algorithm.max_bytes != 0 && bytes > algorithm.max_bytes) continue;
    const std::vector<size_t> none{0}, depths{2, 8}, ks{2, 4, 8};
    for (const size_t chunk : algorithm.reads.chunk || algorithm.reads.level_chunks ? chunks : none)
      for (const size_t depth : algorithm.reads.depth ? depths : none)
        for (const size_t k : algorithm.reads.k ? ks : none) {
          // With fewer chunks than slots, a deeper ring makes no difference.
          if (depth == 8 && 2 * chunk >= bytes) continue;
          if (k > 2 && int(k) >= ranks) continue;
          for (const char* copy : {"staged", "cma"}) {
            std::string text(algorithm.name);
            char separator = ':';
            const auto add = [&](const char* name, const std::string& value) {
              text += std::exchange(separator, ',') + std::string(name) + "=" + value;
            };
            if (chunk != 0) add("chunk", std::to_string(chunk));
            if (depth != 0) add("depth", std::to_string(depth));
            if (k != 0) add("k", std::to_string(k));
            add("copy", copy);
            all.push_back(text);
          }
        }
  }
  return all;
}

int run_tune_rank(const TuneTask& task, TuneBoard& board, size_t cells, void* lockstep, int rank) {
  try {
    Rank self(task, lockstep, rank);
    for (size_t i = 0; i < cells; ++i) {
      self.measure(board.cells[i]);
      if (rank == 0) board.finished.store(uint32_t(i + 1), std::memory_order_release);
    }
    return 0;
  } catch (const Error& error) {
    board.problem.report(fmt::format("rank {}: {}", rank, error.text));
  } catch (const std::bad_alloc&) { board.problem.report(fmt::format("rank {}: no memory for its buffers", rank)); }
  return 1;
}

}  // namespace coll::tools
