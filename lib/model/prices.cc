// SPDX-License-Identifier: BSD-3-Clause
#include "model/prices.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "model/work.h"
#include "plan/geometry.h"

namespace coll::model {

namespace {

// Short names of the parameters that formulas read.
constexpr Reads none, chunk = {.chunk = true}, both = {.k = true, .chunk = true}, stride = {.j = true};
using enum Staging;
using enum Means;

// clang-format off
constexpr Row all[] = {
    {"barrier", "flat", "barrier / flat: G + B", "XHC III-E",
     barrier_flat, none, nothing, anywhere},
    {"barrier", "dissemination", "barrier / dissemination: ceil(lg p) flags", "Hensgen, Finkel, Manber 1988",
     barrier_dissemination, none, nothing, anywhere},
    {"barrier", "hierarchical", "barrier / hierarchical: G + B per level", "XHC III",
     barrier_hierarchical, none, nothing, anywhere},
    {"barrier", "grouped", "barrier / hierarchical, small groups: G + B per level", "this project, XHC III",
     barrier_grouped, none, nothing, anywhere},

    {"bcast", "flat_read", "bcast / direct read: B + C(p) + G", "CMA V-B.1",
     bcast_direct_read, chunk, block, anywhere, {}, {0, 0, 0, 1}},
    {"bcast", "sequential_write", "bcast / direct write: G + p C(1) + B", "CMA V-B.1",
     bcast_direct_write, chunk, block, anywhere},
    {"bcast", "push_pull", "bcast / push and pull: AG + the slower of C(p)((p-1)/p eta) and (p-1) C(1)(eta/p)", "this project",
     bcast_push_pull, chunk, nothing, anywhere, {}, {0, 0, 0, 1}},
    {"bcast", "knomial", "bcast / k-nomial: B + ceil(log_{k+1} p) C(k)", "CMA V-B.2",
     bcast_knomial, both, block, anywhere},
    {"bcast", "scatter_allgather", "bcast / scatter-allgather: AG + T_scatter(eta/p) + T_allgather(eta/p)", "CMA V-B.3",
     bcast_scatter_allgather, both, block, anywhere, {1}, {0, 1}},
    {"bcast", "scatter_allgather_ring", "bcast / scatter-allgather: AG + T_scatter(eta/p) + T_allgather(eta/p)", "CMA V-B.3",
     bcast_scatter_allgather_ring, both, block, anywhere, {1}},
    {"bcast", "scatter_allgather_doubling", "bcast / scatter-allgather: AG + T_scatter(eta/p) + T_allgather(eta/p)", "CMA V-B.3",
     bcast_scatter_allgather_doubling, both, block, anywhere, {1}},
    {"bcast", "hierarchical", "bcast / hierarchical pipelined: a pass per level, then the slowest", "XHC IV-A, KNEM IV",
     bcast_hierarchical, chunk, block, anywhere},
    {"bcast", "grouped", "bcast / hierarchical pipelined, small groups: a pass per level, then the slowest", "this project, XHC IV-A",
     bcast_grouped, chunk, block, anywhere},
    {"bcast", "shm_pipelined", "bcast / pipelined shared memory: W = s + s(p-1) + 2I", "YHCCL Alg. 3",
     bcast_shm_pipelined, chunk, nothing, staged},

    {"scatter", "parallel_read", "scatter / parallel read: B + C(p) + G", "CMA IV-A.1",
     scatter_parallel_read, chunk, peers, anywhere, {1}},
    {"scatter", "sequential_write", "scatter / sequential write: T_memcpy + G + p C(1) + B", "CMA IV-A.2",
     scatter_sequential_write, chunk, block, anywhere, {0, 1}},
    {"scatter", "throttled_read", "scatter / throttled read: B + ceil(p/k) C(k)", "CMA IV-A.3",
     scatter_throttled_read, both, peers, anywhere, {1}},
    {"scatter", "hierarchical", "scatter / two-level: the part within a node, by leaders", "CMA VII-G",
     scatter_hierarchical, chunk, peers, anywhere, {2}},
    {"scatter", "grouped", "scatter / small groups: flags down the groups, then C(p)", "this project, XHC IV-A",
     scatter_grouped, chunk, nothing, staged, {1}},

    {"gather", "parallel_write", "gather / parallel write: B + C(p) + G", "CMA IV-B.1",
     gather_parallel_write, chunk, peers, anywhere, {1}},
    {"gather", "sequential_read", "gather / sequential read: T_memcpy + G + p C(1) + B", "CMA IV-B.2",
     gather_sequential_read, chunk, block, anywhere, {0, 1}},
    {"gather", "throttled_write", "gather / throttled write: B + ceil(p/k) C(k)", "CMA IV-B.3",
     gather_throttled_write, both, peers, anywhere, {1}},
    {"gather", "hierarchical", "gather / two-level: the part within a node, by leaders", "CMA VII-G",
     gather_hierarchical, chunk, peers, anywhere, {2}},
    {"gather", "grouped", "gather / small groups: C(members) to leaders, C(groups) to the root", "this project, CMA VII-G",
     gather_grouped, chunk, nothing, staged, {1, 16}},

    {"allgather", "ring_neighbor", "allgather / ring-neighbor-j: T_memcpy + AG + (p-1) C(1) + barrier", "CMA V-A.1",
     allgather_ring_neighbor, stride, block, anywhere, {1}, {0, 0, 1}},
    {"allgather", "ring_source_read", "allgather / ring-source read: T_memcpy + AG + (p-1) C(1) + barrier", "CMA V-A.2",
     allgather_ring_source_read, chunk, block, anywhere, {}, {0, 1, 0, 1}},
    {"allgather", "ring_source_write", "allgather / ring-source write: T_memcpy + AG + (p-1) C(1) + barrier", "CMA V-A.2",
     allgather_ring_source_write, chunk, peers, anywhere, {1}, {1, 0, 1}},
    {"allgather", "recursive_doubling", "allgather / recursive doubling: lg p alpha + (p-1)(eta beta + lA)", "CMA V-A.3",
     allgather_recursive_doubling, chunk, block, anywhere, {1}, {0, 0, 0.5}},
    {"allgather", "bruck", "allgather / Bruck: AG + ceil(lg p) alpha + (p-1)(2 eta beta + lA) + barrier", "CMA V-A.4",
     allgather_bruck, chunk, block, anywhere, {1}, {0, 0, 0.5}},
    {"allgather", "gather_bcast", "allgather / gather + bcast", "KNEM V-C",
     allgather_gather_bcast, chunk, peers, anywhere, {1}},
    {"allgather", "hierarchical", "allgather / by leaders: gather up, bcast down", "XHC III-A, KNEM IV",
     allgather_hierarchical, chunk, block, anywhere, {1}},
    {"allgather", "grouped", "allgather / small groups: C(members) to leaders, then a copy from each", "this project, XHC III-A",
     allgather_grouped, chunk, nothing, staged, {0, 32}, {0, 1}},
    {"allgather", "shm_pipelined", "allgather / pipelined shared memory: W = sp + sp^2 + 2pI", "YHCCL Alg. 4",
     allgather_shm_pipelined, chunk, nothing, staged, {}, {0, 1}},

    {"alltoall", "rotated", "alltoall / rotated: one reader per sender at any step", "KNEM Fig. 3",
     alltoall_rotated, chunk, peers, anywhere, {1}, {1, 0}},
    {"alltoall", "pairwise", "alltoall / pairwise: AG + (p-1) C(1)", "CMA IV-C.1",
     alltoall_pairwise, chunk, peers, anywhere, {1}, {1, 0}},
    {"alltoall", "grouped", "alltoall / small groups: a copy from each member, then from each group", "this project",
     alltoall_grouped, chunk, nothing, staged, {3}},
    {"alltoall", "bruck", "alltoall / Bruck: ceil(lg p) steps", "CMA IV-C.2",
     alltoall_bruck, chunk, nothing, anywhere, {4}},

    {"reduce", "flat", "reduce / XHC, one group", "XHC IV-B",
     reduce_flat, chunk, block, anywhere},
    {"reduce", "fused", "reduce / fused p-ary, mapped: p+1", "this project, SAS",
     reduce_fused, chunk, block, anywhere},
    {"reduce", "hierarchical", "reduce / XHC, level by level", "XHC IV-B",
     reduce_hierarchical, chunk, block, anywhere},
    {"reduce", "hierarchical_by_index", "reduce / XHC, members reduce by index", "XHC IV-B step 2a",
     reduce_hierarchical_by_index, chunk, block, anywhere},
    {"reduce", "movement_avoiding", "reduce / movement-avoiding: 3p+1", "YHCCL 3.3",
     reduce_movement_avoiding, chunk, nothing, staged},
    {"reduce", "movement_avoiding_socket", "reduce / movement-avoiding, socket-aware: 3p+2m-1", "YHCCL 3.4",
     reduce_movement_avoiding_socket, chunk, nothing, staged},
    {"reduce", "in_order_tree", "reduce / even ranks copy in, odd ranks reduce in place and join: 3p+1", "this project",
     reduce_in_order_tree, chunk, nothing, staged},
    {"reduce", "dpml", "reduce / DPML: 3p+3", "YHCCL Table 3",
     reduce_dpml, chunk, nothing, staged},
    {"reduce", "dpml_two_level", "reduce / two-level DPML, shares written to the root", "YHCCL 5.1",
     reduce_dpml_two_level, chunk, nothing, staged},
    {"reduce", "rg", "reduce / RG, branching k: p((3k+2)/(k+1) + (k+2)/(k+1)^2 + ... + (k+2)/p)", "YHCCL Table 3",
     reduce_rg, both, nothing, staged},
    {"reduce", "grouped", "reduce / groups of 16 ranks: a group's inputs, then the groups' results", "this project",
     reduce_grouped, chunk, nothing, staged, {0, 32}},

    {"allreduce", "all_read", "allreduce / tiny: each reads all", "this project",
     allreduce_all_read, none, nothing, anywhere},
    {"allreduce", "recursive_doubling", "allreduce / recursive doubling", "Thakur, Rabenseifner, Gropp 2005",
     allreduce_recursive_doubling, none, nothing, anywhere},
    {"allreduce", "ring", "allreduce / ring: 7(p-1)", "YHCCL Table 2",
     allreduce_ring, none, nothing, staged},
    {"allreduce", "rabenseifner", "allreduce / Rabenseifner: 7p(1/2 + 1/4 + ... + 1/p)", "YHCCL Table 2",
     allreduce_rabenseifner, chunk, nothing, staged},
    {"allreduce", "in_order_tree", "allreduce / even ranks copy in, odd ranks reduce in place and join: 5p-2", "this project",
     allreduce_in_order_tree, chunk, nothing, staged},
    {"allreduce", "dpml", "allreduce / DPML: 5p+1", "YHCCL Table 2",
     allreduce_dpml, chunk, nothing, staged},
    {"allreduce", "dpml_two_level", "allreduce / two-level DPML, at most 256 KiB", "YHCCL 5.1",
     allreduce_dpml_two_level, chunk, nothing, staged},
    {"allreduce", "rg", "allreduce / RG, branching k: p((3k+2)/(k+1) + ... + (k+2)/p + 2)", "YHCCL Table 2",
     allreduce_rg, both, nothing, staged},
    {"allreduce", "movement_avoiding", "allreduce / movement-avoiding: 5p-1", "YHCCL 3.5",
     allreduce_movement_avoiding, chunk, nothing, staged},
    {"allreduce", "movement_avoiding_socket", "allreduce / movement-avoiding, socket-aware: 5p+2m-3", "YHCCL 3.5",
     allreduce_movement_avoiding_socket, chunk, nothing, staged},
    {"allreduce", "shared_address_space", "allreduce / shared address space, partitioned: 5(p-1)", "SAS III",
     allreduce_shared_address_space, chunk, block, anywhere},
    {"allreduce", "fused", "allreduce / fused p-ary, mapped: 3p-1", "this project",
     allreduce_fused, chunk, block, anywhere},
    {"allreduce", "hierarchical", "allreduce / XHC, level by level", "XHC IV-B",
     allreduce_hierarchical, chunk, block, anywhere},
    {"allreduce", "hierarchical_by_index", "allreduce / XHC, members reduce by index", "XHC IV-B step 2a",
     allreduce_hierarchical_by_index, chunk, block, anywhere},
    {"allreduce", "grouped", "allreduce / groups of 16 ranks: a group's inputs, then the groups' results", "this project",
     allreduce_grouped, chunk, nothing, staged, {0, 32}},

    {"reduce_scatter", "ring", "reduce_scatter / ring: 5(p-1)", "YHCCL Table 1",
     reduce_scatter_ring, none, nothing, staged, {1, 2}},
    {"reduce_scatter", "rabenseifner", "reduce_scatter / Rabenseifner: 5p(1/2 + 1/4 + ... + 1/p)", "YHCCL Table 1",
     reduce_scatter_rabenseifner, chunk, nothing, staged, {2, 2}},
    {"reduce_scatter", "in_order_tree", "reduce_scatter / even ranks copy in, odd ranks reduce in place and join: 3p+1-2/p",
     "this project", reduce_scatter_in_order_tree, chunk, nothing, staged, {1}},
    {"reduce_scatter", "dpml", "reduce_scatter / DPML: 3p+1", "YHCCL Table 1",
     reduce_scatter_dpml, chunk, nothing, staged, {1, 2}},
    {"reduce_scatter", "dpml_two_level", "reduce_scatter / two-level DPML, at most 256 KiB", "YHCCL 5.1",
     reduce_scatter_dpml_two_level, chunk, nothing, staged, {1, 2}},
    {"reduce_scatter", "movement_avoiding", "reduce_scatter / movement-avoiding: 3p-1", "YHCCL 3.3",
     reduce_scatter_movement_avoiding, chunk, nothing, staged},
    {"reduce_scatter", "movement_avoiding_socket", "reduce_scatter / movement-avoiding, socket-aware: 3p+2m-3", "YHCCL 3.4",
     reduce_scatter_movement_avoiding_socket, chunk, nothing, staged},
    {"reduce_scatter", "fused", "reduce_scatter / fused p-ary, mapped: p+1", "this project",
     reduce_scatter_fused, chunk, block, anywhere, {1, 2}},
    {"reduce_scatter", "grouped", "reduce_scatter / groups of 16 ranks: a group's inputs, then the groups' results", "this project",
     reduce_scatter_grouped, chunk, nothing, staged, {1, 16}},

    {"scan", "all_read", "scan / each reads those before it", "this project",
     scan_all_read, chunk, nothing, anywhere},
    {"scan", "sklansky", "scan / halves of blocks, log2 p steps", "Sklansky 1960",
     scan_sklansky, chunk, block, anywhere},
    {"scan", "fused", "scan / each makes all prefixes of a slice", "this project, SAS",
     scan_fused, chunk, block, anywhere},
    {"scan", "grouped", "scan / groups of 16 ranks: a group's inputs, then the groups' results", "this project",
     scan_grouped, chunk, nothing, staged, {0, 32}},

    {"exscan", "all_read", "exscan / each reads those before it", "this project",
     scan_all_read, chunk, nothing, anywhere},
    {"exscan", "sklansky", "exscan / halves of blocks, log2 p steps", "Sklansky 1960",
     exscan_sklansky, chunk, block, anywhere},
    {"exscan", "fused", "exscan / each makes all prefixes of a slice", "this project, SAS",
     scan_fused, chunk, block, anywhere},
    {"exscan", "grouped", "exscan / groups of 16 ranks: a group's inputs, then the groups' results", "this project",
     scan_grouped, chunk, nothing, staged, {0, 32}},
};
// clang-format on

std::vector<Mechanism> mechanisms_for(const Row& row, const Table& table, double bytes) {
  if (row.means == staged || (bytes < table.thresholds.direct_bytes && row.means != mapped))
    return {Mechanism::shared_memory};
  std::vector<Mechanism> usable;
  for (Mechanism mechanism : all_mechanisms) {
    if (!table.of(mechanism).available) continue;
    if (row.means == mapped && mechanism != Mechanism::mapped) continue;
    usable.push_back(mechanism);
  }
  return usable;
}

double staging_us(const Row& row, const Setting& on, double bytes) {
  switch (row.staging) {
    case nothing: return 0;
    case block: return on.stage_us(bytes);
    case peers: return on.stage_us(bytes * (on.ranks() - 1)) + (on.ranks() - 1) * on.step_us();
  }
  return 0;
}

plan::Collective collective_of(const Row& row) {
  int named = 0;
  while (row.collective != plan::name(plan::Collective(named))) ++named;
  return plan::Collective(named);
}

// Shortens the chunk so that the slots of one iteration have room, as the generators do (ring_of_blocks in lib/algo).
double chunk_in_slots(const Row& row, int ranks, double chunk_bytes, int slots) {
  const double blocks = double(row.slots.per_rank) * ranks + row.slots.more;
  if (blocks == 0 || chunk_bytes <= 0) return chunk_bytes;
  constexpr double line = plan::cache_line_bytes;
  const double room = double(algo::room_for_blocks(size_t(chunk_bytes), algo::usual_room_bytes)) / blocks;
  double depth = slots;
  while (depth > 2 && depth * chunk_bytes > room) depth /= 2;
  return std::min(std::max(std::floor(room / depth / line) * line, line), chunk_bytes);
}

// The bytes that one rank sends and receives; of a rooted collective the root, or each of the other ranks.
struct Buffers {
  double send = 0, recv = 0;
  bool all_send = true, all_recv = true;  // all ranks, or the root alone

