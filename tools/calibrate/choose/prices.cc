// SPDX-License-Identifier: BSD-3-Clause
#include "tools/calibrate/choose/prices.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>

#include "model/prices.h"
#include "sim/simulate.h"
#include "tools/common/collective_call.h"
#include "tune/select.h"

namespace coll::tools {
namespace {

constexpr size_t kib = 1024, mib = 1024 * kib;
constexpr size_t element_bytes = 4;
constexpr size_t direct_min_bytes = 8 * kib;  // COLL_DIRECT_MIN: the library stages shorter data
constexpr double most_passes = 1024;

algo::Parameters chunked(size_t chunk, size_t depth) {
  algo::Parameters parameters;
  parameters.chunk_bytes = uint32_t(chunk);
  parameters.depth = uint16_t(depth);
  return parameters;
}

// Returns chunk sizes, each with a ring as deep as costs little memory. In a deep ring a slot has left the L1 of its
// writer when the reader copies it.
std::vector<algo::Parameters> chunks(const algo::Algorithm& algorithm, size_t bytes, bool kernel_copies) {
  const size_t whole = std::bit_ceil(std::max<size_t>(bytes, 64));
  if (!algorithm.reads.chunk && !algorithm.reads.level_chunks) return {chunked(std::min(whole, 64 * kib), 1)};
  std::vector<algo::Parameters> tried;
  for (size_t chunk = kernel_copies ? 64 * kib : 2 * kib; chunk < whole && chunk <= 512 * kib; chunk *= 2)
    if (double(bytes) / double(chunk) <= most_passes)
      tried.push_back(chunked(chunk, kernel_copies ? 2 : std::clamp<size_t>(512 * kib / chunk, 2, 16)));
  if (whole <= mib) tried.push_back(chunked(whole, 1));
  return tried;
}

// Returns the parameter sets of an algorithm that are worth predicting.
std::vector<tune::Choice> choices_of(const algo::Algorithm& algorithm, size_t bytes, const topo::Hierarchy& hierarchy,
                                     bool kernel_copies) {
  std::vector<tune::Choice> choices;
  const int ranks = hierarchy.ranks();
  std::vector<int> widths = {0};
  if (algorithm.reads.k || algorithm.reads.j) {
    widths.clear();
    for (int width = 1; width < ranks; width += width < 8 ? 1 : width / 4)
      if (!algorithm.reads.j || std::gcd(width, ranks) == 1) widths.push_back(width);
  }
  for (algo::Parameters parameters : chunks(algorithm, bytes, kernel_copies))
    for (int width : widths) {
      if (algorithm.reads.k) parameters.k = uint16_t(width);
      if (algorithm.reads.j) parameters.j = uint16_t(width);
      const algo::PlanRequest request{.hierarchy = &hierarchy, .parameters = parameters};
      if (algorithm.applies != nullptr && !algorithm.applies(request)) continue;
      if (algorithm.refuses != nullptr && !algorithm.refuses(request).empty()) continue;
      choices.push_back({&algorithm, parameters, false, kernel_copies});
    }
  return choices;
}

// The formula of a reduce-scatter takes the size of the whole vector, `bytes` is that of one block.
double formula_us(const tune::Choice& choice, plan::Collective collective, size_t bytes, const model::Table& table,
                  const topo::Hierarchy& hierarchy) {
  const model::Row* row = model::find_row(plan::name(collective), choice.algorithm->name);
  if (row == nullptr) return 0;
  const bool pieces = collective == plan::Collective::reduce_scatter;
  const model::Setting on(table, hierarchy,
                          choice.kernel_copies ? model::Mechanism::cma : model::Mechanism::shared_memory);
  const model::Knobs knobs{.k = row->reads.j ? choice.parameters.j : std::max<int>(choice.parameters.k, 1),
                           .chunk_bytes = double(choice.parameters.chunk_bytes),
                           .in_place = false};
  return model::cost(*row, on, double(bytes) * (pieces ? hierarchy.ranks() : 1), knobs).total_us();
}

// The payload is stored beside its flag, and the rank that combines operands reads it from there: one hop. More ranks
// than a small group use the formula of the plan twin, `grouped`.
double latency_us(plan::Collective collective, size_t bytes, const model::Table& table,
                  const topo::Hierarchy& hierarchy) {
  const model::Setting on(table, hierarchy, model::Mechanism::shared_memory);
  if (const model::Row* twin = model::find_row(plan::name(collective), "grouped");
      twin != nullptr && hierarchy.ranks() > topo::small_group)
    return model::cost(*twin, on, double(bytes), {}).total_us();
  const double moved = double(bytes) * double(blocks(collective, plan::Buffer::send, hierarchy.ranks()));
  const double hop =
      plan::is_rooted(collective) && collective != plan::Collective::reduce && collective != plan::Collective::gather
          ? on.tiny_bcast_us()
          : on.tiny_allgather_us();
  if (table.caches.empty()) return hop + on.copy(moved).transfer_us + on.memcpy_us(moved);
  // A rank stores its payload to lines that others have read, and loads what they have just stored.
  const bool from_root = collective == plan::Collective::bcast || collective == plan::Collective::scatter;
  const double loaded = double(bytes) * (from_root ? 1 : hierarchy.ranks() - 1);
  return hop + moved / model::bytes_per_us(model::take_gbs(table, moved)) +
         loaded / model::bytes_per_us(rates_at(table, loaded).fetch_gbs);
}

}  // namespace

std::vector<size_t> size_classes(plan::Collective collective, int ranks) {
  if (collective == plan::Collective::barrier) return {0};
  std::vector<size_t> classes;
  const size_t pieces = plan::pieces_shown(collective, ranks);
  if (const size_t tiny = tune::tiny_bytes / pieces; tiny >= element_bytes)
    classes.push_back(tiny / element_bytes * element_bytes);
  for (size_t bytes = 2 * kib; bytes <= 16 * mib; bytes *= 2)
    if (classes.empty() || bytes > classes.back()) classes.push_back(bytes);
  return classes;
}

double price_of(const tune::Choice& choice, size_t bytes, const ModelMachine& machine) {
  const plan::Plan plan = choice.algorithm->make({.hierarchy = &machine.hierarchy, .parameters = choice.parameters});
  if (plan.staging_bytes > algo::usual_room_bytes) return -1;
  model::Table as_library = machine.table;
  as_library.thresholds.direct_bytes = direct_min_bytes;
  sim::Options options;
  options.access = choice.kernel_copies ? plan::AccessMode::remote : plan::AccessMode::staged;
  const sim::Result run =
      sim::simulate(plan, plan::Shape(bytes / element_bytes), element_bytes, machine.hierarchy, as_library, options);
  return run.problem.empty() ? run.end_us : -1;
}

namespace {

// Returns the choices to simulate. With many ranks the closed formulas preselect them, because a simulation takes long.
std::vector<tune::Choice> choices_to_simulate(plan::Collective collective, size_t bytes, const ModelMachine& machine) {
  constexpr int few_ranks = 4;
  constexpr size_t simulated_of_many = 12;
  const model::Table& table = machine.table;
  std::vector<tune::Choice> choices;
  for (const algo::Algorithm& algorithm : algo::algorithms()) {
    if (algorithm.collective != collective) continue;
    if (plan::is_reduction(collective) && !algorithm.balanced) continue;
    for (bool kernel : {false, true}) {
      if (kernel && (bytes < direct_min_bytes || !table.of(model::Mechanism::cma).available)) continue;
      for (const tune::Choice& choice : choices_of(algorithm, bytes, machine.hierarchy, kernel))
        choices.push_back(choice);
    }
  }
  if (machine.hierarchy.ranks() <= few_ranks || choices.size() <= simulated_of_many) return choices;
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < choices.size(); ++i)
    order.emplace_back(formula_us(choices[i], collective, bytes, table, machine.hierarchy), i);
  std::ranges::sort(order);
  std::vector<tune::Choice> kept;
  for (size_t i = 0; i < simulated_of_many; ++i) kept.push_back(choices[order[i].second]);
  return kept;
}

// Returns the selection of communicators that have no table.
tune::Choice builtin_choice(plan::Collective collective, size_t bytes, const ModelMachine& machine) {
  const tune::Situation situation = situation_on(machine, collective, bytes, element_bytes);
  tune::Choice choice = tune::Selector().shipped(situation).choice;
  choice.kernel_copies = (choice.kernel_copies || situation.single_copy) && bytes >= direct_min_bytes;
  return choice;
}

}  // namespace

