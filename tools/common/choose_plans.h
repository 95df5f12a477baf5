// SPDX-License-Identifier: BSD-3-Clause
// Arguments that several subcommands share: collectives, algorithms, machines.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algo/registry.h"
#include "topo/hierarchy.h"
#include "topo/machine.h"
#include "tune/choice.h"

namespace coll::tools {

using plan::is_reduction;
using plan::is_rooted;

// Parses "bcast" or "all". Throws usage() with the known names.
std::vector<plan::Collective> parse_collectives(const std::string& text);

// Parses "name" or "name:chunk=32K,k=4,depth=2". Throws usage() with the names of the collective.
tune::Choice parse_algorithm(plan::Collective collective, const std::string& text);

// Returns the elements of each rank's block for a reduce-scatter of `count` elements that `ranks` do not divide. Throws
// usage(), naming `option` and `size` as the user wrote them, if the algorithm needs blocks of equal length.
std::vector<size_t> uneven_blocks(const algo::Algorithm& algorithm, size_t count, int ranks, size_t element_bytes,
                                  std::string_view option, std::string_view size);

// Returns the names of the parameters that an algorithm reads: "chunk", "depth", "k", "hierarchy".
std::vector<std::string> parameters_of(const algo::Algorithm& algorithm);

// How the operands of a reduction combine: in the balanced order (plan.h), or in any order, which is correct for
// commutative operations only.
inline constexpr const char* order_balanced = "balanced";
inline constexpr const char* order_any = "any order";
// Returns the order that the algorithm guarantees; "" if it is no reduction.
std::string order_of(const algo::Algorithm& algorithm);

// Ranks on a machine, real or described.
struct Layout {
  topo::Machine machine;
  topo::Hierarchy hierarchy;
};

// Throws Failure if the topology cannot be read, usage() if an argument is wrong. `named`: where the user gave the
// topology, for the message.
Layout lay_out(int ranks, const std::string& topology, const std::string& map_by, const std::string& sensitivity,
               const std::string& named = "--topology");

}  // namespace coll::tools
