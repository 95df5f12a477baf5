// SPDX-License-Identifier: BSD-3-Clause
#include "tools/calibrate/choose/choose.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <sys/sysinfo.h>

#include "tools/calibrate/choose/prices.h"
#include "tools/common/collective_call.h"
#include "tools/common/text.h"

namespace coll::tools {
namespace {

// A candidate is timed if its predicted time is at most this many times the best prediction. The best candidate of each
// transport and the built-in default are timed in any case. The first phase drops most of them.
constexpr double most_predicted_ratio = 4;

// Returns whether the buffers of all ranks take at most half of the free memory.
bool fits_memory(plan::Collective collective, size_t bytes, int ranks) {
  struct sysinfo info {};
  sysinfo(&info);
  const double each = double(bytes) * double(blocks(collective, plan::Buffer::send, ranks) +
                                             blocks(collective, plan::Buffer::recv, ranks));
  return each * ranks < double(info.freeram) * info.mem_unit / 2;
}

void drop_slow(std::vector<Candidate>& candidates) {
  if (candidates.empty()) return;
  const double best_us = candidates.front().predicted_us;
  bool seen[2] = {false, false};
  std::erase_if(candidates, [&](const Candidate& of) {
    const bool first_of_transport = !std::exchange(seen[of.choice.kernel_copies], true);
    return !first_of_transport && !of.builtin && of.predicted_us > most_predicted_ratio * best_us;
  });
}

// The candidate that serves a size class, and its times.
struct Serving {
  const Candidate* candidate = nullptr;  // null: there is none
  bool is_measured = false;
  double us() const { return is_measured ? candidate->timing.used_us : candidate->predicted_us; }
};

Serving latency_path(const Comparison& comparison) {
  const Candidate* found = comparison.first(true);
  return {found, found != nullptr && found->timing.good()};
}

// The fastest algorithm; if none was measured, the one with the shortest predicted time.
Serving best_algorithm(const Comparison& comparison) {
  if (const int winner = comparison.winner(false); winner >= 0) return {&comparison.candidates[size_t(winner)], true};
  return {comparison.first(false), false};
}

// By how much the latency path is faster than the best algorithm, as a logarithm.
double gain_of_latency(const Serving& latency, const Serving& other) {
  if (latency.is_measured == other.is_measured) return std::log(other.us() / latency.us());
  return std::log(other.candidate->predicted_us / latency.candidate->predicted_us);
}

model::Chosen chosen_of(const Comparison& comparison, const Serving& by) {
  return {.collective = comparison.collective,
          .ranks = comparison.ranks,
          .up_to_bytes = comparison.bytes,
          .algorithm = by.candidate->choice.algorithm,
          .parameters = by.candidate->choice.parameters,
          .kernel_copies = by.candidate->choice.kernel_copies,
          .predicted_us = by.candidate->predicted_us,
          .measured_us = by.is_measured ? by.candidate->timing.us : 0};
}

// Selects for all sizes, ascending, of one collective and number of ranks. The latency path serves all sizes up to one
// limit, at which the product of its gains is the largest.
void select_of(std::span<const Comparison* const> sizes, std::vector<model::Chosen>& chosen) {
  size_t served = 0;
  double gain = 0, most = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Serving latency = latency_path(*sizes[i]), other = best_algorithm(*sizes[i]);
    if (latency.candidate == nullptr) break;
    gain += other.candidate == nullptr ? 0 : gain_of_latency(latency, other);
    if (gain >= most) most = gain, served = i + 1;
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Serving by = i < served ? latency_path(*sizes[i]) : best_algorithm(*sizes[i]);
    if (by.candidate != nullptr) chosen.push_back(chosen_of(*sizes[i], by));
  }
}

void summarize(Decisions& made) {
  std::vector<double> errors;
  for (const Comparison& comparison : made.comparisons) {
    for (const Candidate& candidate : comparison.candidates) {
      made.samples += candidate.timing.kept + candidate.timing.switched + candidate.timing.stray;
      made.discarded += candidate.timing.switched + candidate.timing.stray;
      if (candidate.timing.good()) errors.push_back(std::abs(candidate.predicted_us / candidate.timing.us - 1));
    }
    const int winner = comparison.winner();
    if (winner < 0) continue;
    made.timed++;
    const Timing& first = comparison.candidates.front().timing;
    made.first_was_best += first.good() && first.used_us <= 1.1 * comparison.candidates[size_t(winner)].timing.used_us;
  }
  std::ranges::sort(errors);
  if (!errors.empty()) made.median_error = errors[errors.size() / 2];
}

}  // namespace

