// SPDX-License-Identifier: BSD-3-Clause
// The audit of choices. For every cell it simulates the choice of the rules, the choice by price, and all registered
// algorithms that reduce in the balanced order with the chunks, depths and k below, of which it finds the best.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/bench/choice/machines.h"
#include "tools/bench/choice/virtual_time.h"

namespace coll::tools {

// All chunks that are not shorter than the vector count as one, the whole vector, which has one slot. Other depths than
// `audited_depth` are tried with the best chunk of an algorithm. Plans that a communicator refuses for lack of room for
// their staging are left out.
inline constexpr size_t audited_chunks[] = {4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20};
inline constexpr uint16_t audited_depth = 4, audited_other_depths[] = {2, 16};
inline constexpr uint16_t audited_k[] = {1, 2, 4, 8, 16, 32};

// A choice is near the best if it takes at most this many times as long.
inline constexpr double near_best = 1.1;

struct Cell {
  const AuditedMachine* machine = nullptr;
  plan::Collective collective = plan::Collective::barrier;
  size_t bytes = 0;
  model::Mechanism transport = model::Mechanism::shared_memory;
};

struct Timed {
  Method method;
  double us = 0;         // simulated
  double priced_us = 0;  // 0: no formula
  // The relative error of the price.
  double error() const { return priced_us / us - 1; }
};

struct Audited {
  Cell cell;
  Timed best, by_rules, by_price;
  std::vector<Timed> all;  // at most AuditOptions::of_interest times as long as the best, fastest first
  double rules_ratio() const { return by_rules.us / best.us; }
  double price_ratio() const { return by_price.us / best.us; }
};

struct AuditOptions {
  std::vector<plan::Collective> collectives;
  std::vector<model::Mechanism> transports;
  int threads = 0;                 // 0: one per processor
  bool calibrated = true;          // the library knows the machine's table; otherwise it takes the nearest built-in one
  double of_interest = near_best;  // runs that take more than this many times as long as the best are abandoned
};

// Returns the cells in the order of machines, collectives, sizes, transports. The calling thread calls `progress`
// regularly.
std::vector<Audited> audit(const std::vector<AuditedMachine>& machines, const AuditOptions& options,
                           const std::function<void(size_t done, size_t all, const std::string& what)>& progress);

}  // namespace coll::tools
