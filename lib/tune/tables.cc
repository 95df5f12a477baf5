// SPDX-License-Identifier: BSD-3-Clause
#include "tune/tables.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "model/cost.h"
#include "model/machines.h"

namespace coll::tune {

using model::Chosen;
using plan::Collective;

namespace {

bool keeps_bits(const algo::Algorithm& algorithm, const Situation& situation) {
  if (!plan::is_reduction(algorithm.collective)) return true;
  return algorithm.balanced && !(situation.rounds_partials() && algorithm.stores_partials);
}

// The time of `bytes`, interpolated on logarithmic scales between the times of the class and of the one before it.
double expected_us(std::span<const Chosen> rows, const Chosen& row, size_t bytes) {
  if (row.measured_us <= 0 || bytes > row.up_to_bytes) return 0;
  if (bytes == row.up_to_bytes) return row.measured_us;
  if (&row == rows.data()) return 0;
  const Chosen& before = (&row)[-1];
  if (before.measured_us <= 0 || before.up_to_bytes == 0) return 0;
  const double part = std::log(double(bytes) / double(before.up_to_bytes)) /
                      std::log(double(row.up_to_bytes) / double(before.up_to_bytes));
  return before.measured_us * std::pow(row.measured_us / before.measured_us, part);
}

}  // namespace

std::optional<Calibrated::Found> Calibrated::find(const Situation& situation) const {
  for (const int ranks : {situation.ranks, nearest_ranks(situation.collective, situation.ranks)}) {
    const Chosen* row = row_for(situation, ranks);
    if (row == nullptr || !usable(*row, situation)) continue;
    Found found{.row = row, .exact = ranks == situation.ranks};
    found.choice = {.algorithm = row->algorithm,
                    .parameters = row->parameters,
                    .kernel_copies = row->kernel_copies,
                    .staged = situation.single_copy && !row->kernel_copies};
    if (found.exact) found.expected_us = expected_us(rows(situation.collective, ranks), *row, situation.bytes);
    return found;
  }
  return std::nullopt;
}

std::optional<size_t> Calibrated::latency_path_bytes(Collective collective, int ranks) const {
  const std::span<const Chosen> measured = rows(collective, ranks);
  if (measured.empty()) return std::nullopt;
  const auto behind = std::ranges::find_if(measured, [](const Chosen& row) { return row.algorithm != nullptr; });
  if (behind == measured.begin()) return 0;
  return std::max<size_t>((behind - 1)->up_to_bytes * plan::pieces_shown(collective, ranks), 1);
}

bool Calibrated::knows_times(int ranks) const {
  return std::ranges::any_of(table_->choices,
                             [&](const Chosen& row) { return row.ranks == ranks && row.measured_us > 0; });
}

std::span<const Chosen> Calibrated::rows(Collective collective, int ranks) const {
  const std::tuple key(collective, ranks);
  const auto key_of = [](const Chosen& c) { return std::tuple(c.collective, c.ranks); };
  return {std::ranges::lower_bound(table_->choices, key, {}, key_of),
          std::ranges::upper_bound(table_->choices, key, {}, key_of)};
}

const Chosen* Calibrated::row_for(const Situation& situation, int ranks) const {
  const std::span<const Chosen> all = rows(situation.collective, ranks);
  const auto row = std::ranges::lower_bound(all, situation.bytes, {}, &Chosen::up_to_bytes);
  if (row != all.end()) return &*row;
  return all.empty() ? nullptr : &all.back();
}

bool Calibrated::usable(const Chosen& row, const Situation& situation) const {
  if (row.algorithm == nullptr || !keeps_bits(*row.algorithm, situation)) return false;
  // Calibration compares staging with CMA only.
  const bool may_stage = !situation.single_copy || (situation.may_stage && situation.kernel == model::Mechanism::cma);
  if (row.kernel_copies ? !situation.has_kernel_copies() : !may_stage) return false;
  const algo::PlanRequest request{.hierarchy = hierarchy_, .parameters = row.parameters};
  if (row.algorithm->refuses != nullptr && !row.algorithm->refuses(request).empty()) return false;
  return row.algorithm->applies(request);
}

// The nearest other number of ranks that the table has rows of, between 2/3 and 3/2 of `ranks`; `ranks` itself without
// such rows.
int Calibrated::nearest_ranks(Collective collective, int ranks) const {
  int nearest = ranks;
  double least = 1.5;
  for (const Chosen& row : table_->choices) {
    if (row.collective != collective || row.ranks == ranks) continue;
    const double factor = double(std::max(row.ranks, ranks)) / std::min(row.ranks, ranks);
    if (factor < least || (factor == least && nearest == ranks)) least = factor, nearest = row.ranks;
  }
  return nearest;
}

Prices::Access Prices::access_of(const Situation& situation) {
  if (situation.in_place || situation.mapped) return Access::mapped;
  if (situation.single_copy && !situation.may_stage) return Access::kernel;
  return situation.has_kernel_copies() ? Access::kernel_or_staged : Access::staged;
}

model::Table Prices::table_for(const Situation& situation) const {
  if (own_ != nullptr) {
    model::Table table = *own_;
    table.huge_pages = table.huge_pages && situation.huge_pages;
    model::complete_mechanisms(table);
    return table;
  }
  model::Table table = *model::nearest_table(hardware_);
  if (!situation.has_kernel_copies()) return table;
  // The speed of kernel-assisted copies varies most between systems, so it is scaled to the communicator's own
  // measurement.
  const double there = model::times_of_staging(table, *hierarchy_, situation.kernel);
  const double here = situation.single_copy           ? std::min(there, 1.0)
                      : situation.cma_times < no_copy ? situation.cma_times
                                                      : there;
  model::Access& kernel = table.access[size_t(situation.kernel)];
  for (double& us : kernel.startup_us.at) us *= here / there;
  for (double& gbs : kernel.bandwidth_gbs.at) gbs *= there / here;
  kernel.page_us *= here / there;
  for (model::CacheRates& rates : table.caches) rates.kernel_gbs *= there / here;
  return table;
}

const model::Prices& Prices::book_for(const Situation& situation, Access access) {
  std::unique_ptr<const Book>& book = books_[access];
  if (book == nullptr) {
    using enum model::Mechanism;
    const std::vector<model::Mechanism> mechanisms = access == Access::mapped   ? std::vector{mapped}
                                                     : access == Access::kernel ? std::vector{situation.kernel}
                                                     : access == Access::kernel_or_staged
                                                         ? std::vector{situation.kernel, shared_memory}
                                                         : std::vector{shared_memory};
    book = std::make_unique<const Book>(table_for(situation), *hierarchy_, mechanisms);
    table_name_ = book->table.name;
  }
  return book->prices;
}

const std::vector<Choice>& Prices::find(const Situation& situation) {
  const int size_class = situation.bytes == 0 ? 0 : int(std::bit_width(situation.bytes - 1)) + 1;
  const Access access = access_of(situation);
  const std::tuple key(situation.collective, size_class, situation.rounds_partials(), access);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  // Auto-tuning compares a few candidates, and none that is certainly slower.
  constexpr size_t most = 3;
  constexpr double near = 1.5;
  const double bytes = situation.bytes == 0 ? 0 : double(std::bit_ceil(situation.bytes));
  std::vector<Choice> made;
  const model::Prices& prices = book_for(situation, access);
  model::Call call{.collective = situation.collective, .bytes = bytes, .element_bytes = situation.element_bytes};
  const std::vector<model::Candidate> candidates = prices.candidates(call);
  const auto add = [&](const model::Candidate& candidate) {
    Choice choice{.algorithm = candidate.algorithm,
                  .parameters = candidate.parameters,
                  .kernel_copies = model::is_kernel_copy(candidate.mechanism),
                  .staged = situation.single_copy && candidate.mechanism == model::Mechanism::shared_memory};
    if (std::ranges::none_of(made, [&](const Choice& known) { return same(known, choice); }))
      made.push_back(std::move(choice));
  };
  for (const model::Candidate& candidate : candidates) {
    if (made.size() == most || candidate.us > near * candidates.front().us) break;
    add(candidate);
  }
  // The first choice must be fast for buffers that are new in each call. Auto-tuning also tries what is fast once
  // buffers that are used repeatedly lie on huge pages.
  const bool by_kernel = access == Access::kernel || access == Access::kernel_or_staged;
  if (by_kernel && situation.huge_pages && bytes * situation.ranks >= model::long_buffer_bytes && !candidates.empty()) {
    call.huge_pages = true;
    const std::vector<model::Candidate> others = prices.candidates(call, std::array{situation.kernel});
    if (!others.empty() && others.front().us < near * candidates.front().us) add(others.front());
  }
  return known_.emplace(key, std::move(made)).first->second;
}

}  // namespace coll::tune
