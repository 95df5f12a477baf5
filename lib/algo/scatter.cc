// SPDX-License-Identifier: BSD-3-Clause
// Scatter, including its v-form: the registry entries of the generators in rooted.h.
#include "algo/families.h"
#include "algo/rooted.h"

namespace coll::algo {
namespace {

constexpr auto what = plan::Collective::scatter;

plan::Plan parallel(const Request& request) { return peers_move(request, what, "parallel_read", 0); }
plan::Plan sequential(const Request& request) { return root_moves(request, what, "sequential_write"); }
plan::Plan throttled(const Request& request) { return throttled_peers_move(request, what, "throttled_read"); }
plan::Plan hierarchical(const Request& request) { return leaders_move(request, what, "hierarchical"); }

const Algorithm family[] = {
    {.collective = what,
     .name = "parallel_read",
     .summary = "all ranks read their blocks from the root at once",
     .source = "CMA IV-A.1, KNEM V-B",
     .reads = {.chunk = true, .depth = true},
     .irregular = true,
     .described = plan::AccessMode::remote,
     .applies = always,
     .make = parallel},
    {.collective = what,
     .name = "sequential_write",
     .summary = "the root writes to one rank after the other",
     .source = "CMA IV-A.2",
     .reads = {.chunk = true, .depth = true},
     .irregular = true,
     .described = plan::AccessMode::remote,
     .applies = always,
     .make = sequential},
    {.collective = what,
     .name = "throttled_read",
     .summary = "ranks read their blocks from the root, k at a time",
     .source = "CMA IV-A.3",
     .reads = {.chunk = true, .depth = true, .k = true},
     .irregular = true,
     .described = plan::AccessMode::remote,
     .applies = always,
     .make = throttled},
    {.collective = what,
     .name = "hierarchical",
     .summary = "leaders read the blocks of their groups, members read from their leaders",
     .source = "CMA VII-G",
     .reads = {.chunk = true, .depth = true, .hierarchy = true},
     .described = plan::AccessMode::remote,
     .applies = has_levels,
     .make = hierarchical},
    {.collective = what,
     .name = "grouped",
     .summary = "all ranks read from the root; leaders of at most 16 L3 caches pass its flag on",
     .source = "this project, XHC IV-A",
     .reads = {.chunk = true, .depth = true, .hierarchy = true},
     .described = plan::AccessMode::staged,
     .max_bytes = 16384,
     .applies = has_small_groups,
     .make = grouped_scatter},
};

}  // namespace

std::span<const Algorithm> scatter_family() { return family; }

}  // namespace coll::algo
