// SPDX-License-Identifier: BSD-3-Clause
#include "tune/tuner_candidates.h"

#include <algorithm>
#include <bit>

#include "model/fingerprint.h"
#include "model/machines.h"

namespace coll::tune {

namespace {

constexpr size_t most_priced = 5;
constexpr double worth_trying = 2.5;  // price over that of the cheapest one; prices are not exact
// With more ranks pricing all algorithms takes too long.
constexpr int most_priced_ranks = 64;
constexpr uint32_t least_chunk = 4 << 10, most_chunk = 1 << 20, most_ring = 2 << 20;

}  // namespace

bool keeps_bits(const Choice& choice, const Situation& situation) {
  if (choice.algorithm == nullptr || !plan::is_reduction(situation.collective)) return true;
  return choice.algorithm->balanced && !(situation.rounds_partials() && choice.algorithm->stores_partials);
}

std::vector<Choice> PricedCandidates::of(const Situation& situation) {
  std::vector<Choice> made;
  // The formulas do not cover oversubscribed ranks.
  if (situation.oversubscribed || situation.ranks > most_priced_ranks) return made;
  if (table_ == nullptr)
    table_ = std::make_shared<const model::Table>(model::builtin_table(model::hardware_of(*machine_)));
  const bool has_kernel = situation.has_kernel_copies() && table_->access[size_t(situation.kernel)].available;
  if (!prices_.has_value() || has_kernel != has_kernel_) {
    std::vector<model::Mechanism> mechanisms;
    if (has_kernel) mechanisms.push_back(situation.kernel);
    mechanisms.push_back(situation.in_place ? model::Mechanism::mapped : model::Mechanism::shared_memory);
    prices_.emplace(*table_, *hierarchy_, mechanisms);
    has_kernel_ = has_kernel;
  }
  const std::vector<model::Candidate> all = prices_->candidates({.collective = situation.collective,
                                                                 .bytes = double(situation.bytes),
                                                                 .element_bytes = situation.element_bytes,
                                                                 .huge_pages = situation.huge_pages});
  for (const model::Candidate& candidate : all) {
    if (made.size() == most_priced || candidate.us > worth_trying * all.front().us) break;
    made.push_back({.algorithm = candidate.algorithm,
                    .parameters = candidate.parameters,
                    .kernel_copies = model::is_kernel_copy(candidate.mechanism) && !situation.single_copy});
  }
  return made;
}

std::vector<Choice> candidates(Selector& selector, const Situation& situation, const Forced& forced,
                               bool uses_latency_path, bool latency_path_possible, PricedCandidates* priced) {
  const Selection selected = selector.select(situation, forced);
  std::vector<Choice> made;
  const auto add = [&](Choice choice) {
    if (!keeps_bits(choice, situation)) return;
    if (choice.algorithm != nullptr) complete(situation, choice);
    if (std::ranges::none_of(made, [&](const Choice& known) { return same(known, choice); }))
      made.push_back(std::move(choice));
  };
  const Choice latency;
  if (uses_latency_path) made.push_back(latency);
  else made.push_back(selected.choice);
  // A user's own algorithm may reduce in another order than the candidates, which would change the bits.
  if (!keeps_bits(made.front(), situation)) return made;
  if (!forced.ranges.empty()) {
    if (uses_latency_path || selected.by != Source::forced) return made;
    for (const Choice& alternative : selected.alternatives) add(alternative);
    return made;
  }
  add(selected.choice);
  for (const Choice& alternative : selected.alternatives) add(alternative);
  if (latency_path_possible) add(latency);
  const Selection shipped = selector.shipped(situation);
  add(shipped.choice);
  for (const Choice& alternative : shipped.alternatives) add(alternative);
  // With mapped buffers every path copies once.
  for (const Choice& cheap : priced != nullptr ? priced->of(situation) : std::vector<Choice>())
    if (!(situation.mapped && cheap.kernel_copies)) add(cheap);
  return made;
}

std::vector<Choice> rule_candidates(Selector& selector, const Situation& situation, const Forced& forced,
                                    bool uses_latency_path) {
  if (uses_latency_path) return {Choice()};
  const Selection selected = selector.select(situation, forced);
  std::vector<Choice> made{selected.choice};
  for (const Choice& alternative : selected.alternatives)
    if (keeps_bits(selected.choice, situation) && keeps_bits(alternative, situation)) made.push_back(alternative);
  return made;
}

std::vector<Choice> neighbours(const Choice& of, const Situation& situation) {
  std::vector<Choice> made;
  if (of.algorithm == nullptr) return made;
  const algo::Reads& reads = of.algorithm->reads;
  const algo::Parameters& from = of.parameters;
  const auto add = [&](size_t chunk, size_t depth) {
    Choice other = of;
    other.parameters.chunk_bytes = uint32_t(chunk);
    other.parameters.depth = uint16_t(depth);
    for (uint32_t& level : other.parameters.level_chunk_bytes) level = uint32_t(std::min<size_t>(level, chunk));
    complete(situation, other);
    if (!same(other, of)) made.push_back(std::move(other));
  };
  const size_t chunk = from.chunk_bytes, depth = from.depth;
  // At most one slot per chunk.
  const auto fitting = [&](size_t chunk, size_t depth) {
    return std::clamp<size_t>(std::bit_ceil((situation.vector_bytes() + chunk - 1) / chunk), 1, depth);
  };
  if (reads.chunk || reads.level_chunks) {
    if (chunk / 2 >= std::max<size_t>(least_chunk, std::bit_ceil(situation.element_bytes)))
      add(chunk / 2, fitting(chunk / 2, reads.depth ? 2 * depth : depth));
    if (2 * chunk <= most_chunk && chunk < situation.vector_bytes())
      add(2 * chunk, reads.depth ? std::max<size_t>(depth / 2, 1) : depth);
  }
  if (reads.depth && 2 * depth * chunk <= most_ring && fitting(chunk, 2 * depth) > depth) add(chunk, 2 * depth);
  if (reads.k && from.k > 0 && situation.ranks > 2 * from.k) {
    made.push_back(of);
    made.back().parameters.k = uint16_t(2 * from.k);
  }
  return made;
}

}  // namespace coll::tune
