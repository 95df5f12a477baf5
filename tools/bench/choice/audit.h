// SPDX-License-Identifier: BSD-3-Clause
// The audit of choices: for every cell the simulated times of what the rules and the prices choose, and of the best of all
// registered algorithms that reduce in the balanced order, over the chunks, depths and k below.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/bench/choice/machines.h"
#include "tools/bench/choice/virtual_time.h"

namespace coll::tools {

// Chunks that are not shorter than the vector are one: all of it. Depths other than the usual one are tried with the best
// chunk of an algorithm. A chunk of the whole has one slot.
inline constexpr size_t audited_chunks[] = {4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20};
inline constexpr uint16_t audited_depth = 4, audited_other_depths[] = {2, 16};
inline constexpr uint16_t audited_k[] = {1, 2, 4, 8, 16, 32};

// A choice is near the best up to so many times its time.
inline constexpr double near_best = 1.1;

struct Cell {
  const AuditedMachine* machine = nullptr;
  plan::Collective collective = plan::Collective::barrier;
  size_t bytes = 0;
  model::Mechanism transport = model::Mechanism::shared_memory;
};

struct Timed {
  Way way;
  double us = 0;
  double priced_us = 0;  // 0: no formula
  // Relative to the simulated time.
  double error() const { return priced_us / us - 1; }
};

struct Audited {
  Cell cell;
  Timed best, by_rules, by_price;
  std::vector<Timed> all;  // those of interest
  double rules_ratio() const { return by_rules.us / best.us; }
  double price_ratio() const { return by_price.us / best.us; }
};

struct AuditOptions {
  std::vector<plan::Collective> collectives;
  std::vector<model::Mechanism> transports;
  int threads = 0;                 // 0: one per processor
  double of_interest = near_best;  // runs are abandoned when they take so many times as long as the best
};

// In the order of machines, collectives, sizes, transports. `progress` is called by the calling thread now and then.
std::vector<Audited> audit(const std::vector<AuditedMachine>& machines, const AuditOptions& options,
                           const std::function<void(size_t done, size_t all, const std::string& what)>& progress);

}  // namespace coll::tools
