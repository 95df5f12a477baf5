// SPDX-License-Identifier: BSD-3-Clause
// The domains of the machine that a hierarchy follows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topo/status.h"

namespace coll::topo {

enum class Domain : std::uint8_t { core, l2, l3, numa, socket };  // innermost first
const char *domain_name(Domain domain);

// Domains of the machine, or explicit groups of ranks, or neither (flat). Plain data, which parse() validates.
struct Sensitivity {
  std::vector<Domain> domains;                        // innermost first, each once
  std::vector<std::vector<std::vector<int>>> groups;  // [level][group] -> ranks; empty unless explicit

  // Parses "numa,socket" in any order (words: core, l2, l3, numa, socket or package), "flat" or "", or explicit groups,
  // innermost level first: '/' separates levels, ',' groups, and '+' parts of a group, as in "0-3,4-7/0-7" or
  // "0+2+4,1+3+5". On error `out` is unchanged.
  static Status parse(std::string_view text, Sensitivity &out);
  // The sensitivity of XHC: "numa,socket".
  static Sensitivity standard() { return {{Domain::numa, Domain::socket}, {}}; }

  bool flat() const { return domains.empty() && groups.empty(); }
  bool is_explicit() const { return !groups.empty(); }
  // Explicit groups must contain every rank of 0..ranks-1 exactly once per level, and must nest. Without them check()
  // always succeeds.
  Status check(int ranks) const;
  // Returns a text that parse() accepts, with the same meaning.
  std::string text() const;
  bool operator==(const Sensitivity &) const = default;
};

}  // namespace coll::topo
