// SPDX-License-Identifier: BSD-3-Clause
// The entries of each family, and the generators that several families share; one function makes all variants of an
// algorithm.
#pragma once

#include <span>

#include "algo/registry.h"

namespace coll::algo {

std::span<const Algorithm> barrier_family();
std::span<const Algorithm> bcast_family();
std::span<const Algorithm> reductions_family();
std::span<const Algorithm> allreduce_family();
std::span<const Algorithm> scan_family();
std::span<const Algorithm> scatter_family();
std::span<const Algorithm> gather_family();
std::span<const Algorithm> allgather_family();
std::span<const Algorithm> alltoall_family();

// `what` is allreduce, reduce or reduce_scatter, if reductions.cc has an entry for it.
plan::Plan fused(const PlanRequest& request, plan::Collective what);                     // fused.cc
plan::Plan shared_address_space(const PlanRequest& request, plan::Collective what);      // fused.cc
plan::Plan flat_tree(const PlanRequest& request, plan::Collective what);                 // tree_reduce.cc
plan::Plan hierarchical(const PlanRequest& request, plan::Collective what);              // tree_reduce.cc
plan::Plan hierarchical_by_index(const PlanRequest& request, plan::Collective what);     // by_index.cc
plan::Plan movement_avoiding(const PlanRequest& request, plan::Collective what);         // movement_avoiding.cc
plan::Plan movement_avoiding_socket(const PlanRequest& request, plan::Collective what);  // movement_avoiding.cc
plan::Plan in_order_tree(const PlanRequest& request, plan::Collective what);             // in_order_tree.cc
plan::Plan dpml(const PlanRequest& request, plan::Collective what);                      // dpml.cc
plan::Plan dpml(const PlanRequest& request, plan::Collective what, const char* name);    // dpml.cc
plan::Plan dpml_two_level(const PlanRequest& request, plan::Collective what);            // dpml_two_level.cc
plan::Plan rg(const PlanRequest& request, plan::Collective what);                        // rg.cc
plan::Plan ring(const PlanRequest& request, plan::Collective what);                      // ring.cc
plan::Plan rabenseifner(const PlanRequest& request, plan::Collective what);              // rabenseifner.cc

// `what` is any reduction, scan and exscan included.
plan::Plan grouped_reduction(const PlanRequest& request, plan::Collective what);  // grouped_reduce.cc

plan::Plan scatter_allgather(const PlanRequest& request);           // scatter_allgather.cc
plan::Plan scatter_allgather_ring(const PlanRequest& request);      // scatter_allgather.cc
plan::Plan scatter_allgather_doubling(const PlanRequest& request);  // scatter_allgather.cc
plan::Plan push_pull(const PlanRequest& request);                   // push_pull.cc

plan::Plan grouped_gather(const PlanRequest& request);     // grouped.cc
plan::Plan grouped_scatter(const PlanRequest& request);    // grouped.cc
plan::Plan grouped_allgather(const PlanRequest& request);  // grouped.cc
plan::Plan grouped_alltoall(const PlanRequest& request);   // grouped.cc

bool always(const PlanRequest& request);
bool fits_slice_ring(const PlanRequest& request);   // scatter_allgather.cc
bool fits_one_group(const PlanRequest& request);    // movement_avoiding.cc
bool fits_ring(const PlanRequest& request);         // ring.cc
bool has_levels(const PlanRequest& request);        // the hierarchy is not flat
bool exceeds_a_group(const PlanRequest& request);   // more ranks than a small group has (grouped_reduce.cc)
bool has_small_groups(const PlanRequest& request);  // levels, or more ranks than a small group has (grouped.cc)
// Whether the hierarchy has levels, and all groups of one level (or of the outermost one) are consecutive ranks.
bool has_consecutive_groups(const PlanRequest& request);   // tree_reduce.cc
bool has_consecutive_sockets(const PlanRequest& request);  // dpml_two_level.cc

}  // namespace coll::algo
