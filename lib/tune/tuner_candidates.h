// SPDX-License-Identifier: BSD-3-Clause
// The candidates of online tuning: what the books say. All reduce in the balanced order, and none rounds a partial result
// that another one does not, so every candidate gives the same bits.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "model/candidates.h"
#include "model/table.h"
#include "topo/hierarchy.h"
#include "topo/machine.h"
#include "tune/select.h"

namespace coll::tune {

// Blocking calls from here on are tuned by default, between the candidates of one rule.
inline constexpr size_t long_tuned_min_bytes = size_t(256) << 10;

// What the prices of a machine say is worth trying. Made when first asked: it costs some milliseconds where there are many
// ranks.
class PricedCandidates {
 public:
  // A null table: the built-in one that comes closest to the machine. The hierarchy must outlive it.
  PricedCandidates(std::shared_ptr<const model::Table> table, std::shared_ptr<const topo::Machine> machine,
                   const topo::Hierarchy& hierarchy)
      : table_(std::move(table)), machine_(std::move(machine)), hierarchy_(&hierarchy) {}
  // The cheapest ones, best first, not completed.
  std::vector<Choice> of(const Situation& situation);

 private:
  std::shared_ptr<const model::Table> table_;
  std::shared_ptr<const topo::Machine> machine_;
  const topo::Hierarchy* hierarchy_;
  std::optional<model::Prices> prices_;
  bool has_kernel_ = false;  // in prices_
};

// Best first; the first is what the books say for the situation, the latency path (without an algorithm) if
// `takes_latency_path`. `may_take`: it serves such calls, too. Only the first: no other candidate is known, or allowed.
// Of what a user forces only the candidates that the user names. `priced` may be null.
std::vector<Choice> candidates(Selector& selector, const Situation& situation, const Forced& forced,
                               bool takes_latency_path, bool may_take, PricedCandidates* priced);

// Those of the rule that serves the situation alone.
std::vector<Choice> rule_candidates(Selector& selector, const Situation& situation, const Forced& forced,
                                    bool takes_latency_path);

// Whether it gives the same bits as every other such choice.
bool keeps_bits(const Choice& choice, const Situation& situation);

// The same algorithm with longer and shorter chunks, and a longer ring.
std::vector<Choice> neighbours(const Choice& of, const Situation& situation);

}  // namespace coll::tune
