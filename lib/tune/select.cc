// SPDX-License-Identifier: BSD-3-Clause
#include "tune/select.h"

#include <algorithm>
#include <cassert>

#include "tune/shipped.h"

namespace coll::tune {

namespace {

const Range* forced_range(const Situation& situation, const Forced& forced) {
  for (const Range& range : forced.ranges)
    if (range.contains(situation, shipped())) return &range;
  return nullptr;
}

// Whether a rule may choose it: kernel-assisted copies work if it needs them, and the algorithm applies to these ranks.
bool works(const Choice& choice, const Situation& situation, const topo::Hierarchy* hierarchy) {
  if (choice.kernel_copies && !situation.has_kernel_copies()) return false;
  return hierarchy == nullptr || choice.algorithm->refuses == nullptr ||
         choice.algorithm->refuses({.hierarchy = hierarchy, .parameters = choice.parameters}).empty();
}

// The alternatives for auto-tuning: other plans of the range that work. With mapped buffers every path copies once, so
// paths are not compared.
std::vector<Choice> alternatives(const Range& range, const Situation& situation, const Choice& first, bool exact,
                                 const topo::Hierarchy* hierarchy) {
  std::vector<Choice> others;
  if (situation.bytes < tuned_min_bytes || situation.irregular) return others;
  for (const Candidate& candidate : range.candidates) {
    if (candidate.kind != Candidate::Kind::plan) continue;
    Choice other = made(candidate, situation, shipped(), exact);
    if (other.kernel_copies != first.kernel_copies && situation.mapped) continue;
    if (!works(other, situation, hierarchy)) continue;
    complete(situation, other);
    const auto repeats = [&other](const Choice& known) { return same(known, other); };
    if (!repeats(first) && std::ranges::none_of(others, repeats)) others.push_back(std::move(other));
  }
  return others;
}

}  // namespace

std::string source_text(const Selection& selection) {
  switch (selection.by) {
    case Source::measured:
    case Source::nearby:
      return std::string("table row ") + plan::name(selection.row->collective) + " up to " +
             size_text(selection.row->up_to_bytes) + " of " + std::to_string(selection.row->ranks) + " ranks";
    case Source::priced: return "prices of the table '" + selection.table + "'";
    case Source::shipped: {
      const Rule& rule = *selection.rule;
      return "built-in rule " + rule.file + ":" + std::to_string(rule.line) + " (" + rule.evidence + ")";
    }
    case Source::forced: return "a variable";
    case Source::tuned: return "auto-tuned";
  }
  return "?";
}

std::string text(const Selection& selection) { return text(selection.choice) + " (" + source_text(selection) + ")"; }

Selector::Selector(std::shared_ptr<const model::Table> table, const topo::Hierarchy& hierarchy,
                   const model::Fingerprint& hardware)
    : table_(std::move(table)), hierarchy_(&hierarchy) {
  if (table_ != nullptr) calibrated_.emplace(*table_, hierarchy);
  prices_.emplace(table_, hardware, hierarchy);
}

Selection Selector::select(Situation situation, const Forced& forced) {
  situation.table = table_ != nullptr;
  Selection selected;
  if (force(situation, forced, selected)) return selected;
  // Rows were measured with a core per rank if there were enough cores, and with buffers that are not accessed in
  // place.
  const bool calibrated = table_ != nullptr && !situation.irregular && situation.ranks > 1 && !situation.in_place &&
                          !(situation.oversubscribed && situation.ranks <= table_->fingerprint.cores);
  if (std::optional<Calibrated::Found> found = calibrated ? calibrated_->find(situation) : std::nullopt) {
    selected = {.choice = std::move(found->choice),
                .by = found->exact ? Source::measured : Source::nearby,
                .row = found->row,
                .expected_us = found->expected_us};
    complete(situation, selected.choice);
  } else {
    selected = by_rules(situation, prices_.has_value() ? &*prices_ : nullptr);
  }
  if (forced.chunk_bytes == 0 && !(forced.throttle != 0 && selected.choice.algorithm->name.starts_with("throttled")))
    return selected;
  Selection changed{.choice = std::move(selected.choice), .by = Source::forced};
  if (forced.chunk_bytes != 0) changed.choice.parameters.chunk_bytes = forced.chunk_bytes;
  if (forced.throttle != 0) changed.choice.parameters.k = forced.throttle;
  complete(situation, changed.choice);
  return changed;
}

bool Selector::force(const Situation& situation, const Forced& forced, Selection& made) {
  const Range* range = forced_range(situation, forced);
  if (range == nullptr) return false;
  const Candidate& first = range->candidates.front();
  if (first.kind == Candidate::Kind::latency) return false;
  made = {.by = Source::forced};
  if (first.kind == Candidate::Kind::priced) {
    if (!prices_.has_value() || !price(situation, *prices_, made)) return false;
    made.alternatives.clear();
  } else {
    made.choice = tune::made(first, situation, tune::shipped(), true);
    if (!first.kernel_copies.has_value()) made.choice.kernel_copies = shipped(situation).choice.kernel_copies;
    const bool throttled = made.choice.algorithm->name.starts_with("throttled");
    if (forced.chunk_bytes != 0 && first.chunk.empty()) made.choice.parameters.chunk_bytes = forced.chunk_bytes;
    if (forced.throttle != 0 && throttled && first.k.empty()) made.choice.parameters.k = forced.throttle;
  }
  complete(situation, made.choice);
  made.alternatives = alternatives(*range, situation, made.choice, true, hierarchy_);
  return true;
}

bool Selector::price(const Situation& situation, Prices& prices, Selection& made) const {
  const std::vector<Choice>& candidates = prices.find(situation);
  if (candidates.empty()) return false;
  made.choice = candidates.front();
  complete(situation, made.choice);
  made.table = prices.table_name();
  if (situation.bytes < tuned_min_bytes || situation.irregular) return true;
  for (size_t i = 1; i < candidates.size(); ++i) {
    made.alternatives.push_back(candidates[i]);
    complete(situation, made.alternatives.back());
  }
  return true;
}

Selection Selector::by_rules(const Situation& situation, Prices* prices) const {
  // The first candidate that works.
  const auto by = [&](const Range& range) -> std::optional<Selection> {
    for (const Candidate& candidate : range.candidates) {
      Selection selected;
      if (candidate.kind == Candidate::Kind::latency) continue;
      if (candidate.kind == Candidate::Kind::priced) {
        selected.by = Source::priced;
        if (prices == nullptr || !price(situation, *prices, selected)) continue;
        return selected;
      }
      selected.choice = made(candidate, situation, tune::shipped(), false);
      if (!works(selected.choice, situation, hierarchy_)) continue;
      complete(situation, selected.choice);
      selected.alternatives = alternatives(range, situation, selected.choice, false, hierarchy_);
      return selected;
    }
    return std::nullopt;
  };
  const Book& book = tune::shipped();
  for (Book::Found found = book.find(situation); found.rule != nullptr; found = book.find(situation, found.rule))
    if (std::optional<Selection> selected = by(*found.range)) return selected->rule = found.rule, std::move(*selected);
  assert(false && "the last rule of a collective has no condition");
  return {};
}

Selection Selector::shipped(const Situation& situation) const { return by_rules(situation, nullptr); }

size_t Selector::latency_path_bytes(Situation situation, const Forced& forced) const {
  if (!forced.ranges.empty()) {
    const Range& first = forced.ranges.front();
    if (first.candidates.front().kind != Candidate::Kind::latency) return 0;
    if (first.up_to.empty()) return SIZE_MAX;
    const double up_to = std::clamp(first.up_to.value(situation, tune::shipped()), 0.0, 0x1p40);
    return size_t(up_to) * plan::pieces_shown(situation.collective, situation.ranks);
  }
  situation.mapped |= situation.in_place;
  const size_t otherwise = size_t(tune::shipped().value("latency", situation));
  if (table_ == nullptr || situation.oversubscribed || situation.mapped) return otherwise;
  const std::optional<size_t> measured = calibrated_->latency_path_bytes(situation.collective, situation.ranks);
  return !measured.has_value() ? otherwise : *measured == 0 ? std::min(otherwise, tiny_bytes) : *measured;
}

bool Selector::knows_times(int ranks) const { return table_ != nullptr && calibrated_->knows_times(ranks); }

}  // namespace coll::tune
