// SPDX-License-Identifier: BSD-3-Clause
// One rank of `collctl bench tune`. An iteration is that of `collctl bench`: the rank rewrites its input, all start at one
// instant, and the clock runs until the rank has read its result. The calls that are tuned are made the same way.
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

// A communicator of all ranks that is made with these variables set.
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
    const std::vector<std::string> near = sweep(cell);
    // The sweep's best ones beside each other; then the best of these beside the others in communicators of their own, so
    // that what was lucky is not both chosen and counted.
    const std::vector<std::vector<double>> trial = beside(cell, near_best(cell, near));
    size_t best = 0;
    if (rank_ == 0)
      for (size_t i = 1; i < near.size(); ++i)
        if (median(trial[i]) < median(trial[best])) best = i;
    best = size_t(lockstep_agree(step_, int64_t(best)));
    std::vector<Configured> all;
    all.push_back(cell.tuned[0] == 0 ? untuned() : forced(cell.collective, cell.tuned));
    all.push_back(untuned());
    all.push_back(forced(cell.collective, near[best]));
    all.push_back(forced(cell.collective, near[best]));
    std::vector<std::vector<double>> times = beside(cell, std::move(all));
    if (rank_ != 0) return;
    cell.tuned_us = median(times[0]);
    cell.untuned_us = median(times[1]);
    cell.best_us = median(times[2]);
    cell.again_us = median(times[3]);
    std::ranges::sort(times[2]);
    cell.spread = (times[2][times[2].size() * 3 / 4] - times[2][times[2].size() / 4]) / cell.best_us;
    snprintf(cell.best, sizeof cell.best, "%s", near[best].c_str());
  }

 private:
  void prepare(const TuneCell& cell) {
    const size_t in = cell.bytes * blocks(cell.collective, plan::Buffer::send, task_.ranks);
    const size_t out = cell.bytes * blocks(cell.collective, plan::Buffer::recv, task_.ranks);
    in_.assign(in, char(rank_));
    out_.assign(out, 0);
  }

  // What it has found is in the file that it keeps.
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

  std::vector<Configured> near_best(const TuneCell& cell, const std::vector<std::string>& settings) {
    std::vector<Configured> all;
    for (const std::string& setting : settings) all.push_back(forced(cell.collective, setting));
    return all;
  }

  // Calls of all in turn, never always behind the same one.
  std::vector<std::vector<double>> beside(const TuneCell& cell, std::vector<Configured> all) {
    std::vector<std::vector<double>> times(all.size());
    for (int round = 0; round < task_.rounds; ++round)
      for (size_t i = 0; i < all.size(); ++i) {
        const size_t at = (i + size_t(round)) % all.size();
        // What the others have left in the caches does not count: a program has one communicator.
        warm(cell, all[at].comm());
        for (int call = 0; call < burst_timed; ++call) times[at].push_back(iterate(cell, all[at].comm()));
      }
    return times;
  }

  Configured forced(Collective collective, const std::string& setting) {
    return {all_, rank_, {{"COLL_TUNE", "off"}, {variable_of(collective), setting}}};
  }

  // The settings that were fastest; the same on all ranks.
  std::vector<std::string> sweep(TuneCell& cell) {
    std::vector<std::pair<double, std::string>> found;
    for (const std::string& setting : tune_settings(cell.collective, cell.bytes, task_.ranks)) {
      const Configured configured = forced(cell.collective, setting);
      // All ranks are refused alike what does not work here.
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

  // Slots lie side by side for a while: until all have been used once, their pages are new.
  void warm(const TuneCell& cell, coll_comm* comm) {
    for (size_t calls = 2 + std::min(slots_bytes / cell.bytes, size_t(256)); calls > 0; --calls)
      check(perform(call_of(cell), comm));
  }

  CollectiveCall call_of(const TuneCell& cell) {
    return {cell.collective, in_.data(), out_.data(), cell.bytes / sizeof(float), COLL_FLOAT, COLL_SUM, 0};
  }

  // Microseconds of the slowest rank.
  double iterate(const TuneCell& cell, coll_comm* comm) {
    for (size_t at = 0; at < in_.size(); at += 64) in_[at]++;
    const bool sends_result = cell.collective == Collective::bcast && rank_ == 0;
    for (size_t at = 0; sends_result && at < out_.size(); at += 64) out_[at]++;
    const int slot = iteration_++ % LOCKSTEP_MAX_ITERATIONS;
    lockstep_start(step_);
    const uint64_t begin = lockstep_ticks();
    check(perform(call_of(cell), comm));
    look_through(out_.data(), out_.size());
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
          // A ring of more slots than the data have chunks is as good as a shorter one.
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
    board.problem.tell(fmt::format("rank {}: {}", rank, error.text));
  } catch (const std::bad_alloc&) { board.problem.tell(fmt::format("rank {}: no memory for its buffers", rank)); }
  return 1;
}

}  // namespace coll::tools