std::vector<Candidate> price_all(plan::Collective collective, size_t bytes, const ModelMachine& machine) {
  std::vector<Candidate> candidates;
  for (const tune::Choice& choice : choices_to_simulate(collective, bytes, machine)) {
    const double us = price_of(choice, bytes, machine);
    if (us < 0) continue;
    // Keep only the best parameters of an algorithm on each transport.
    const auto like = [&](const Candidate& candidate) {
      return candidate.choice.algorithm == choice.algorithm && candidate.choice.kernel_copies == choice.kernel_copies;
    };
    const auto known = std::ranges::find_if(candidates, like);
    if (known == candidates.end()) candidates.push_back({choice, us});
    else if (us < known->predicted_us) *known = {choice, us};
  }
  // Prices that differ by rounding only count as equal: the algorithm registered first comes first.
  const auto price = [](const Candidate& candidate) { return float(candidate.predicted_us); };
  std::ranges::stable_sort(candidates, {}, price);
  // With few ranks several algorithms have equal plans: plans that take exactly the same time count as one.
  const auto repeats = [](const Candidate& a, const Candidate& b) {
    return std::abs(a.predicted_us - b.predicted_us) < 1e-6 * a.predicted_us;
  };
  candidates.erase(std::unique(candidates.begin(), candidates.end(), repeats), candidates.end());
  const size_t shown = std::max<size_t>(bytes * plan::pieces_shown(collective, machine.hierarchy.ranks()), 1);
  if (shown <= tune::Selector().latency_path_bytes(situation_on(machine, collective, bytes, element_bytes)) ||
      collective == plan::Collective::barrier) {
    candidates.push_back({{}, latency_us(collective, bytes, machine.table, machine.hierarchy), true});
  } else {
    const tune::Choice choice = builtin_choice(collective, bytes, machine);
    const double us = price_of(choice, bytes, machine);
    const auto known =
        std::ranges::find_if(candidates, [&](const Candidate& of) { return tune::same(of.choice, choice); });
    if (known != candidates.end()) known->builtin = true;
    else if (us >= 0) candidates.push_back({choice, us, true});
  }
  std::ranges::stable_sort(candidates, {}, price);
  return candidates;
}

}  // namespace coll::tools
