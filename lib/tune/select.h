// SPDX-License-Identifier: BSD-3-Clause
// Selects the algorithm of a call from four books in this order: choices that the user forces, rows calibrated on this
// machine, the shipped rules, and prices (if a shipped rule has the candidate `priced`). All ranks make their selectors
// from the same table and hierarchy, so that they choose alike.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/table.h"
#include "topo/hierarchy.h"
#include "tune/choice.h"
#include "tune/rules.h"
#include "tune/tables.h"

namespace coll::tune {

// The book that decided.
enum class Source : uint8_t {
  measured,  // a row of the table with the same number of ranks
  nearby,    // a row of a similar number of ranks
  priced,    // prices with the parameters of this machine's table, or of the nearest built-in one
  shipped,   // a built-in rule
  forced,    // a variable that the user has set
  tuned,     // an alternative that auto-tuning times
};

struct Selection {
  Choice choice;
  Source by = Source::shipped;
  const model::Chosen* row = nullptr;  // measured, nearby
  const Rule* rule = nullptr;          // shipped, priced
  std::string table;                   // priced: the name of the table
  double expected_us = 0;              // measured: the time that calibration measured for this size; 0: unknown
  std::vector<Choice> alternatives;    // the other candidates of the same rule, for auto-tuning
};

// "table row allreduce up to 64 KiB of 2 ranks", for messages.
std::string source_text(const Selection& selection);

// "fused:chunk=65536,depth=2 with kernel-assisted copies (built-in rule zen5.rules:12: Zen 5, 2fb25ea)".
std::string text(const Selection& selection);

// The choices that a user forces for one collective.
struct Forced {
  std::span<const Range> ranges;
  uint32_t chunk_bytes = 0;  // for ranges without a chunk; 0: not forced
  uint16_t throttle = 0;     // k of throttled algorithms, for ranges without k; 0: not forced
};

// Caches prices, so it may be used by one thread at a time.
class Selector {
 public:
  // Uses the shipped rules only.
  Selector() = default;
  // `hierarchy` must outlive the object. Without a table (null), prices are those of the table nearest to `hardware`.
  Selector(std::shared_ptr<const model::Table> table, const topo::Hierarchy& hierarchy,
           const model::Fingerprint& hardware);

  // Unless the user forces another algorithm, only algorithms that reduce in the balanced order are chosen, so that
  // results do not depend on the choice.
  // REQUIRES: the situation has the hierarchy's ranks.
  Selection select(Situation situation, const Forced& forced = {});

  // The choice of the shipped rules, without the table and without prices.
  Selection shipped(const Situation& situation) const;

  // Returns the maximum payload of the hand-written latency path: all bytes that one rank shows to others. Ignores
  // `situation.bytes`.
  size_t latency_path_bytes(Situation situation, const Forced& forced = {}) const;

  // Whether any selection for `ranks` ranks has an expected time.
  bool knows_times(int ranks) const;

 private:
  Selection by_rules(const Situation& situation, Prices* prices) const;
  bool force(const Situation& situation, const Forced& forced, Selection& made);
  // Returns false if there are no prices.
  bool price(const Situation& situation, Prices& prices, Selection& made) const;

  std::shared_ptr<const model::Table> table_;
  const topo::Hierarchy* hierarchy_ = nullptr;
  std::optional<Calibrated> calibrated_;
  std::optional<Prices> prices_;
};

}  // namespace coll::tune