  Buffers(plan::Collective collective, double bytes, int ranks) {
    const double blocks = ranks;
    send = bytes * (plan::has_blocks(collective, plan::Buffer::send) ? blocks : 1);
    recv = bytes * (plan::has_blocks(collective, plan::Buffer::recv) ? blocks : 1);
    // `bytes` is the size of the vector.
    if (collective == plan::Collective::reduce_scatter) send = bytes, recv = bytes / ranks;
    all_send = collective != plan::Collective::bcast && collective != plan::Collective::scatter;
    all_recv = collective != plan::Collective::reduce && collective != plan::Collective::gather;
  }
};

// The memory that the sending and the receiving rank touch.
Footprint footprint(const Row& row, double bytes, int ranks, const Knobs& knobs) {
  const plan::Collective collective = collective_of(row);
  if (collective == plan::Collective::barrier || bytes <= 0) return {};
  const Buffers buffers(collective, bytes, ranks);
  const double send = buffers.send, recv = buffers.recv;
  // Rings and trees of an allgather read what the peer has received, other algorithms what it sends.
  const bool reads_received = collective == plan::Collective::allgather && row.traffic.from_send == 0;
  Footprint made{.source = send + recv,
                 .target = send + recv,
                 .from = reads_received ? recv : send,
                 .into = recv,
                 .huge_pages = knobs.huge_pages};
  if (collective == plan::Collective::bcast) made.source = made.target = bytes;
  if (collective == plan::Collective::scatter) made.target = recv;
  if (collective == plan::Collective::gather || collective == plan::Collective::reduce) made.source = send;
  made.chunk = knobs.chunk_bytes > 0 ? std::min(knobs.chunk_bytes, bytes) : bytes;
  made.ring = ring_bytes(knobs.depth, bytes, made.chunk);
  return made;
}

}  // namespace

std::span<const Row> rows() { return all; }

const algo::Algorithm* registered(const Row& row) {
  for (const algo::Algorithm& algorithm : algo::algorithms())
    if (row.algorithm == algorithm.name && row.collective == plan::name(algorithm.collective)) return &algorithm;
  return nullptr;
}

namespace {

bool applies(const Row& row, const topo::Hierarchy& hierarchy) {
  const algo::Algorithm* algorithm = registered(row);
  return algorithm == nullptr || algorithm->applies({.hierarchy = &hierarchy});
}

}  // namespace

const Row* find_row(std::string_view collective, std::string_view algorithm) {
  for (const Row& row : all)
    if (row.collective == collective && row.algorithm == algorithm) return &row;
  return nullptr;
}

namespace {

// What passes the busiest links, which limits every run.
struct Passed {
  Load in, out;  // in: what ranks load from their own send buffers; out: all other traffic
  Load all() const { return Load(in) += out; }
};
// How often a rank of the busiest NUMA node stores its result, on average. In `sklansky` a rank stores it in each of
// its steps; an odd rank stores one of these results to slots instead.
double stores_of_result(const Row& row, const topo::Hierarchy& hierarchy) {
  if (row.algorithm != "sklansky") return 1;
  std::vector<std::pair<double, int>> by_numa;
  double most = 1;
  for (int rank = 0; rank < hierarchy.ranks(); ++rank) {
    const size_t numa = size_t(std::max(hierarchy.place(rank).numa, 0));
    if (by_numa.size() <= numa) by_numa.resize(numa + 1);
    by_numa[numa].first += std::max(std::popcount(unsigned(rank)) - rank % 2, 1);
    by_numa[numa].second += 1;
  }
  for (const auto& [stores, ranks] : by_numa)
    if (ranks > 0) most = std::max(most, stores / ranks);
  return most;
}
// If ranks wait for each other's results, links are idle for a part of the time: this share of a rank's own work adds
// to the time of the links.
constexpr double not_hidden = 0.05;
// The share of staging that overlaps other work if a call has several iterations.
constexpr double overlapping_passes = 0.25;
Passed passed(const Row& row, const Setting& on, double bytes) {
  const plan::Collective collective = collective_of(row);
  if (collective == plan::Collective::barrier || on.ranks() == 1) return {};
  const Table& table = on.table();
  const Buffers buffers(collective, bytes, on.ranks());
  const bool blocks = collective == plan::Collective::allgather || collective == plan::Collective::alltoall;
  const double unit = blocks ? bytes : bytes / on.ranks();
  Load load = on.exchanged(row.traffic.own * unit);
  load += on.spread(row.traffic.shared * unit);
  Load in;
  if (buffers.send > own_cache_bytes(table)) {
    const double direct = row.traffic.from_send * buffers.recv;
    if (on.mechanism() == Mechanism::shared_memory) in = on.loaded(buffers.send, buffers.all_send);
    else if (direct > 0) load += on.loaded(buffers.all_send ? direct : direct * on.ranks(), buffers.all_send);
    else if (buffers.all_send) in = on.loaded(buffers.send, true);
  }
  if (buffers.recv > result_cache_bytes(table)) {
    // An ordinary store loads the line first.
    const double work_set =
        on.ranks() * (buffers.all_send ? buffers.send : 0) + on.ranks() * (buffers.all_recv ? buffers.recv : 0);
    const bool non_temporal = streams(table, work_set) && !plan::is_reduction(collective);
    load += on.stored(stores_of_result(row, on.hierarchy()) *
                          (non_temporal ? buffers.recv * (1 + row.traffic.reused) / 2 : buffers.recv),
                      buffers.all_recv);
  }
  return {in, load};
}

// The time of two parts of a call that different ranks do concurrently, chunk by chunk.
Terms pipelined(const Terms& one, const Terms& other, double chunks) {
  return one.total_us() > other.total_us() ? one + 1 / chunks * other : other + 1 / chunks * one;
}

}  // namespace

Terms cost(const Row& row, const Setting& on, double bytes, const Knobs& requested) {
  Knobs knobs = requested;
  const double whole = row.collective == "reduce_scatter" ? bytes / on.ranks() : bytes;  // chunks are cut from blocks
  const double wanted = knobs.chunk_bytes > 0 ? knobs.chunk_bytes : std::max(whole, 64.0);
  knobs.chunk_bytes = chunk_in_slots(row, on.ranks(), wanted, knobs.depth);
  if (row.algorithm.starts_with("scatter_allgather")) knobs.chunk_bytes *= on.ranks();  // a chunk is part of a slice
  const double chunks = Passes(whole, knobs.chunk_bytes).number;
  knobs.chunk_bytes = knobs.chunk_bytes < whole ? knobs.chunk_bytes * bytes / whole : 0;
  const bool is_staged = on.mechanism() == Mechanism::shared_memory && on.ranks() > 1;
  const Setting sized = on.touching(footprint(row, bytes, on.ranks(), knobs));
  Terms terms = row.formula(sized, bytes, knobs);
  const double staged_us = is_staged ? staging_us(row, sized, bytes) : 0;
  const bool by_others = row.collective == "bcast" || row.collective == "scatter" || row.collective == "gather";
  const Passed through = passed(row, sized, bytes);
  const double in_us = sized.us(through.in), out_us = sized.us(through.out), all_us = sized.us(through.all());
  const double copying_us = terms.startup_us + terms.transfer_us;
  if (is_staged && !by_others && row.staging != nothing) {
    // All ranks stage, then fetch what others have staged. Several iterations overlap in part, as ranks drift apart.
    const double in_turn_us = std::max(staged_us, in_us) + std::max(copying_us, out_us);
    const double together_us = std::max(staged_us + copying_us, all_us);
    const double us = in_turn_us + (chunks > 1 ? overlapping_passes * (together_us - in_turn_us) : 0);
    terms.transfer_us += us - copying_us;
    return terms;
  }
  const bool waits_for_results = row.collective == "bcast" || plan::is_reduction(collective_of(row));
  const double idle_us = waits_for_results ? not_hidden * copying_us : 0;
  // While a copy waits for a page's lock, other copies use the links.
  terms.transfer_us += std::max(all_us + idle_us - copying_us - terms.lock_us, 0.0);
  const Terms staging = transfer(staged_us);
  const double rounds =
      row.reads.k && row.collective != "bcast" ? std::ceil(double(on.ranks()) / std::max(knobs.k, 1)) : 1;
  if (!by_others || (knobs.depth == 1 && rounds == 1)) return terms + staging;
  return pipelined(terms, staging, chunks * rounds);
}

Priced price(const Row& row, const Table& table, const topo::Hierarchy& hierarchy, double bytes) {
  constexpr double least_chunk = 4096, most_chunk = 1 << 20;
  const int cores = std::max(table.fingerprint.cores / std::max(table.fingerprint.sockets, 1), 1);
  const int ranks = hierarchy.ranks(), most_k = row.reads.k || row.reads.j ? std::clamp(ranks - 1, 1, cores) : 1;
  Priced best;
  for (Mechanism mechanism : mechanisms_for(row, table, bytes)) {
    const Setting on(table, hierarchy, mechanism);
    const auto consider = [&](const Knobs& knobs) {
      const Terms terms = cost(row, on, bytes, knobs);
      if (best.row == nullptr || terms.total_us() < best.terms.total_us()) best = {&row, mechanism, knobs, terms};
    };
    for (int k = 1; k <= most_k; ++k) {
      // Otherwise a neighbour ring does not reach all ranks.
      if (row.reads.j && std::gcd(ranks, k) != 1) continue;
      consider({.k = k});
      for (double chunk = least_chunk; row.reads.chunk && chunk < std::min(bytes, 2 * most_chunk); chunk *= 2)
        consider({.k = k, .chunk_bytes = chunk});
    }
  }
  return best;
}

std::vector<Priced> rank_choices(std::string_view collective, const Table& table, const topo::Hierarchy& hierarchy,
                                 double bytes) {
  std::vector<Priced> choices;
  for (const Row& row : all)
    if (row.collective == collective && applies(row, hierarchy))
      if (Priced priced = price(row, table, hierarchy, bytes); priced.row != nullptr) choices.push_back(priced);
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Priced& a, const Priced& b) { return a.terms.total_us() < b.terms.total_us(); });
  return choices;
}

}  // namespace coll::model
