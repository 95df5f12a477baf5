// SPDX-License-Identifier: BSD-3-Clause
// The simulated time of one call on an audited machine. Long runs are extrapolated from their first iterations.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "algo/registry.h"
#include "sim/simulate.h"
#include "tools/bench/choice/machines.h"

namespace coll::tools {

inline constexpr size_t refined_iterations = 64;

// An algorithm with its parameters and the mechanism that it uses.
struct Method {
  const algo::Algorithm* algorithm = nullptr;
  algo::Parameters parameters;
  model::Mechanism mechanism = model::Mechanism::shared_memory;
  bool operator==(const Method&) const = default;
  std::string text() const;  // "knomial:chunk=65536,depth=4,k=2 by cma"
};

// Simulates calls of one collective. Caches plans and times.
class VirtualTimes {
 public:
  explicit VirtualTimes(const AuditedMachine& machine) : machine_(machine) {}
  // Whether a communicator has room for the plan's staging; it refuses other plans (exec::fits).
  bool fits(const Method& method) { return plan_of(method).staging_bytes <= algo::usual_room_bytes; }
  // Returns infinity if the call takes longer than `limit_us`.
  double us(const Method& method, size_t bytes, double limit_us);
  // As us() without a limit, but extrapolated from `refined_iterations` and twice as many, because some runs become
  // steady only after dozens of iterations.
  double refined_us(const Method& method, size_t bytes);

 private:
  using Key = std::tuple<const algo::Algorithm*, uint32_t, uint16_t, uint16_t, uint16_t>;
  struct Known {
    double us = 0, limit_us = 0;  // us is infinite if it exceeds the limit
  };
  static Key key_of(const Method& method);
  const plan::Plan& plan_of(const Method& method);
  // Extrapolates from the first `first` iterations and from twice as many.
  double simulated_us(const Method& method, size_t bytes, size_t first, double limit_us);

  const AuditedMachine& machine_;
  std::map<Key, plan::Plan> plans_;
  std::map<std::tuple<Key, model::Mechanism, size_t>, Known> times_;
};

}  // namespace coll::tools