std::vector<model::Chosen> select(const std::vector<Comparison>& of) {
  std::vector<const Comparison*> sorted;
  for (const Comparison& comparison : of) sorted.push_back(&comparison);
  std::ranges::sort(sorted, {},
                    [](const Comparison* one) { return std::tuple(one->collective, one->ranks, one->bytes); });
  std::vector<model::Chosen> chosen;
  const auto are_together = [](const Comparison* a, const Comparison* b) {
    return a->collective == b->collective && a->ranks == b->ranks;
  };
  for (auto begin = sorted.begin(); begin != sorted.end();) {
    const auto end =
        std::find_if_not(begin, sorted.end(), [&](const Comparison* of) { return are_together(*begin, of); });
    select_of({begin, end}, chosen);
    begin = end;
  }
  return chosen;
}

std::vector<int> rank_counts(int most) {
  std::vector<int> counts;
  for (int ranks = 2; ranks < most; ranks *= 2) counts.push_back(ranks);
  if (most >= 2) counts.push_back(most);
  return counts;
}

Decisions choose_all(const ChooseTask& task, const model::Table& table,
                     const std::function<void(double, const std::string&)>& show) {
  constexpr double pricing = 0.25;  // share of the progress bar that the predictions take
  Decisions made;
  const std::vector<int> counts = rank_counts(task.most_ranks);
  std::vector<std::vector<Comparison>> of_ranks;
  for (size_t i = 0; i < counts.size(); ++i) {
    const int ranks = counts[i];
    const std::vector<int> cpus(task.cpus.begin(), task.cpus.begin() + ranks);
    const topo::Hierarchy hierarchy = topo::Hierarchy::from_places(topo::map_ranks(task.machine, ranks, cpus));
    const ModelMachine machine{.table = table, .machine = task.machine, .running = true, .hierarchy = hierarchy};
    std::vector<Comparison>& comparisons = of_ranks.emplace_back();
    for (int c = 0; c < plan::collectives; ++c) {
      const auto collective = plan::Collective(c);
      show(pricing * (double(i) + double(c) / plan::collectives) / double(counts.size()),
           fmt::format("predicting {}, {} ranks", plan::name(collective), ranks));
      for (size_t bytes : size_classes(collective, ranks)) {
        Comparison comparison{collective, ranks, bytes, price_all(collective, bytes, machine)};
        drop_slow(comparison.candidates);
        if (!comparison.candidates.empty()) comparisons.push_back(std::move(comparison));
      }
    }
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    std::vector<Comparison> timed, priced;
    for (Comparison& comparison : of_ranks[i])
      (fits_memory(comparison.collective, comparison.bytes, counts[i]) ? timed : priced)
          .push_back(std::move(comparison));
    // Short calls come first: if the time runs out, the long ones remain, which the model predicts best.
    std::ranges::stable_sort(timed, {}, &Comparison::bytes);
    const double seconds = task.seconds / double(counts.size());
    const double each = std::min(1.0, seconds / double(std::max<size_t>(timed.size(), 1)));
    Rules rules{.phases = {{0.2 * each, 2, 1.4}, {0.2 * each, 3, 1.2}, {0.3 * each, 4, 1.1}, {0.3 * each, 4}}};
    if (task.quick) rules.phases = {{0.5 * each, 2, 1.2}, {0.5 * each, 3}};
    rules.most_seconds = (task.quick ? 3 : 1.2) * seconds;
    const std::vector<int> cpus(task.cpus.begin(), task.cpus.begin() + counts[i]);
    run_comparisons(timed, cpus, rules, [&](double share, const std::string& what) {
      show(pricing + (1 - pricing) * (double(i) + share) / double(counts.size()), what);
    });
    for (std::vector<Comparison>* all : {&timed, &priced})
      for (Comparison& comparison : *all) made.comparisons.push_back(std::move(comparison));
  }
  summarize(made);
  made.chosen = select(made.comparisons);
  return made;
}

}  // namespace coll::tools
