// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts. All but sequential_write are one generator, Downward, on different trees.
#include "algo/downward.h"
#include "algo/families.h"

namespace coll::algo {
namespace {

// One round per readers' turn: nobody but the root is a holder.
Plan flat(const Request& request, const char* name, Buffer buffer) {
  Builder b = start(Collective::bcast, name, request);
  Ring ring = ring_of(request);
  b.parameter("chunk", ring.chunk_bytes);
  b.parameter("depth", ring.depth);
  Downward down(b, buffer, ring);
  for (int rank : b.ranks()) {
    LaneBuilder lane = b.lane(rank);
    Node node;
    if (rank != request.root) {
      node.parent = request.root;
      down.receive(lane, rank, node);
    } else {
      if (request.hierarchy->ranks() > 1) node.rounds.push_back(all_but(request.hierarchy->ranks(), rank));
      down.send_all(lane, rank, node);
    }
  }
  return b.finish();
}

Plan flat_read(const Request& request) { return flat(request, "flat_read", Buffer::send); }
Plan shm_pipelined(const Request& request) { return flat(request, "shm_pipelined", Buffer::none); }

const Algorithm family[] = {
    {.collective = Collective::bcast,
     .name = "flat_read",
     .summary = "every rank reads from the root, all at once",
     .source = "CMA V-A direct read, KNEM V-A",
     .reads = {.chunk = true, .depth = true},
     .applies = always,
     .make = flat_read},
    {.collective = Collective::bcast,
     .name = "shm_pipelined",
     .summary = "the root copies chunks into shared slots, every rank copies them out",
     .source = "YHCCL Alg. 3",
     .reads = {.chunk = true, .depth = true},
     .applies = always,
     .make = shm_pipelined},
};

}  // namespace

std::span<const Algorithm> bcast_family() { return family; }

}  // namespace coll::algo
