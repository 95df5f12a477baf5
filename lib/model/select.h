// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm a communicator takes: what calibration chose for its ranks, else what the table prices lowest, else the
// built-in defaults. Every rank makes its selector from the same table and the same hierarchy, and so decides the same.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "model/choose.h"
#include "model/families.h"
#include "model/table.h"
#include "topo/hierarchy.h"

namespace coll::model {

// What decided.
enum class Decider : uint8_t {
  measured,  // a row of the table, of as many ranks
  nearby,    // a row of about as many ranks
  priced,    // the table's parameters in the closed formulas
  builtin,   // choose()
  forced,    // a variable
  tried,     // the clock: the way that the built-in defaults do not take, other_way()
};

struct Selection {
  Choice choice;
  Decider by = Decider::builtin;
  const Chosen* row = nullptr;  // measured, nearby
  double expected_us = 0;       // measured: of the question's bytes, by the clock of calibration; 0: unknown
};

// "table row allreduce up to 64 KiB of 2 ranks"; for logs and for people.
std::string decider_text(const Selection& selection);

// Blocking calls of this size or more are auto-tuned: they try other_way(). Below it a trial costs more than it may gain.
inline constexpr size_t tuned_min_bytes = size_t(256) << 10;

// What besides the question decides whether an algorithm can be taken.
struct Circumstances {
  const Family* family = nullptr;     // of the processor, for the built-in defaults; null: unknown
  bool mapped = false;                // ranks see each other's ordinary memory
  bool kernel_works = false;          // kernel copies do; a table knows better than a short trial whether they pay
  Mechanism kernel = Mechanism::cma;  // the mechanism of kernel copies
};

// Keeps what was priced, so it is used by one thread at a time.
class Selector {
 public:
  // The built-in defaults alone, of no family.
  Selector() = default;
  // `hierarchy` must outlive it. A null table: the built-in defaults alone.
  Selector(std::shared_ptr<const Table> table, const topo::Hierarchy& hierarchy, Circumstances circumstances);

  // Only algorithms that reduce in the balanced order, so results never depend on the choice. REQUIRES: the question
  // has the hierarchy's ranks.
  Selection select(const Question& question);

  // Without the table.
  Choice builtin(const Question& question) const;

  // What builtin() would have chosen if things were as it cannot know that they are not: another way to the same result,
  // worth being timed beside it. Moves: by kernel copies instead of staging, or the other way round. Reductions: for
  // vectors in memory that all ranks map. What one of two ranks only fetches, bcast and exscan of less than some MiB: in
  // shorter pieces, where choose() knows such. Where most vectors are mapped, everything: as if they were not. None where that
  // is no other way.
  std::optional<Choice> other_way(const Question& question) const;

  // Payloads up to this size, all that one rank shows to others, take the hand-written latency path: as far as the
  // table's "latency" rows go where it has some for as many ranks. `question.bytes` does not count.
  size_t latency_path_bytes(Question question) const;

  // Whether some selection for so many ranks has an expected time.
  bool knows_times(int ranks) const;

 private:
  const Chosen* row_for(const Question& question, int ranks) const;
  std::span<const Chosen> rows(plan::Collective collective, int ranks) const;
  bool usable(const Chosen& row, const Question& question) const;
  bool has_kernel_copies(const Question& question) const {
    return circumstances_.kernel_works || question.kernel_copies || question.kernel_times < no_copy;
  }
  int nearest_ranks(plan::Collective collective, int ranks) const;
  const std::optional<Choice>& priced(const Question& question);

  std::shared_ptr<const Table> table_;
  const topo::Hierarchy* hierarchy_ = nullptr;
  Circumstances circumstances_;
  // By collective, size class, whether elements have 16 bits, and the ways of the kernel.
  std::map<std::tuple<plan::Collective, int, bool, bool>, std::optional<Choice>> priced_;
};

}  // namespace coll::model
