// SPDX-License-Identifier: BSD-3-Clause
// The cost of each algorithm in closed form: the papers' formulas, one function each, with their sources.
//
// `bytes` is the paper's eta: the block of one rank in personalized collectives and allgathers, otherwise the vector.
// Where a paper counts p accesses of a root that only p - 1 peers make, the formula uses p - 1, so that prices of few
// ranks are right; the throttled forms keep the paper's ceil(p/k) whole steps. B, G and AG are tiny bcast, gather and
// allgather. As in the papers, ranks start together, and all peers are at the largest distance unless the formula says
// otherwise. All are pure and thread-safe. REQUIRES: on.ranks() >= 1.
#pragma once

#include <cmath>
#include <span>

#include "model/cost.h"

namespace coll::model {

// The parameters of an algorithm that may be chosen.
struct Knobs {
  int k = 1;                // throttle, radix; allgather ring: the neighbour j
  double chunk_bytes = 0;   // bytes per iteration of a pipeline, or slices of a reduction; 0: no pipeline
  int depth = 4;            // slots; with one slot no rank runs ahead
  bool in_place = true;     // the root's own block is in place
  bool huge_pages = false;  // as Call::huge_pages
};

// The iterations of a pipeline: their number, and the bytes of one.
struct Passes {
  double number = 1, bytes;
  Passes(double all, double chunk) : bytes(all) {
    if (chunk <= 0 || chunk >= all) return;
    number = std::ceil(all / chunk);
    bytes = all / number;  // the average; the last chunk may be shorter
  }
};

using Formula = Terms (*)(const Setting& on, double bytes, const Knobs& knobs);

// ---- scatter, gather (formulas_personalized.cc) -------------------------------------------------------------------
// CMA IV-A.1: B + C(p) + G
Terms scatter_parallel_read(const Setting&, double bytes, const Knobs&);
// CMA IV-A.2: T_memcpy + G + p C(1) + B
Terms scatter_sequential_write(const Setting&, double bytes, const Knobs&);
// CMA IV-A.3: B + ceil(p/k) C(k)
Terms scatter_throttled_read(const Setting&, double bytes, const Knobs&);
// CMA IV-B.1, KNEM III-B
Terms gather_parallel_write(const Setting&, double bytes, const Knobs&);
// CMA IV-B.2
Terms gather_sequential_read(const Setting&, double bytes, const Knobs&);
// CMA IV-B.3
Terms gather_throttled_write(const Setting&, double bytes, const Knobs&);
// CMA VII-G, inside a node: by leaders
Terms scatter_hierarchical(const Setting&, double bytes, const Knobs&);
Terms gather_hierarchical(const Setting&, double bytes, const Knobs&);

// In small groups (formulas_grouped.cc): within a group, then between groups
Terms scatter_grouped(const Setting&, double bytes, const Knobs&);
Terms gather_grouped(const Setting&, double bytes, const Knobs&);

// scatterv, gatherv: bytes by rank, zeros allowed; of ranks that copy at the same time the slowest one counts.
// counts[root] is not copied between ranks. k = 1: one rank after the other; k >= ranks: all at once.
Terms scatterv(const Setting&, std::span<const double> counts, int root, int k);
Terms gatherv(const Setting&, std::span<const double> counts, int root, int k);

// The network between nodes: alpha and bandwidth of one message.
struct Network {
  double startup_us = 0, bandwidth_gbs = 1;
};
// CMA VII-G: `within` in each node, then one message per leader, which the root receives one after another.
Terms two_level(const Terms& within, const Network& network, int nodes, double node_bytes);

// ---- alltoall (formulas_personalized.cc) --------------------------------------------------------------------------
// One copy from each of `peers` peers at all distances; no two ranks copy from the same rank at the same time.
Terms from_peers(const Setting&, double bytes, int peers);
// CMA IV-C.1: AG + (p-1) C(1)
Terms alltoall_pairwise(const Setting&, double bytes, const Knobs&);
// CMA IV-C.2: ceil(lg p) steps of half of all blocks
Terms alltoall_bruck(const Setting&, double bytes, const Knobs&);
// KNEM Fig. 3: AG + (p-1) C(1), no step waits
Terms alltoall_rotated(const Setting&, double bytes, const Knobs&);
// formulas_grouped.cc: members forward blocks of their group, in one copy per peer
Terms alltoall_grouped(const Setting&, double bytes, const Knobs&);

// ---- bcast (formulas_shared.cc) -----------------------------------------------------------------------------------
// CMA V-B.1: B + C(p) + G
Terms bcast_direct_read(const Setting&, double bytes, const Knobs&);
// CMA V-B.1: G + p C(1) + B
Terms bcast_direct_write(const Setting&, double bytes, const Knobs&);
// CMA V-B.2: B + ceil(log_{k+1} p) C(k)
Terms bcast_push_pull(const Setting&, double bytes, const Knobs&);
Terms bcast_knomial(const Setting&, double bytes, const Knobs&);
// CMA V-B.3: AG + T_scatter(eta/p), k at a time, + T_allgather(eta/p) from the owners, the neighbour, or by doubling.
Terms bcast_scatter_allgather(const Setting&, double bytes, const Knobs&);
Terms bcast_scatter_allgather_ring(const Setting&, double bytes, const Knobs&);
Terms bcast_scatter_allgather_doubling(const Setting&, double bytes, const Knobs&);
// XHC IV-A, KNEM IV: the first chunk passes all levels, then the slowest level counts
Terms bcast_hierarchical(const Setting&, double bytes, const Knobs&);
// the same in small groups
Terms bcast_grouped(const Setting&, double bytes, const Knobs&);
// YHCCL Alg. 3
Terms bcast_shm_pipelined(const Setting&, double bytes, const Knobs&);

// ---- allgather (formulas_shared.cc) -------------------------------------------------------------------------------
// CMA V-A.1; k is j, gcd(p, j) = 1
Terms allgather_ring_neighbor(const Setting&, double bytes, const Knobs&);
// CMA V-A.2
Terms allgather_ring_source_read(const Setting&, double bytes, const Knobs&);
// CMA V-A.2
Terms allgather_ring_source_write(const Setting&, double bytes, const Knobs&);
// CMA V-A.3
Terms allgather_recursive_doubling(const Setting&, double bytes, const Knobs&);
// CMA V-A.4
Terms allgather_bruck(const Setting&, double bytes, const Knobs&);
// KNEM V-C
Terms allgather_gather_bcast(const Setting&, double bytes, const Knobs&);
// YHCCL Alg. 4
Terms allgather_shm_pipelined(const Setting&, double bytes, const Knobs&);
// XHC III, CMA VII-G: gather up the leaders, bcast down
Terms allgather_hierarchical(const Setting&, double bytes, const Knobs&);
// formulas_grouped.cc: a copy to the leader, one from each leader
Terms allgather_grouped(const Setting&, double bytes, const Knobs&);
// as ring_source_read, bytes by rank
Terms allgatherv(const Setting&, std::span<const double> counts);

// ---- barrier (formulas_shared.cc) ---------------------------------------------------------------------------------
// XHC III-E: G + B
Terms barrier_flat(const Setting&, double bytes, const Knobs&);
// ceil(lg p) flags
Terms barrier_dissemination(const Setting&, double bytes, const Knobs&);
// XHC III: G and B level by level
Terms barrier_hierarchical(const Setting&, double bytes, const Knobs&);
// the same in small groups
Terms barrier_grouped(const Setting&, double bytes, const Knobs&);

// ---- reductions (formulas_reduce.cc, formulas_in_order_tree.cc) ----------------------------------------------------
// XHC IV-B, one group
Terms reduce_flat(const Setting&, double bytes, const Knobs&);
// this project
Terms reduce_fused(const Setting&, double bytes, const Knobs&);
// XHC IV-B
Terms reduce_hierarchical(const Setting&, double bytes, const Knobs&);
// XHC IV-B step 2a
Terms reduce_hierarchical_by_index(const Setting&, double bytes, const Knobs&);
// YHCCL 3.3
Terms reduce_movement_avoiding(const Setting&, double bytes, const Knobs&);
// YHCCL 3.4
Terms reduce_movement_avoiding_socket(const Setting&, double bytes, const Knobs&);
// this project: even ranks copy in, odd ranks reduce in place and join
Terms reduce_in_order_tree(const Setting&, double bytes, const Knobs&);
// YHCCL 5.1 (DPML)
Terms reduce_dpml(const Setting&, double bytes, const Knobs&);
// YHCCL Table 3 (RG); k: branching
Terms reduce_rg(const Setting&, double bytes, const Knobs&);
// this project
Terms allreduce_all_read(const Setting&, double bytes, const Knobs&);
// Thakur, Rabenseifner, Gropp
Terms allreduce_recursive_doubling(const Setting&, double bytes, const Knobs&);
// YHCCL Table 2 (ring)
Terms allreduce_ring(const Setting&, double bytes, const Knobs&);
// YHCCL Table 2
Terms allreduce_rabenseifner(const Setting&, double bytes, const Knobs&);
// this project
Terms allreduce_fused(const Setting&, double bytes, const Knobs&);
// SAS III
Terms allreduce_shared_address_space(const Setting&, double bytes, const Knobs&);
// XHC IV-B
Terms allreduce_hierarchical(const Setting&, double bytes, const Knobs&);
// XHC IV-B step 2a
Terms allreduce_hierarchical_by_index(const Setting&, double bytes, const Knobs&);
// YHCCL 3.5
Terms allreduce_movement_avoiding(const Setting&, double bytes, const Knobs&);
// YHCCL 3.5
Terms allreduce_movement_avoiding_socket(const Setting&, double bytes, const Knobs&);
// this project
Terms allreduce_in_order_tree(const Setting&, double bytes, const Knobs&);
// YHCCL 5.1 (DPML)
Terms allreduce_dpml(const Setting&, double bytes, const Knobs&);
// YHCCL Table 2 (RG)
Terms allreduce_rg(const Setting&, double bytes, const Knobs&);
// YHCCL Table 1
Terms reduce_scatter_ring(const Setting&, double bytes, const Knobs&);
// YHCCL Table 1
Terms reduce_scatter_rabenseifner(const Setting&, double bytes, const Knobs&);
// this project
Terms reduce_scatter_in_order_tree(const Setting&, double bytes, const Knobs&);
// YHCCL Table 1
Terms reduce_scatter_dpml(const Setting&, double bytes, const Knobs&);
// YHCCL 3.3
Terms reduce_scatter_movement_avoiding(const Setting&, double bytes, const Knobs&);
// YHCCL 3.4
Terms reduce_scatter_movement_avoiding_socket(const Setting&, double bytes, const Knobs&);
// this project
Terms reduce_scatter_fused(const Setting&, double bytes, const Knobs&);
// YHCCL 5.1: within sockets, then across
Terms reduce_scatter_dpml_two_level(const Setting&, double bytes, const Knobs&);
Terms reduce_dpml_two_level(const Setting&, double bytes, const Knobs&);
Terms allreduce_dpml_two_level(const Setting&, double bytes, const Knobs&);

// this project, in groups of 16 ranks: the inputs of a group, then the results of the groups
Terms reduce_grouped(const Setting&, double bytes, const Knobs&);
Terms allreduce_grouped(const Setting&, double bytes, const Knobs&);
Terms reduce_scatter_grouped(const Setting&, double bytes, const Knobs&);
Terms scan_grouped(const Setting&, double bytes, const Knobs&);

// ---- scan, exscan (formulas_scan.cc) ------------------------------------------------------------------------------
// this project
Terms scan_all_read(const Setting&, double bytes, const Knobs&);
// Sklansky 1960: halves of blocks
Terms scan_sklansky(const Setting&, double bytes, const Knobs&);
Terms exscan_sklansky(const Setting&, double bytes, const Knobs&);
// this project: each rank makes all prefixes of a slice
Terms scan_fused(const Setting&, double bytes, const Knobs&);

}  // namespace coll::model
