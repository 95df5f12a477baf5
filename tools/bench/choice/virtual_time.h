// SPDX-License-Identifier: BSD-3-Clause
// The time of one call on an audited machine, by the simulator. Long runs are taken from their first passes.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "algo/registry.h"
#include "sim/simulate.h"
#include "tools/bench/choice/machines.h"

namespace coll::tools {

// One way to serve a call.
struct Way {
  const algo::Algorithm* algorithm = nullptr;
  algo::Parameters parameters;
  model::Mechanism mechanism = model::Mechanism::shared_memory;
  bool operator==(const Way&) const = default;
  std::string text() const;  // "knomial:chunk=65536,depth=4,k=2 by cma"
};

// Of one collective; keeps the plans and times that it has found.
class VirtualTimes {
 public:
  explicit VirtualTimes(const AuditedMachine& machine) : machine_(machine) {}
  // Infinity where it takes longer than `limit_us`.
  double us(const Way& way, size_t bytes, double limit_us);

 private:
  using Key = std::tuple<const algo::Algorithm*, uint32_t, uint16_t, uint16_t, uint16_t>;
  struct Known {
    double us = 0, limit_us = 0;  // infinity: more than the limit
  };
  static Key key_of(const Way& way);
  const plan::Plan& plan_of(const Way& way);
  double simulated_us(const Way& way, size_t bytes, double limit_us);

  const AuditedMachine& machine_;
  std::map<Key, plan::Plan> plans_;
  std::map<std::tuple<Key, model::Mechanism, size_t>, Known> times_;
};

}  // namespace coll::tools
