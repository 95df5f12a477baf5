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
plan::Plan fused(const Request& request, plan::Collective what);                     // fused.cc
plan::Plan shared_address_space(const Request& request, plan::Collective what);      // fused.cc
plan::Plan flat_tree(const Request& request, plan::Collective what);                 // tree_reduce.cc
plan::Plan hierarchical(const Request& request, plan::Collective what);              // tree_reduce.cc
plan::Plan hierarchical_by_index(const Request& request, plan::Collective what);     // by_index.cc
plan::Plan movement_avoiding(const Request& request, plan::Collective what);         // movement_avoiding.cc
plan::Plan movement_avoiding_socket(const Request& request, plan::Collective what);  // movement_avoiding.cc
plan::Plan in_order_tree(const Request& request, plan::Collective what);             // in_order_tree.cc
plan::Plan dpml(const Request& request, plan::Collective what);                      // dpml.cc
plan::Plan dpml(const Request& request, plan::Collective what, const char* name);    // dpml.cc
plan::Plan dpml_two_level(const Request& request, plan::Collective what);            // dpml_two_level.cc
plan::Plan rg(const Request& request, plan::Collective what);                        // rg.cc
plan::Plan ring(const Request& request, plan::Collective what);                      // ring.cc
plan::Plan rabenseifner(const Request& request, plan::Collective what);              // rabenseifner.cc

// `what` is any reduction, scan and exscan included.
plan::Plan grouped_reduction(const Request& request, plan::Collective what);  // grouped_reduce.cc

plan::Plan scatter_allgather(const Request& request);           // scatter_allgather.cc
plan::Plan scatter_allgather_ring(const Request& request);      // scatter_allgather.cc
plan::Plan scatter_allgather_doubling(const Request& request);  // scatter_allgather.cc
plan::Plan push_pull(const Request& request);                   // push_pull.cc

plan::Plan grouped_gather(const Request& request);     // grouped.cc
plan::Plan grouped_scatter(const Request& request);    // grouped.cc
plan::Plan grouped_allgather(const Request& request);  // grouped.cc
plan::Plan grouped_alltoall(const Request& request);   // grouped.cc

bool always(const Request& request);
bool fits_slice_ring(const Request& request);   // scatter_allgather.cc
bool fits_one_group(const Request& request);    // movement_avoiding.cc
bool fits_ring(const Request& request);         // ring.cc
bool has_levels(const Request& request);        // the hierarchy is not flat
bool exceeds_a_group(const Request& request);   // more ranks than a small group has (grouped_reduce.cc)
bool has_small_groups(const Request& request);  // levels, or more ranks than a small group has (grouped.cc)
// Whether the hierarchy has levels, and all groups of one level (or of the outermost one) are consecutive ranks.
bool has_consecutive_groups(const Request& request);   // tree_reduce.cc
bool has_consecutive_sockets(const Request& request);  // dpml_two_level.cc

}  // namespace coll::algo
