// SPDX-License-Identifier: BSD-3-Clause
// Reductions to one rank.
#include "algo/families.h"

namespace coll::algo {
namespace {

using plan::Collective;

const Algorithm family[] = {
    {.collective = Collective::reduce,
     .name = "flat",
     .summary = "the root reduces everybody's data, in rank order",
     .source = "XHC IV-B with one group",
     .reads = {.chunk = true, .depth = true},
     .applies = always,
     .make = [](const Request& request) { return flat_tree(request, Collective::reduce); }},
    {.collective = Collective::reduce,
     .name = "hierarchical",
     .summary = "leaders reduce their groups, level by level",
     .source = "XHC IV-B, first half",
     .rank_order = false,
     .left_to_right = false,
     .reads = {.chunk = true, .depth = true, .hierarchy = true},
     .applies = has_levels,
     .make = [](const Request& request) { return hierarchical(request, Collective::reduce); }},
    {.collective = Collective::reduce,
     .name = "fused",
     .summary = "each rank reduces a slice from all ranks in one pass, straight into the root's buffer",
     .source = "this project; SAS for the mapped buffers",
     .reads = {.chunk = true, .depth = true},
     .applies = always,
     .make = [](const Request& request) { return fused(request, Collective::reduce); }},
};

}  // namespace

std::span<const Algorithm> reduce_family() { return family; }

}  // namespace coll::algo
