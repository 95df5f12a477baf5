// SPDX-License-Identifier: BSD-3-Clause
#include "model/candidates.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>

namespace coll::model {

namespace {

// The parameters that are priced: chunks in order of preference, and k, the number of ranks that access one rank at
// once. The whole vector comes first, except if a root stages a long vector while others read. The formulas omit small
// costs of each step, which add up with short chunks. They also omit that over several iterations ranks drift apart and
// then use the links at different times. In an allgather all ranks wait for each other in each iteration, so that they
// hardly drift.
constexpr double longest = 1 << 20, long_of_root = 64 << 10;
constexpr std::array<double, 9> medium_first = {256 << 10, 512 << 10, 128 << 10, longest, 64 << 10,
                                                32 << 10,  16 << 10,  8 << 10,   4 << 10};
constexpr std::array<double, 9> long_first = {longest,  512 << 10, 256 << 10, 128 << 10, 64 << 10,
                                              32 << 10, 16 << 10,  8 << 10,   4 << 10};
constexpr int ks[] = {1, 2, 4, 8, 16, 32, 64};
// A candidate replaces one that is preferred to it if it takes at most this share of its time.
constexpr double worth = 0.985;

// Elements of 2 bytes count as 16-bit floats, which are rounded wherever a partial result is stored.
bool keeps_bits(const algo::Algorithm& algorithm, size_t element_bytes) {
  if (!plan::is_reduction(algorithm.collective)) return true;
  return algorithm.balanced && !(element_bytes == 2 && algorithm.stores_partials);
}

// Throttled copies: for 1, 2, 4, ... rounds the smallest k that needs no more rounds. A larger k with as many rounds
// would add contention only. Ascending.
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

// Short vectors, and algorithms that always stage, use shared memory.
Mechanism Prices::mechanism_used(const Row& row, const Call& call, Mechanism mechanism) const {
  const bool direct = row.means != Means::staged && call.bytes >= setting(mechanism).table().thresholds.direct_bytes;
  return direct ? mechanism : Mechanism::shared_memory;
}

double Prices::us(const Candidate& candidate, const Call& call) const {
  const Row* row = find_row(plan::name(call.collective), candidate.algorithm->name);
  if (row == nullptr) return 0;
  Knobs knobs{.k = row->reads.j ? candidate.parameters.j : candidate.parameters.k,
              .depth = candidate.parameters.depth,
              .in_place = false,
              .huge_pages = call.huge_pages};
  if (candidate.algorithm->reads.chunk && candidate.parameters.chunk_bytes < call.bytes)
    knobs.chunk_bytes = candidate.parameters.chunk_bytes;
  return cost(*row, setting(mechanism_used(*row, call, candidate.mechanism)), formula_bytes(call, hierarchy_->ranks()),
              knobs)
      .total_us();
}

std::vector<Candidate> Prices::candidates(const Call& call, std::span<const Mechanism> mechanisms) const {
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
    for (Mechanism mechanism : mechanisms) {
      const Mechanism used = mechanism_used(*row, call, mechanism);
      // If all mechanisms stage, only the last one is priced.
      if (used == Mechanism::shared_memory && mechanism != mechanisms_.back()) continue;
      Candidate best;
      const auto consider = [&](double chunk, int k) {
        Candidate candidate{&algorithm, {}, mechanism};
        if (algorithm.reads.k) candidate.parameters.k = uint16_t(k);
        candidate.parameters.chunk_bytes = uint32_t(chunk);
        if (chunk >= call.bytes) candidate.parameters.depth = 1;
        candidate.us = us(candidate, call);
        if (best.algorithm == nullptr || candidate.us < worth * best.us) best = candidate;
      };
      const double whole = double(std::bit_ceil(size_t(std::max(call.bytes, 64.0))));
      const bool overlaps = used == Mechanism::shared_memory && (call.collective == plan::Collective::bcast ||
                                                                 call.collective == plan::Collective::scatter);
      const bool whole_first = whole <= (overlaps ? long_of_root : longest);
      const auto consider_chunks = [&](int k) {
        if (whole_first) consider(whole, k);
        for (double chunk : call.collective == plan::Collective::allgather ? long_first : medium_first)
          if (chunk < call.bytes && (algorithm.reads.chunk || whole > longest)) consider(chunk, k);
        if (!whole_first && whole <= longest) consider(whole, k);
      };
      // Evaluating a broadcast's formula takes long: the chunk is chosen for one k, then k for that chunk.
      const bool separately = algorithm.reads.k && call.collective == plan::Collective::bcast;
      if (separately) {
        consider_chunks(std::clamp(8, 1, std::max(ranks - 1, 1)));
        const double chunk = best.parameters.chunk_bytes;
        for (int k : ks_of_ranks) consider(chunk, k);
      } else {
        std::for_each(ks_of_ranks.rbegin(), ks_of_ranks.rend(), [&](int k) {
          if (k == 1 || algorithm.reads.k) consider_chunks(k);
        });
      }
      const algo::PlanRequest request{.hierarchy = hierarchy_, .parameters = best.parameters};
      if (algorithm.refuses != nullptr && !algorithm.refuses(request).empty()) continue;
      made.push_back(best);
    }
  }
  // As float, so that the last bits hardly ever decide: of equal prices the algorithm that is registered first is preferred.
  std::ranges::stable_sort(made, {}, [](const Candidate& candidate) { return float(candidate.us); });
  return made;
}

}  // namespace coll::model
