// SPDX-License-Identifier: BSD-3-Clause
// The ways to serve a call, by price: which algorithm, with which chunk and k, by which mechanism. Where no measurement
// says more, the first one is the choice, and an online tuner compares the first few.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "algo/registry.h"
#include "model/cost.h"
#include "model/prices.h"
#include "model/table.h"

namespace coll::model {

struct Candidate {
  const algo::Algorithm* algorithm = nullptr;
  algo::Parameters parameters;
  Mechanism mechanism = Mechanism::shared_memory;
  double us = 0;  // by the formula
};

// What a price depends on. `bytes` is of the vector, or of a block that one rank has for one other, also of a
// reduce-scatter (whose formulas count the vector).
struct Call {
  plan::Collective collective = plan::Collective::barrier;
  double bytes = 0;
  size_t element_bytes = 1;
};

// Prices for one hierarchy. The table and the hierarchy must outlive it. Immutable, thread-safe.
class Prices {
 public:
  // `mechanisms`: those that the ranks have for their buffers, the last of them shared memory, for staging, or mapped where
  // ranks see all buffers in place. REQUIRES: at least one.
  Prices(const Table& table, const topo::Hierarchy& hierarchy, std::span<const Mechanism> mechanisms);

  // Best first, each algorithm once with each mechanism: those that reduce in the balanced order and apply to the hierarchy.
  std::vector<Candidate> candidates(const Call& call) const;
  // Of this way, whatever its parameters are; 0 where the algorithm has no formula.
  double us(const Candidate& way, const Call& call) const;

 private:
  const Setting& setting(Mechanism mechanism) const { return *settings_[size_t(mechanism)]; }
  Mechanism seen_by(const Row& row, const Call& call, Mechanism mechanism) const;

  const topo::Hierarchy* hierarchy_;
  std::vector<Mechanism> mechanisms_;
  std::array<std::optional<Setting>, all_mechanisms.size()> settings_;  // of those mechanisms
};

}  // namespace coll::model
