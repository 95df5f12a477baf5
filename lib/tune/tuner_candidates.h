// SPDX-License-Identifier: BSD-3-Clause
// The candidates of auto-tuning: the choices of the books. All reduce in the balanced order, and none rounds a partial
// result that another one does not, so all candidates give the same bits.
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

// Blocking calls of this size or more are tuned by default, among the candidates of one rule.
inline constexpr size_t long_tuned_min_bytes = size_t(256) << 10;

// The candidates that are cheap by the prices of a machine. Prices are prepared by the first call of of(), which takes
// some milliseconds with many ranks.
class PricedCandidates {
 public:
  // A null table: the nearest built-in one is used. The hierarchy must outlive the object.
  PricedCandidates(std::shared_ptr<const model::Table> table, std::shared_ptr<const topo::Machine> machine,
                   const topo::Hierarchy& hierarchy)
      : table_(std::move(table)), machine_(std::move(machine)), hierarchy_(&hierarchy) {}
  // The cheapest candidates, cheapest first, not completed (see complete()).
  std::vector<Choice> of(const Situation& situation);

 private:
  std::shared_ptr<const model::Table> table_;
  std::shared_ptr<const topo::Machine> machine_;
  const topo::Hierarchy* hierarchy_;
  std::optional<model::Prices> prices_;
  bool has_kernel_ = false;  // whether prices_ includes kernel-assisted copies
};

// Returns the candidates for a situation. The first one is the choice of the books, or the latency path (null
// algorithm) if `uses_latency_path`. `latency_path_possible`: the latency path can serve such calls, too. If the user
// forces a choice, only the user's candidates follow. The first one alone means that no other is known or allowed.
// `priced` may be null.
std::vector<Choice> candidates(Selector& selector, const Situation& situation, const Forced& forced,
                               bool uses_latency_path, bool latency_path_possible, PricedCandidates* priced);

// Returns only the candidates of the rule that serves the situation.
std::vector<Choice> rule_candidates(Selector& selector, const Situation& situation, const Forced& forced,
                                    bool uses_latency_path);

// Whether the choice gives the same bits as all other choices for which this is true.
bool keeps_bits(const Choice& choice, const Situation& situation);

// Returns variants of a choice: the same algorithm with longer and shorter chunks, a longer ring, and twice the k.
std::vector<Choice> neighbours(const Choice& of, const Situation& situation);

}  // namespace coll::tune
