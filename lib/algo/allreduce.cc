// SPDX-License-Identifier: BSD-3-Clause
// Reductions to all ranks that are nothing else: the two for small vectors.
#include <bit>

#include "algo/common.h"
#include "algo/families.h"

namespace coll::algo {
namespace {

// Everybody stages, everybody reduces everything: one hop. Two slots are enough and nobody acknowledges: who sees a
// rank's next chunk knows that it is done with this one.
Plan all_read(const Request& request) {
  const int ranks = request.hierarchy->ranks();
  if (ranks == 1) return alone(Collective::allreduce, "all_read", request);
  Builder b = start(Collective::allreduce, "all_read", request);
  b.synchronizing();
  Ring ring{ring_of(request).chunk_bytes, 2};
  b.parameter("chunk", ring.chunk_bytes);
  Window input(b, Buffer::none, ring);
  const uint16_t chunks = b.range({.chunk_bytes = ring.chunk_bytes});
  for (int rank : b.ranks()) {
    std::vector<Operand> sources;
    for (int q = 0; q < ranks; ++q) sources.push_back(q == rank ? own_send() : input.of(q));
    const Operand to[] = {own_recv()};
    LaneBuilder lane = b.lane(rank);
    lane.loop(chunks);
    lane.copy(chunks, input.of(rank), own_send());
    lane.post(input.flag, this_pass());
    wait_each(lane, all_but(ranks, rank), input.flag, this_pass());
    lane.reduce(chunks, to, sources);
    lane.end();
  }
  return b.finish();
}

// In step k ranks whose numbers differ in bit k exchange partial results and both reduce them, the lower one's first. A
// slot per step; two per ring are enough, for the next chunk's first flag comes after everything of this one.
//
// Ranks that a power of two leaves over are folded: the first pairs of ranks become one number each. So numbers rise
// with ranks, every partial result is of consecutive ranks, and operands are always in rank order.
Plan recursive_doubling(const Request& request) {
  const int ranks = request.hierarchy->ranks();
  if (ranks == 1) return alone(Collective::allreduce, "recursive_doubling", request);
  const int numbers = int(std::bit_floor(unsigned(ranks))), pairs = ranks - numbers;
  const auto rank_of = [&](int number) { return number < pairs ? 2 * number : number + pairs; };

  Builder b = start(Collective::allreduce, "recursive_doubling", request);
  b.synchronizing();
  if (ranks > 2) b.tree_order();
  const Ring ring{ring_of(request).chunk_bytes, 2};
  b.parameter("chunk", ring.chunk_bytes);
  std::vector<Window> steps;
  for (int distance = 1; distance < numbers; distance *= 2) steps.emplace_back(b, Buffer::none, ring);
  const Window& input = steps.front();
  const Window result = pairs > 0 ? Window(b, Buffer::none, ring) : input;
  const uint16_t chunks = b.range({.chunk_bytes = ring.chunk_bytes});

  for (int rank : b.ranks()) {
    LaneBuilder lane = b.lane(rank);
    lane.loop(chunks);
    const bool paired = rank < 2 * pairs;
    if (paired && rank % 2 == 1) {  // stands aside: its partner counts for both
      lane.copy(chunks, input.of(rank), own_send()).post(input.flag, this_pass());
      lane.wait(rank - 1, result.flag, this_pass()).copy(chunks, own_recv(), result.of(rank - 1)).end();
      continue;
    }
    const int number = paired ? rank / 2 : rank - pairs;
    if (paired) {
      const Operand to[] = {input.of(rank)}, sources[] = {own_send(), input.of(rank + 1)};
      lane.wait(rank + 1, input.flag, this_pass()).reduce(chunks, to, sources);
    } else {
      lane.copy(chunks, input.of(rank), own_send());
    }
    for (size_t step = 0; step < steps.size(); ++step) {
      const int other = rank_of(number ^ (1 << step));
      lane.post(steps[step].flag, this_pass()).wait(other, steps[step].flag, this_pass());
      const Operand sources[] = {steps[step].of(std::min(rank, other)), steps[step].of(std::max(rank, other))};
      const bool last = step + 1 == steps.size();
      const Operand to[] = {last ? own_recv() : steps[step + 1].of(rank), result.of(rank)};
      lane.reduce(chunks, {to, last && paired ? 2u : 1u}, sources);
    }
    if (paired) lane.post(result.flag, this_pass());
    lane.end();
  }
  return b.finish();
}

const Algorithm family[] = {
    {.collective = Collective::allreduce,
     .name = "all_read",
     .summary = "every rank reduces the data of all ranks: for very short vectors",
     .source = "this project",
     .reads = {.chunk = true},
     .described = plan::Access::shm,
     .max_bytes = 16384,
     .applies = always,
     .make = all_read},
    {.collective = Collective::allreduce,
     .name = "recursive_doubling",
     .summary = "log2 p exchanges of partial results with ranks at doubling distance",
     .source = "Thakur, Rabenseifner and Gropp 2005",
     .left_to_right = false,
     .reads = {.chunk = true},
     .described = plan::Access::shm,
     .max_bytes = 65536,
     .applies = always,
     .make = recursive_doubling},
};

}  // namespace

std::span<const Algorithm> allreduce_family() { return family; }

}  // namespace coll::algo
