// SPDX-License-Identifier: BSD-3-Clause
// The candidates for a call, ranked by price: algorithm, chunk, k and mechanism. Without measurements the cheapest one
// is the choice, and auto-tuning compares the first few.
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
  double us = 0;  // the formula's price
};

// What a price depends on. `bytes` is the size of the vector, or of the block that one rank has for one other rank; for
// a reduce-scatter it is the block, although the formulas count the vector.
struct Call {
  plan::Collective collective = plan::Collective::barrier;
  double bytes = 0;
  size_t element_bytes = 1;
  bool huge_pages = false;  // long buffers lie on huge pages which the kernel locks at once, even if the table's do not
};

// Prices for one hierarchy. The table and the hierarchy must outlive the object. Immutable, thread-safe.
class Prices {
 public:
  // `mechanisms`: those by which ranks access each other's buffers. The last one is shared memory (staging), or mapped
  // if all buffers are mapped. REQUIRES: at least one.
  Prices(const Table& table, const topo::Hierarchy& hierarchy, std::span<const Mechanism> mechanisms);

  // The algorithms that apply to the hierarchy and reduce in the balanced order, each once with each mechanism, with
  // its cheapest parameters; cheapest first.
  std::vector<Candidate> candidates(const Call& call) const { return candidates(call, mechanisms_); }
  // Only those with some of the mechanisms.
  std::vector<Candidate> candidates(const Call& call, std::span<const Mechanism> mechanisms) const;
  // The price of a candidate with any parameters; 0 if its algorithm has no formula.
  double us(const Candidate& candidate, const Call& call) const;

 private:
  const Setting& setting(Mechanism mechanism) const { return *settings_[size_t(mechanism)]; }
  Mechanism mechanism_used(const Row& row, const Call& call, Mechanism mechanism) const;

  const topo::Hierarchy* hierarchy_;
  std::vector<Mechanism> mechanisms_;
  std::array<std::optional<Setting>, all_mechanisms.size()> settings_;  // for those mechanisms
};

}  // namespace coll::model
