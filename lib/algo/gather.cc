// SPDX-License-Identifier: BSD-3-Clause
// Gather, including its v-form: the registry entries of the generators in rooted.h.
#include "algo/families.h"
#include "algo/rooted.h"

namespace coll::algo {
namespace {

constexpr auto what = plan::Collective::gather;

plan::Plan parallel(const Request& request) { return peers_move(request, what, "parallel_write", 0); }
plan::Plan sequential(const Request& request) { return root_moves(request, what, "sequential_read"); }
plan::Plan throttled(const Request& request) { return throttled_peers_move(request, what, "throttled_write"); }
plan::Plan hierarchical(const Request& request) { return leaders_move(request, what, "hierarchical"); }

const Algorithm family[] = {
    {.collective = what,
     .name = "parallel_write",
     .summary = "all ranks write their blocks to the root at once",
     .source = "CMA IV-B.1, KNEM V-B",
     .reads = {.chunk = true, .depth = true},
     .irregular = true,
     .described = plan::AccessMode::remote,
     .applies = always,
     .make = parallel},
    {.collective = what,
     .name = "sequential_read",
     .summary = "the root reads from one rank after the other",
     .source = "CMA IV-B.2",
     .reads = {.chunk = true, .depth = true},
     .irregular = true,
     .described = plan::AccessMode::remote,
     .applies = always,
     .make = sequential},
    {.collective = what,
     .name = "throttled_write",
     .summary = "ranks write their blocks to the root, k at a time",
     .source = "CMA IV-B.3",
     .reads = {.chunk = true, .depth = true, .k = true},
     .irregular = true,
     .described = plan::AccessMode::remote,
     .applies = always,
     .make = throttled},
    {.collective = what,
     .name = "hierarchical",
     .summary = "members write to their leaders, leaders write the blocks of their groups to the root",
     .source = "CMA VII-G",
     .reads = {.chunk = true, .depth = true, .hierarchy = true},
     .described = plan::AccessMode::remote,
     .applies = has_levels,
     .make = hierarchical},
    {.collective = what,
     .name = "grouped",
     .summary = "groups of at most 16 ranks write to their leaders, leaders write to the root",
     .source = "this project, CMA VII-G",
     .reads = {.chunk = true, .depth = true, .hierarchy = true},
     .described = plan::AccessMode::staged,
     .max_bytes = 16384,
     .applies = has_small_groups,
     .make = grouped_gather},
};

}  // namespace

std::span<const Algorithm> gather_family() { return family; }

}  // namespace coll::algo
