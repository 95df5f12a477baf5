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
     .name = "hierarchical_by_index",
     .summary = "hierarchical, every member of a group reducing a slice of each chunk",
     .source = "XHC IV-B, step 2a",
     .rank_order = false,
     .left_to_right = false,
     .reads = {.chunk = true, .depth = true, .hierarchy = true},
     .applies = has_levels,
     .make = [](const Request& request) { return hierarchical_by_index(request, Collective::reduce); }},
    {.collective = Collective::reduce,
     .name = "fused",
     .summary = "each rank reduces a slice from all ranks in one pass, straight into the root's buffer",
     .source = "this project; SAS for the mapped buffers",
     .reads = {.chunk = true, .depth = true},
     .applies = always,
     .make = [](const Request& request) { return fused(request, Collective::reduce); }},
    {.collective = Collective::reduce,
     .name = "movement_avoiding",
     .summary = "slices travel from rank to rank; one of p contributions is copied, the others are added in place",
     .source = "YHCCL 3.5, Alg. 2",
     .rank_order = false,
     .left_to_right = false,
     .reads = {.chunk = true, .depth = true},
     .applies = fits_one_group,
     .make = [](const Request& request) { return movement_avoiding(request, Collective::reduce); }},
    {.collective = Collective::reduce,
     .name = "movement_avoiding_socket",
     .summary = "the same inside every socket, then shares of each slice across them",
     .source = "YHCCL 3.3, 3.5",
     .rank_order = false,
     .left_to_right = false,
     .reads = {.chunk = true, .depth = true, .hierarchy = true},
     .applies = has_levels,
     .make = [](const Request& request) { return movement_avoiding_socket(request, Collective::reduce); }},
    {.collective = Collective::reduce,
     .name = "dpml_two_level",
     .summary = "everybody copies in, slices are reduced inside each socket, then across them",
     .source = "YHCCL 5.1, Fig. 4",
     .rank_order = false,
     .left_to_right = false,
     .reads = {.chunk = true, .depth = true, .hierarchy = true},
     .max_bytes = 262144,
     .applies = has_levels,
     .make = [](const Request& request) { return dpml_two_level(request, Collective::reduce); }},
};

}  // namespace

std::span<const Algorithm> reduce_family() { return family; }

}  // namespace coll::algo
