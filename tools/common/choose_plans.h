// SPDX-License-Identifier: BSD-3-Clause
// The arguments that several subcommands share: which collectives, which algorithms, which machine.
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

// "bcast" or "all"; throws Failure (usage) with the known names.
std::vector<plan::Collective> parse_collectives(const std::string& text);

// "name" or "name:chunk=32K,k=4,depth=2"; throws Failure (usage) with the names that the collective has.
tune::Choice parse_algorithm(plan::Collective collective, const std::string& text);

// Of a reduce-scatter of `count` elements that `ranks` do not divide: the elements of each rank's block. Throws usage() where
// the algorithm needs blocks of equal length; `option` and its `size` as the user wrote them.
std::vector<size_t> uneven_blocks(const algo::Algorithm& algorithm, size_t count, int ranks, size_t element_bytes,
                                  std::string_view option, std::string_view size);

// Which parameters an algorithm reads: "chunk", "depth", "k", "hierarchy".
std::vector<std::string> parameters_of(const algo::Algorithm& algorithm);

// How the operands of a reduction combine: in the balanced order (plan.h), or in any order, which is correct for
// commutative operations only.
inline constexpr const char* order_balanced = "balanced";
inline constexpr const char* order_any = "any order";
// The order that the algorithm promises; "" if it is no reduction.
std::string order_of(const algo::Algorithm& algorithm);

// Ranks on a machine, real or described.
struct Layout {
  topo::Machine machine;
  topo::Hierarchy hierarchy;
};

// Throws Failure for a description that cannot be read and usage for wrong words.
Layout lay_out(int ranks, const std::string& topology, const std::string& map_by, const std::string& sensitivity);

}  // namespace coll::tools
