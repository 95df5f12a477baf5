// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts. All but sequential_write are one generator, Downward, on different trees.
#include <bit>

#include "algo/downward.h"
#include "algo/families.h"

namespace coll::algo {
namespace {

Builder start_bcast(const char* name, const PlanRequest& request, Ring ring) {
  Builder b = start(Collective::bcast, name, request);
  b.parameter("chunk", ring.chunk_bytes);
  b.parameter("depth", ring.depth);
  return b;
}

// Adds one lane per rank; node_of(rank) is the rank's position in the tree.
template <class NodeOf>
Plan down_the_tree(Builder b, Downward& down, NodeOf node_of) {
  for (int rank : b.ranks()) {
    LaneBuilder lane = b.lane(rank);
    const Node node = node_of(rank);
    if (node.parent < 0) down.send_all(lane, rank, node);
    else down.receive(lane, rank, node);
  }
  return b.finish();
}

// ---- flat_read, shm_pipelined: the root is the only holder --------------------------------------------------

Plan flat(const PlanRequest& request, const char* name, Buffer buffer) {
  const int ranks = request.hierarchy->ranks();
  const Ring ring = ring_of(request);
  Builder b = start_bcast(name, request, ring);
  Downward down(b, buffer, ring);
  return down_the_tree(std::move(b), down, [&](int rank) {
    if (rank != request.root) return Node{.parent = request.root};
    Node node;
    if (ranks > 1) node.rounds.push_back(all_but(ranks, rank));
    return node;
  });
}

Plan flat_read(const PlanRequest& request) { return flat(request, "flat_read", Buffer::send); }
Plan shm_pipelined(const PlanRequest& request) { return flat(request, "shm_pipelined", Buffer::none); }

// ---- knomial ------------------------------------------------------------------------------------------------

// Ranks are numbered from the root. Strides fall from the largest power of k+1 below their number to 1, one per round. In each
// round every holder, a multiple of the previous stride, serves the k numbers that are one to k strides above its own.
// Ranks with near numbers are therefore near in the tree.
Plan knomial(const PlanRequest& request) {
  const int ranks = request.hierarchy->ranks(), root = request.root;
  const int k = std::clamp<int>(request.parameters.k, 1, 255), base = k + 1;
  const Ring ring = ring_of(request);
  std::vector<int> strides;  // in descending order
  for (int stride = 1; stride < ranks; stride *= base) strides.insert(strides.begin(), stride);
  const auto serves = [&](int number, int stride) { return number % (stride * base) == 0 && number + stride < ranks; };

  Builder b = start_bcast("knomial", request, ring);
  b.parameter("k", k);
  Downward down(b, Buffer::recv, ring, int(strides.size()));
  return down_the_tree(std::move(b), down, [&](int rank) {
    const int number = (rank - root + ranks) % ranks;
    const auto rank_of = [&](int of) { return (of + root) % ranks; };
    Node node;
    if (number > 0) {
      const int stride = *std::ranges::find_if(strides, [&](int s) { return number % s == 0; });
      const int parent = number - number % (stride * base);
      node.parent = rank_of(parent);
      for (int larger : strides) node.round += larger > stride && serves(parent, larger);
    }
    for (int stride : strides) {
      if (!serves(number, stride)) continue;
      std::vector<int>& served = node.rounds.emplace_back();
      for (int digit = 1; digit <= k && number + digit * stride < ranks; ++digit)
        served.push_back(rank_of(number + digit * stride));
    }
    return node;
  });
}

// ---- hierarchical -------------------------------------------------------------------------------------------

// Into how many slices the leaders of each level cut a chunk (XHC's chunk size per level): the chunk divided by that of
// the level, rounded down to 1, 2, 4 or 8 (Parameters::level_chunk_bytes), so that all levels run the same loop.
struct LevelChunks {
  uint32_t chunk_bytes = 0;
  std::vector<int> slices;

