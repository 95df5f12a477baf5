// SPDX-License-Identifier: BSD-3-Clause
#include "model/candidates.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>

namespace coll::model {

namespace {

// The parameters that are priced: chunks in order of preference, and how many ranks access one rank at once. The whole
// vector comes first, except where a root stages a long one while others read. The formulas leave out small costs of each
// step, of which short chunks have most. They also leave out that ranks which drift apart leave the links to each other,
// which takes several iterations. In each iteration of an allgather all ranks wait for all others, so that none drifts far.
constexpr double longest = 1 << 20, long_of_root = 64 << 10;
constexpr std::array<double, 9> medium_first = {256 << 10, 512 << 10, 128 << 10, longest, 64 << 10,
                                                32 << 10,  16 << 10,  8 << 10,   4 << 10};
constexpr std::array<double, 9> long_first = {longest,  512 << 10, 256 << 10, 128 << 10, 64 << 10,
                                              32 << 10, 16 << 10,  8 << 10,   4 << 10};
constexpr int ks[] = {1, 2, 4, 8, 16, 32, 64};
// What comes later, and fewer accesses at once, have to be so much cheaper.
constexpr double worth = 0.985;

// 16-bit floats, told by their size, are rounded wherever a partial result is stored.
bool keeps_bits(const algo::Algorithm& algorithm, size_t element_bytes) {
  if (!plan::is_reduction(algorithm.collective)) return true;
  return algorithm.balanced && !(element_bytes == 2 && algorithm.stores_partials);
}

// The k of throttled copies count by the rounds that they take: the smallest k of 1, 2, 4, ... rounds. Whole rounds of all
// ranks waste nothing. The smallest k come first.
std::vector<int> ks_of(plan::Collective collective, int ranks) {
  std::vector<int> made;
  if (collective == plan::Collective::scatter || collective == plan::Collective::gather) {
    for (int rounds = std::bit_floor(unsigned(ranks)); rounds >= 1; rounds /= 2) {
      const int k = (ranks + rounds - 1) / rounds;
      if (made.empty() && k > 1) made.push_back(1);
      if (k < ranks && (made.empty() || k > made.back())) made.push_back(k);
    }
  } else {
    std::ranges::copy_if(ks, std::back_inserter(made), [&](int k) { return k < ranks; });
  }
  if (made.empty()) made.push_back(1);
  return made;
}

double formula_bytes(const Call& call, int ranks) {
  return call.collective == plan::Collective::reduce_scatter ? call.bytes * ranks : call.bytes;
}

}  // namespace

Prices::Prices(const Table& table, const topo::Hierarchy& hierarchy, std::span<const Mechanism> mechanisms)
    : hierarchy_(&hierarchy), mechanisms_(mechanisms.begin(), mechanisms.end()) {
  settings_[size_t(Mechanism::shared_memory)].emplace(table, hierarchy, Mechanism::shared_memory);
  for (Mechanism mechanism : mechanisms_) settings_[size_t(mechanism)].emplace(table, hierarchy, mechanism);
}

// Short vectors, and what an algorithm stages in any case, go through shared memory.
Mechanism Prices::seen_by(const Row& row, const Call& call, Mechanism mechanism) const {
  const bool direct = row.means != Means::staged && call.bytes >= setting(mechanism).table().thresholds.direct_bytes;
  return direct ? mechanism : Mechanism::shared_memory;
}

double Prices::us(const Candidate& way, const Call& call) const {
  const Row* row = find_row(plan::name(call.collective), way.algorithm->name);
  if (row == nullptr) return 0;
  Knobs knobs{
      .k = row->reads.j ? way.parameters.j : way.parameters.k, .depth = way.parameters.depth, .in_place = false};
  if (way.algorithm->reads.chunk && way.parameters.chunk_bytes < call.bytes)
    knobs.chunk_bytes = way.parameters.chunk_bytes;
  return cost(*row, setting(seen_by(*row, call, way.mechanism)), formula_bytes(call, hierarchy_->ranks()), knobs)
      .total_us();
}

std::vector<Candidate> Prices::candidates(const Call& call) const {
  std::vector<Candidate> made;
  const int ranks = hierarchy_->ranks();
  const std::vector<int> ks_of_ranks = ks_of(call.collective, ranks);
  for (const algo::Algorithm& algorithm : algo::algorithms()) {
    if (algorithm.collective != call.collective || !algorithm.balanced || !keeps_bits(algorithm, call.element_bytes))
      continue;
    if (algorithm.max_bytes != 0 && call.bytes > double(algorithm.max_bytes)) continue;
    if (!algorithm.applies({.hierarchy = hierarchy_})) continue;
    const Row* row = find_row(plan::name(call.collective), algorithm.name);
    if (row == nullptr) continue;
    for (Mechanism mechanism : mechanisms_) {
      const Mechanism seen = seen_by(*row, call, mechanism);
      // Without direct buffers all mechanisms are the same: the last one is shared memory, unless all buffers are mapped.
      if (seen == Mechanism::shared_memory && mechanism != mechanisms_.back()) continue;
      Candidate best;
      const auto consider = [&](double chunk, int k) {
        Candidate way{&algorithm, {}, mechanism};
        if (algorithm.reads.k) way.parameters.k = uint16_t(k);
        way.parameters.chunk_bytes = uint32_t(chunk);
        if (chunk >= call.bytes) way.parameters.depth = 1;
        way.us = us(way, call);
        if (best.algorithm == nullptr || way.us < worth * best.us) best = way;
      };
      const double whole = double(std::bit_ceil(size_t(std::max(call.bytes, 64.0))));
      const bool overlaps = seen == Mechanism::shared_memory && (call.collective == plan::Collective::bcast ||
                                                                 call.collective == plan::Collective::scatter);
      const bool whole_first = whole <= (overlaps ? long_of_root : longest);
      const auto consider_chunks = [&](int k) {
        if (whole_first) consider(whole, k);
        for (double chunk : call.collective == plan::Collective::allgather ? long_first : medium_first)
          if (chunk < call.bytes && (algorithm.reads.chunk || whole > longest)) consider(chunk, k);
        if (!whole_first && whole <= longest) consider(whole, k);
      };
      // Formulas of broadcasts take long: they get the chunk of one k, then the k for that chunk.
      const bool apart = algorithm.reads.k && call.collective == plan::Collective::bcast;
      if (apart) {
        consider_chunks(std::clamp(8, 1, std::max(ranks - 1, 1)));
        const double chunk = best.parameters.chunk_bytes;
        for (int k : ks_of_ranks) consider(chunk, k);
      } else {
        std::for_each(ks_of_ranks.rbegin(), ks_of_ranks.rend(), [&](int k) {
          if (k == 1 || algorithm.reads.k) consider_chunks(k);
        });
      }
      const algo::Request request{.hierarchy = hierarchy_, .parameters = best.parameters};
      if (algorithm.refuses != nullptr && !algorithm.refuses(request).empty()) continue;
      made.push_back(best);
    }
  }
  std::ranges::stable_sort(made, {}, &Candidate::us);
  return made;
}

}  // namespace coll::model
