// SPDX-License-Identifier: BSD-3-Clause
// The algorithm of a call, from four books in this order: what the user forces, rows that were calibrated on this machine,
// the shipped rules, and prices (which a shipped rule asks). Every rank makes its selector from the same table and hierarchy,
// so all ranks choose alike.
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
  measured,  // a row of the table, of as many ranks
  nearby,    // a row of about as many ranks
  priced,    // the parameters of this machine's table, or of the nearest one, in the closed formulas
  shipped,   // a rule that the library brings
  forced,    // a variable
  tuned,     // an alternative that auto-tuning times
};

struct Selection {
  Choice choice;
  Source by = Source::shipped;
  const model::Chosen* row = nullptr;  // measured, nearby
  const Rule* rule = nullptr;          // shipped, priced
  std::string table;                   // priced: the name of the table
  double expected_us = 0;              // measured: of the situation's bytes, as calibration measured; 0: unknown
  std::vector<Choice> alternatives;    // candidates of the same rule that differ, for auto-tuning of such calls
};

// "table row allreduce up to 64 KiB of 2 ranks"; for logs and for people.
std::string source_text(const Selection& selection);

// "fused:chunk=65536,depth=2 with kernel-assisted copies (built-in rule zen5.rules:12: Zen 5, 2fb25ea)".
std::string text(const Selection& selection);

// What a user forces for one collective.
struct Forced {
  std::span<const Range> ranges;
  uint32_t chunk_bytes = 0;  // unless a range has a chunk; 0: as chosen
  uint16_t throttle = 0;     // k of throttled algorithms, unless a range has one; 0: as chosen
};

// Keeps what was priced, so it is used by one thread at a time.
class Selector {
 public:
  // The shipped rules alone.
  Selector() = default;
  // `hierarchy` must outlive it. A null table: prices are those of the table that is nearest to `hardware`.
  Selector(std::shared_ptr<const model::Table> table, const topo::Hierarchy& hierarchy,
           const model::Fingerprint& hardware);

  // Only algorithms that reduce in the balanced order are chosen unless forced, so results never depend on the choice.
  // REQUIRES: the situation has the hierarchy's ranks.
  Selection select(Situation situation, const Forced& forced = {});

  // By the shipped rules alone, without the table.
  Selection shipped(const Situation& situation) const;

  // Payloads up to this size, all that one rank shows to others, take the hand-written latency path. `situation.bytes` does
  // not count.
  size_t latency_path_bytes(Situation situation, const Forced& forced = {}) const;

  // Whether some selection for so many ranks has an expected time.
  bool knows_times(int ranks) const;

 private:
  Selection by_rules(const Situation& situation, Prices* prices) const;
  bool force(const Situation& situation, const Forced& forced, Selection& made);
  // False: there are no prices.
  bool price(const Situation& situation, Prices& prices, Selection& made) const;

  std::shared_ptr<const model::Table> table_;
  const topo::Hierarchy* hierarchy_ = nullptr;
  std::optional<Calibrated> calibrated_;
  std::optional<Prices> prices_;
};

}  // namespace coll::tune
