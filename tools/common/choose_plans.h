// SPDX-License-Identifier: BSD-3-Clause
// The arguments that several subcommands share: which collectives, which algorithms, which machine.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algo/registry.h"
#include "model/choose.h"
#include "topo/hierarchy.h"
#include "topo/machine.h"

namespace coll::tools {

using plan::is_reduction;
using plan::is_rooted;

// "bcast" or "all"; throws Failure (usage) with the known names.
std::vector<plan::Collective> parse_collectives(const std::string& text);

// "name" or "name:chunk=32K,k=4,depth=2"; throws Failure (usage) with the names that the collective has.
model::Choice parse_algorithm(plan::Collective collective, const std::string& text);

// Which parameters an algorithm reads: "chunk", "depth", "k", "hierarchy".
std::vector<std::string> parameters_of(const algo::Algorithm& algorithm);

// How the operands of a reduction combine: ((x0 op x1) op x2) ...; in rank order with other brackets; in any order, which
// is correct for commutative operations only.
inline constexpr const char* order_left = "left to right";
inline constexpr const char* order_rank = "rank order, regrouped";
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
