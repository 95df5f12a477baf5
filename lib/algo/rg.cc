// SPDX-License-Identifier: BSD-3-Clause
// rg: a pipelined tree through shared memory. In groups of k+1 neighbours k copy their inputs in, and one, the leader,
// reduces them with its own in one step. Leaders form groups again until one result is left, which all ranks copy out
// (allreduce) or which the root, always a leader, makes in its receive buffer (reduce). k+1 is a power of two, so that
// the domains are the nodes of the balanced order.
//
// Vector bytes touched in all, if p is a power of k+1: reduce p((3k+2)/(k+1) + (k+2)/(k+1)^2 + ... + (k+2)/p),
// allreduce 2p more. The paper, whose leader adds operand by operand, has 5k and 3k in place of 3k+2 and k+2 (YHCCL
// Tables 2 and 3).
#include <bit>

#include "algo/families.h"
#include "algo/shares.h"

namespace coll::algo {
namespace {

class Rg {
 public:
  Rg(const PlanRequest& request, Collective what)
      : everywhere_(what == Collective::allreduce),
        ranks_(request.hierarchy->ranks()),
        root_(request.root),
        radix_(int(std::bit_ceil(
            unsigned(std::clamp<int>(request.parameters.k == 0 ? 3 : request.parameters.k, 1, ranks_ - 1)) + 1))),
        ring_(ring_of(request)),
        b_(start(what, "rg", request)),
        shared_(b_, Buffer::none, ring_),
        consumed_(b_.flag()),
        chunks_(b_.range({.chunk_bytes = ring_.chunk_bytes})) {
    b_.parameter("chunk", ring_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
    b_.parameter("k", radix_ - 1);
    if (everywhere_) b_.synchronizing();
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      work(rank);
      if (everywhere_) collect(b_.lane(rank), chunks_, {{root_, chunks_}}, shared_, shared_.flag, consumed_);
    }
    return b_.finish();
  }

 private:
  // A domain of level l is radix^l consecutive ranks; a group is the `radix` domains of one domain of the next level.
  int domain(int rank, int size) const { return rank / size; }
  // The root leads every domain that contains it; the first rank leads every other domain.
  int leader(int domain, int size) const { return root_ / size == domain ? root_ : domain * size; }

  // The operand of a member in its group; leaders of single ranks have not copied their inputs.
  Operand shown(int member, int rank, int size) const {
    return size == 1 && member == rank ? own_send() : shared_.of(member);
  }

  void work(int rank) {
    LaneBuilder lane = b_.lane(rank);
    const int top = led_up_to(rank);
    lane.loop(chunks_);
    if (rank != root_)
      lane.wait(leader(domain(rank, top * radix_), top * radix_), shared_.flag, iteration_before(ring_.depth));
    else if (everywhere_) wait_each(lane, all_but(ranks_, -1), consumed_, iteration_before(ring_.depth));
    if (top == 1) lane.copy(chunks_, shared_.of(rank), own_send());
    for (int size = 1; size < top; size *= radix_) add_group(lane, rank, size);
    lane.post(shared_.flag, this_iteration()).end();
  }

  // The size of the largest domain that the rank leads.
  int led_up_to(int rank) const {
    int size = 1;
    while (size < ranks_ && leader(domain(rank, size * radix_), size * radix_) == rank) size *= radix_;
    return size;
  }

  // Reduces the results of the domains of the given size in the leader's group.
  void add_group(LaneBuilder& lane, int rank, int size) {
    std::vector<int> members;
    const int first = domain(rank, size * radix_) * radix_;
    for (int d = first; d < first + radix_ && d * size < ranks_; ++d) members.push_back(leader(d, size));
    if (members.size() == 1) {
      // A single rank has not copied its input yet.
      if (size == 1) lane.copy(chunks_, shared_.of(rank), own_send());
      return;
    }
    const bool last_group = size * radix_ >= ranks_;
    std::vector<Operand> sources;
    for (int member : members) {
      if (member != rank) lane.wait(member, shared_.flag, this_iteration());
      sources.push_back(shown(member, rank, size));
    }
    const Operand to[] = {last_group && !everywhere_ ? own_recv() : shared_.of(rank)};
    lane.reduce(chunks_, to, sources);
  }

  const bool everywhere_;
  const int ranks_, root_, radix_;
  const Ring ring_;
  Builder b_;
  const StagedView shared_;  // the rank's input or partial result; at the root, the result
  const uint16_t consumed_, chunks_;
};

}  // namespace

Plan rg(const PlanRequest& request, Collective what) {
  if (request.hierarchy->ranks() == 1) return alone(what, "rg", request);
  return Rg(request, what).make();
}

}  // namespace coll::algo