  LevelChunks(const PlanRequest& request, int levels) : slices(size_t(levels), 1) {
    const std::vector<uint32_t>& wanted = request.parameters.level_chunk_bytes;
    chunk_bytes = wanted.empty() ? request.parameters.chunk_bytes : *std::ranges::max_element(wanted);
    for (size_t level = 0; level < slices.size() && !wanted.empty(); ++level) {
      const uint32_t bytes = std::max(wanted[std::min(level, wanted.size() - 1)], 1u);
      slices[level] = int(std::min(std::bit_floor(std::max(chunk_bytes / bytes, 1u)), 8u));
    }
  }
  int finest() const { return *std::ranges::max_element(slices); }
};

Plan down_the_hierarchy(const char* name, const PlanRequest& request, const topo::Hierarchy& hierarchy) {
  const topo::Tree tree = hierarchy.tree_for_root(request.root);
  const LevelChunks levels(request, tree.levels());
  const Ring ring = ring_of(request, levels.chunk_bytes);
  Builder b = start_bcast(name, request, ring);
  for (int level = 0; level < tree.levels() && levels.finest() > 1; ++level)
    b.parameter("chunk" + std::to_string(level), ring.chunk_bytes / uint32_t(levels.slices[size_t(level)]));
  Downward down(b, Buffer::recv, ring, 1, levels.finest());
  const auto offered = [&](int rank) {
    int most = 1;
    for (int level = 0; level < tree.levels_led(rank); ++level)
      if (tree.group_size(rank, level) > 1) most = std::max(most, levels.slices[size_t(level)]);
    return most;
  };
  return down_the_tree(std::move(b), down, [&](int rank) {
    Node node{.parent = tree.parent(rank), .offered_slices = offered(rank)};
    if (node.parent >= 0) {
      node.slices = levels.slices[size_t(tree.parent_level(rank))];
      node.parent_slices = offered(node.parent);
    }
    std::vector<int> children = tree.children(rank);
    if (!children.empty()) node.rounds.push_back(std::move(children));
    return node;
  });
}

Plan hierarchical(const PlanRequest& request) {
  return down_the_hierarchy("hierarchical", request, *request.hierarchy);
}
topo::Hierarchy groups_of(const PlanRequest& request) {
  return topo::in_small_groups(*request.hierarchy, topo::Counted::l3s);
}
bool has_groups(const PlanRequest& request) { return !groups_of(request).is_flat(); }
Plan grouped(const PlanRequest& request) { return down_the_hierarchy("grouped", request, groups_of(request)); }

// ---- sequential_write ---------------------------------------------------------------------------------------

// The root writes every chunk to one peer after the other, so that no two processes ever copy from the same memory. If
// the peer's buffer is staged, the root writes to the peer's slots, and the peer copies the chunk out itself.
Plan sequential_write(const PlanRequest& request) {
  const int ranks = request.hierarchy->ranks(), root = request.root;
  const Ring ring = ring_of(request);
  Builder b = start_bcast("sequential_write", request, ring);
  const StagedView target(b, Buffer::recv, ring);
  const uint16_t sent = b.flag(), chunks = b.range({.chunk_bytes = ring.chunk_bytes});
  // Value n+1 of a target's flag: the slots of the first n iterations are free again; value 1: the target has started.
  for (int rank : b.ranks()) {
    LaneBuilder lane = b.lane(rank);
    if (rank == root) {
      const std::vector<int> peers = all_but(ranks, rank);
      if (peers.empty()) continue;
      wait_each(lane, peers, target.flag, constant(1));
      lane.loop(chunks);
      for (int peer : peers)
        lane.wait(peer, target.flag, this_iteration(1 - ring.depth)).copy(chunks, target.of(peer), own_send());
      lane.post(sent, this_iteration()).end();
    } else {
      lane.publish(target.view);
      lane.post(target.flag, constant(1), target.staged());
      lane.post(target.flag, all_iterations(chunks, 1), target.direct());
      lane.loop(chunks).wait(root, sent, this_iteration());
      lane.copy_result(chunks, own_recv(), target.of(rank), target.staged());
      lane.post(target.flag, this_iteration(1), target.staged()).end();
    }
  }
  return b.finish();
}

const Algorithm family[] = {
    {.collective = Collective::bcast,
     .name = "flat_read",
     .summary = "every rank reads from the root, all at once",
     .source = "CMA V-B direct read, KNEM V-B",
     .reads = {.chunk = true, .depth = true},
     .described = plan::AccessMode::remote,
     .applies = always,
     .make = flat_read},
    {.collective = Collective::bcast,
     .name = "shm_pipelined",
     .summary = "the root copies chunks into shared slots, every rank copies them out",
     .source = "YHCCL Alg. 3",
     .reads = {.chunk = true, .depth = true},
     .described = plan::AccessMode::staged,
     .applies = always,
     .make = shm_pipelined},
    {.collective = Collective::bcast,
     .name = "sequential_write",
     .summary = "the root writes to one rank after the other",
     .source = "CMA V-B direct write",
     .reads = {.chunk = true, .depth = true},
     .described = plan::AccessMode::remote,
     .applies = always,
     .make = sequential_write},
    {.collective = Collective::bcast,
     .name = "push_pull",
     .summary = "the root writes one slice of every chunk to each rank, which reads the other slices",
     .source = "this project",
     .reads = {.chunk = true, .depth = true},
     .described = plan::AccessMode::direct,
     .applies = always,
     .make = push_pull},
    {.collective = Collective::bcast,
     .name = "knomial",
     .summary = "every rank that has the data serves k readers at a time, which then serve others",
     .source = "CMA V-B k-nomial",
     .reads = {.chunk = true, .depth = true, .k = true},
     .described = plan::AccessMode::remote,
     .applies = always,
     .make = knomial},
    {.collective = Collective::bcast,
     .name = "scatter_allgather",
     .summary = "ranks read one slice each from the root, k at a time, and the other slices from their owners",
     .source = "CMA V-B scatter-allgather, van de Geijn",
     .reads = {.chunk = true, .depth = true, .k = true},
     .described = plan::AccessMode::remote,
     .applies = always,
     .make = scatter_allgather},
    {.collective = Collective::bcast,
     .name = "scatter_allgather_ring",
     .summary = "ranks read one slice each from the root, k at a time, and the other slices from their neighbour",
     .source = "CMA V-B scatter-allgather, van de Geijn",
     .reads = {.chunk = true, .depth = true, .k = true},
     .described = plan::AccessMode::remote,
     .applies = fits_slice_ring,
     .make = scatter_allgather_ring},
    {.collective = Collective::bcast,
     .name = "scatter_allgather_doubling",
     .summary = "ranks read one slice each from the root, k at a time, and the other slices by recursive doubling",
     .source = "CMA V-B scatter-allgather, van de Geijn",
     .reads = {.chunk = true, .depth = true, .k = true},
     .described = plan::AccessMode::remote,
     .applies = always,
     .make = scatter_allgather_doubling},
    {.collective = Collective::bcast,
     .name = "hierarchical",
     .summary = "chunks go from leader to leader and down into the groups, over each link once",
     .source = "XHC IV-A, KNEM IV",
     .reads = {.chunk = true, .depth = true, .level_chunks = true, .hierarchy = true},
     .applies = has_levels,
     .make = hierarchical},
    {.collective = Collective::bcast,
     .name = "grouped",
     .summary = "as hierarchical, in groups of at most 16 L3 caches",
     .source = "this project, XHC IV-A",
     .reads = {.chunk = true, .depth = true, .level_chunks = true, .hierarchy = true},
     .applies = has_groups,
     .make = grouped},
};

}  // namespace

std::span<const Algorithm> bcast_family() { return family; }

}  // namespace coll::algo
