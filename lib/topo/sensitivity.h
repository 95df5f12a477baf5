// SPDX-License-Identifier: BSD-3-Clause
// Which boundaries of the machine a hierarchy respects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topo/status.h"

namespace coll::topo {

enum class Domain : std::uint8_t { core, l2, l3, numa, socket };  // innermost first
const char *domain_name(Domain domain);

// Either domains of the machine, or explicit groups of ranks, or nothing (flat). Plain data; parse() checks.
struct Sensitivity {
  std::vector<Domain> domains;                        // innermost first, each once
  std::vector<std::vector<std::vector<int>>> groups;  // [level][group] -> ranks; empty unless explicit

  // "numa,socket" in any order (words: core, l2, l3, numa, socket or package), "flat" or "", or explicit
  // groups, innermost level first: levels are separated by '/', groups by ',', parts of a group by '+', as in
  // "0-3,4-7/0-7" or "0+2+4,1+3+5". On error `out` is untouched.
  static Status parse(std::string_view text, Sensitivity &out);
  // What XHC uses: "numa,socket".
  static Sensitivity standard() { return {{Domain::numa, Domain::socket}, {}}; }

  bool flat() const { return domains.empty() && groups.empty(); }
  bool is_explicit() const { return !groups.empty(); }
  // Explicit groups must hold every rank of 0..ranks-1 exactly once per level and nest; else always fine.
  Status check(int ranks) const;
  // What parse() reads back.
  std::string text() const;
  bool operator==(const Sensitivity &) const = default;
};

}  // namespace coll::topo
