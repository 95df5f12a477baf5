// SPDX-License-Identifier: BSD-3-Clause
#include "tools/calibrate/choose/choose.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <sys/sysinfo.h>

#include "tools/calibrate/choose/prices.h"
#include "tools/common/collective_call.h"
#include "tools/common/text.h"

namespace coll::tools {
namespace {

// What the clock is asked about: whatever is predicted to take at most so many times as long as the best, the best of
// each way of access, and the built-in default. The first heat leaves few of them.
constexpr double worth_a_heat = 4;

// Whether the buffers of all ranks leave half of the free memory to others.
bool fits_memory(plan::Collective collective, size_t bytes, int ranks) {
  struct sysinfo info {};
  sysinfo(&info);
  const double each = double(bytes) * double(blocks(collective, plan::Buffer::send, ranks) +
                                             blocks(collective, plan::Buffer::recv, ranks));
  return each * ranks < double(info.freeram) * info.mem_unit / 2;
}

void drop_hopeless(std::vector<Entrant>& entrants) {
  if (entrants.empty()) return;
  const double best_us = entrants.front().predicted_us;
  bool ways[2] = {false, false};
  std::erase_if(entrants, [&](const Entrant& of) {
    const bool first_of_way = !std::exchange(ways[of.choice.kernel_copies], true);
    return !first_of_way && !of.builtin && of.predicted_us > worth_a_heat * best_us;
  });
}

// The hand-written path serves all sizes up to some: where something beats it, it has lost the longer ones too.
model::Chosen chosen_of(const Contest& contest, bool latency_so_far) {
  const int winner = contest.winner(latency_so_far);
  const auto predicted = std::ranges::find_if(
      contest.entrants, [&](const Entrant& of) { return latency_so_far || of.choice.algorithm != nullptr; });
  const Entrant& best = winner >= 0 ? contest.entrants[size_t(winner)] : *predicted;
  return {.collective = contest.collective,
          .ranks = contest.ranks,
          .up_to_bytes = contest.bytes,
          .algorithm = best.choice.algorithm,
          .parameters = best.choice.parameters,
          .kernel_copies = best.choice.kernel_copies,
          .predicted_us = best.predicted_us,
          .measured_us = winner < 0 ? 0 : best.timing.us};
}

void judge(Decisions& made) {
  std::vector<double> errors;
  for (const Contest& contest : made.contests) {
    for (const Entrant& entrant : contest.entrants) {
      made.samples += entrant.timing.kept + entrant.timing.switched + entrant.timing.stray;
      made.discarded += entrant.timing.switched + entrant.timing.stray;
      if (entrant.timing.good()) errors.push_back(std::abs(entrant.predicted_us / entrant.timing.us - 1));
    }
    const int winner = contest.winner();
    if (winner < 0) continue;
    made.timed++;
    const Timing& first = contest.entrants.front().timing;
    made.first_was_best += first.good() && first.us <= 1.1 * contest.entrants[size_t(winner)].timing.us;
  }
  std::ranges::sort(errors);
  if (!errors.empty()) made.median_error = errors[errors.size() / 2];
}

void choose(Decisions& made) {
  std::vector<const Contest*> contests;
  for (const Contest& contest : made.contests) contests.push_back(&contest);
  std::ranges::sort(contests, {}, [](const Contest* of) { return std::tuple(of->collective, of->ranks, of->bytes); });
  bool latency = true;
  for (const Contest* contest : contests) {
    const model::Chosen* last = made.chosen.empty() ? nullptr : &made.chosen.back();
    if (last == nullptr || last->collective != contest->collective || last->ranks != contest->ranks) latency = true;
    made.chosen.push_back(chosen_of(*contest, latency));
    latency = made.chosen.back().algorithm == nullptr;
  }
}

}  // namespace

std::vector<int> rank_counts(int most) {
  std::vector<int> counts;
  for (int ranks = 2; ranks < most; ranks *= 2) counts.push_back(ranks);
  if (most >= 2) counts.push_back(most);
  return counts;
}

Decisions choose_all(const ChooseTask& task, const model::Table& table,
                     const std::function<void(double, const std::string&)>& show) {
  constexpr double pricing = 0.25;  // of the time that is shown
  Decisions made;
  const std::vector<int> counts = rank_counts(task.most_ranks);
  std::vector<std::vector<Contest>> of_ranks;
  for (size_t i = 0; i < counts.size(); ++i) {
    const int ranks = counts[i];
    const std::vector<int> cpus(task.cpus.begin(), task.cpus.begin() + ranks);
    const topo::Hierarchy hierarchy = topo::Hierarchy::from_places(topo::map_ranks(task.machine, ranks, cpus));
    const ModelMachine machine{.table = table, .machine = task.machine, .running = true, .hierarchy = hierarchy};
    std::vector<Contest>& contests = of_ranks.emplace_back();
    for (int c = 0; c < plan::collectives; ++c) {
      const auto collective = plan::Collective(c);
      show(pricing * (double(i) + double(c) / plan::collectives) / double(counts.size()),
           fmt::format("predicting {}, {} ranks", plan::name(collective), ranks));
      for (size_t bytes : size_classes(collective, ranks)) {
        Contest contest{collective, ranks, bytes, price_all(collective, bytes, machine)};
        drop_hopeless(contest.entrants);
        if (!contest.entrants.empty()) contests.push_back(std::move(contest));
      }
    }
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    std::vector<Contest> timed, priced;
    for (Contest& contest : of_ranks[i])
      (fits_memory(contest.collective, contest.bytes, counts[i]) ? timed : priced).push_back(std::move(contest));
    // Short calls first: what there is no time for is what the prediction is best at.
    std::ranges::stable_sort(timed, {}, &Contest::bytes);
    const double seconds = task.seconds / double(counts.size());
    const double each = std::min(1.0, seconds / double(std::max<size_t>(timed.size(), 1)));
    Rules rules{.heats = {{0.2 * each, 2, 1.4}, {0.2 * each, 3, 1.2}, {0.3 * each, 4, 1.1}, {0.3 * each, 4}}};
    if (task.quick) rules.heats = {{0.5 * each, 2, 1.2}, {0.5 * each, 3}};
    rules.most_seconds = (task.quick ? 3 : 1.2) * seconds;
    const std::vector<int> cpus(task.cpus.begin(), task.cpus.begin() + counts[i]);
    run_contests(timed, cpus, rules, [&](double share, const std::string& what) {
      show(pricing + (1 - pricing) * (double(i) + share) / double(counts.size()), what);
    });
    for (std::vector<Contest>* all : {&timed, &priced})
      for (Contest& contest : *all) made.contests.push_back(std::move(contest));
  }
  judge(made);
  choose(made);
  return made;
}

}  // namespace coll::tools
