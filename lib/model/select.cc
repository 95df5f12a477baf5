// SPDX-License-Identifier: BSD-3-Clause
#include "model/select.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "model/prices.h"

namespace coll::model {

using plan::Collective;

namespace {

bool keeps_bits(const algo::Algorithm& algorithm, size_t element_bytes) {
  if (!plan::is_reduction(algorithm.collective)) return true;
  return algorithm.balanced && !(rounds_partials(element_bytes) && algorithm.stores_partials);
}

// Of `bytes`, between the times of the class and of the one before it: straight on logarithmic scales.
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

std::string size_text(size_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return std::to_string(bytes >> 20) + " MiB";
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return std::to_string(bytes >> 10) + " KiB";
  return std::to_string(bytes) + " bytes";
}

}  // namespace

std::string decider_text(const Selection& selection) {
  switch (selection.by) {
    case Decider::measured:
    case Decider::nearby:
      return std::string("table row ") + plan::name(selection.row->collective) + " up to " +
             size_text(selection.row->up_to_bytes) + " of " + std::to_string(selection.row->ranks) + " ranks";
    case Decider::priced: return "the table's parameters";
    case Decider::builtin: return "built-in defaults";
    case Decider::forced: return "a variable";
    case Decider::tried: return "auto-tuned";
  }
  return "?";
}

Selector::Selector(std::shared_ptr<const Table> table, const topo::Hierarchy& hierarchy, Circumstances circumstances)
    : table_(std::move(table)), hierarchy_(&hierarchy), circumstances_(circumstances) {}

Selection Selector::select(const Question& question) {
  const Selection otherwise{.choice = builtin(question)};
  if (table_ == nullptr || question.irregular || question.ranks < 2) return otherwise;
  // Of ranks that share cores neither formulas know nor a calibration of as many ranks as there are cores.
  if (question.crowded && question.ranks <= table_->fingerprint.cores) return otherwise;
  for (const int ranks : {question.ranks, nearest_ranks(question.collective, question.ranks)}) {
    const Chosen* row = row_for(question, ranks);
    // Rows are of processes.
    if (row == nullptr || circumstances_.mapped || !usable(*row, question)) continue;
    const bool exact = ranks == question.ranks;
    Selection made{.by = exact ? Decider::measured : Decider::nearby, .row = row};
    made.choice.algorithm = row->algorithm;
    made.choice.parameters = row->parameters;
    made.choice.kernel_copies = row->kernel_copies;
    complete(question, made.choice);
    if (exact) made.expected_us = expected_us(rows(question.collective, ranks), *row, question.bytes);
    return made;
  }
  if (question.crowded) return otherwise;
  const std::optional<Choice>& cheapest = priced(question);
  if (!cheapest.has_value()) return otherwise;
  Selection made{.choice = *cheapest, .by = Decider::priced};
  complete(question, made.choice);
  return made;
}

Choice Selector::builtin(const Question& question) const {
  return circumstances_.family == nullptr ? choose(question) : choose(question, *circumstances_.family);
}

std::optional<Choice> Selector::other_way(const Question& question) const {
  const Choice usual = builtin(question);
  const auto differs = [&usual](const Choice& other) {
    return other.algorithm != usual.algorithm || other.parameters != usual.parameters ||
           other.kernel_copies != usual.kernel_copies;
  };
  Question as_if = question;
  bool by_kernel = false;
  if (question.mapped) {
    as_if.mapped = false;
  } else {
    as_if.slow_pieces = true;
    if (const Choice other = builtin(as_if); differs(other)) return other;
    as_if.slow_pieces = false;
    if (plan::is_reduction(question.collective)) {
      as_if.mapped = true;
    } else if (has_kernel_copies(question)) {
      as_if.kernel_copies = by_kernel = !usual.kernel_copies;
      as_if.kernel_times = no_copy;
    } else {
      return std::nullopt;
    }
  }
  Choice other = builtin(as_if);
  other.kernel_copies |= by_kernel;
  return differs(other) ? std::optional(other) : std::nullopt;
}

size_t Selector::latency_path_bytes(Question question) const {
  question.mapped |= circumstances_.mapped;
  const size_t otherwise = model::latency_path_bytes(question);
  if (table_ == nullptr || question.crowded || question.mapped) return otherwise;
  const std::span<const Chosen> measured = rows(question.collective, question.ranks);
  const Chosen* last = nullptr;
  for (const Chosen& row : measured) {
    if (row.algorithm != nullptr) break;
    last = &row;
  }
  if (last == nullptr) return measured.empty() ? otherwise : std::min(otherwise, tiny_bytes);
  return std::max<size_t>(last->up_to_bytes * plan::pieces_shown(question.collective, question.ranks), 1);
}

bool Selector::knows_times(int ranks) const {
  return table_ != nullptr && !circumstances_.mapped && std::ranges::any_of(table_->choices, [&](const Chosen& row) {
           return row.ranks == ranks && row.measured_us > 0;
         });
}

std::span<const Chosen> Selector::rows(Collective collective, int ranks) const {
  const std::tuple key(collective, ranks);
  const auto key_of = [](const Chosen& c) { return std::tuple(c.collective, c.ranks); };
  return {std::ranges::lower_bound(table_->choices, key, {}, key_of),
          std::ranges::upper_bound(table_->choices, key, {}, key_of)};
}

const Chosen* Selector::row_for(const Question& question, int ranks) const {
  const std::span<const Chosen> all = rows(question.collective, ranks);
  const auto row = std::ranges::lower_bound(all, question.bytes, {}, &Chosen::up_to_bytes);
  if (row != all.end()) return &*row;
  return all.empty() ? nullptr : &all.back();
}

bool Selector::usable(const Chosen& row, const Question& question) const {
  if (row.algorithm == nullptr || !keeps_bits(*row.algorithm, question.element_bytes)) return false;
  if (row.kernel_copies ? !has_kernel_copies(question) : question.kernel_copies) return false;
  const algo::Request request{.hierarchy = hierarchy_, .parameters = row.parameters};
  if (row.algorithm->refuses != nullptr && !row.algorithm->refuses(request).empty()) return false;
  return row.algorithm->applies(request);
}

// Of which the table has rows, at most half as many again or two thirds; `ranks` itself when there are none.
int Selector::nearest_ranks(Collective collective, int ranks) const {
  int nearest = ranks;
  double least = 1.5;
  for (const Chosen& row : table_->choices) {
    if (row.collective != collective || row.ranks == ranks) continue;
    const double factor = double(std::max(row.ranks, ranks)) / std::min(row.ranks, ranks);
    if (factor < least || (factor == least && nearest == ranks)) least = factor, nearest = row.ranks;
  }
  return nearest;
}

// Of the largest vector of the class, so that one plan serves all of it.
const std::optional<Choice>& Selector::priced(const Question& question) {
  const int size_class = question.bytes == 0 ? 0 : int(std::bit_width(question.bytes - 1)) + 1;
  const std::tuple key(question.collective, size_class, rounds_partials(question.element_bytes),
                       has_kernel_copies(question));
  if (const auto found = priced_.find(key); found != priced_.end()) return found->second;
  Table usable = *table_;
  for (Mechanism mechanism : all_mechanisms) {
    const bool possible = mechanism == Mechanism::shared_memory ||
                          (mechanism == Mechanism::mapped && circumstances_.mapped) ||
                          (mechanism == circumstances_.kernel && has_kernel_copies(question));
    usable.access[size_t(mechanism)].available &= possible;
  }
  const double bytes = question.bytes == 0 ? 0 : double(std::bit_ceil(question.bytes));
  std::optional<Choice> cheapest;
  for (const Priced& row : rank_choices(plan::name(question.collective), usable, *hierarchy_, bytes)) {
    const algo::Algorithm* algorithm = registered(*row.row);
    if (algorithm == nullptr || !keeps_bits(*algorithm, question.element_bytes)) continue;
    cheapest = Choice{.algorithm = algorithm, .kernel_copies = is_kernel_copy(row.mechanism)};
    algo::Parameters& parameters = cheapest->parameters;
    if (row.row->reads.k) parameters.k = uint16_t(row.knobs.k);
    if (row.row->reads.j) parameters.j = uint16_t(row.knobs.k);
    // Formulas without chunks move everything in one pass; staging has room for so much.
    constexpr double most = 1 << 20;
    const double chunk = row.knobs.chunk_bytes > 0 ? row.knobs.chunk_bytes : std::min(bytes, most);
    parameters.chunk_bytes = uint32_t(std::max(chunk, 64.0));
    if (chunk >= bytes) parameters.depth = 1;
    break;
  }
  return priced_.emplace(key, cheapest).first->second;
}

}  // namespace coll::model
