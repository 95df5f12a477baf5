// SPDX-License-Identifier: BSD-3-Clause
// DPML: all ranks copy their vectors into shared memory at once, then each rank reduces one share of all vectors in one
// step (Bayatpour et al. 2017; in the paper a rank reduces them one after another, which moves more: YHCCL Tables 1 to
// 3). Vector bytes touched in all: reduce-scatter 3p+1, allreduce 5p+1, reduce 3p+3.
#include <optional>

#include "algo/families.h"
#include "algo/shares.h"

namespace coll::algo {
namespace {

class Flat {
 public:
  Flat(const PlanRequest& request, Collective what, const char* name)
      : scatters_(what == Collective::reduce_scatter),
        ranks_(request.hierarchy->ranks()),
        readers_(readers_of(what, request)),
        b_(start(what, name, request)),
        shares_(b_, what, request, ranks_, 1),
        shared_(shares_.window(b_, Buffer::none)),
        complete_(b_.flag()),
        consumed_(b_.flag()) {
    if (!scatters_) sums_.emplace(b_, Buffer::none, shares_.ring());
    if (what == Collective::allreduce) b_.synchronizing();
  }

  Plan make() {
    std::vector<Result> results;
    for (int rank = 0; rank < ranks_; ++rank) results.push_back({rank, shares_.of(rank)});
    for (int rank : b_.ranks()) {
      work(rank);
      if (std::ranges::find(readers_, rank) != readers_.end())
        collect(b_.lane(rank), shares_.all(), results, *sums_, complete_, consumed_);
    }
    return b_.finish();
  }

 private:
  void work(int rank) {
    const std::vector<int> others = all_but(ranks_, rank);
    const uint16_t mine = shares_.of(rank);
    const Operand sum = scatters_ ? own_recv() : sums_->of(rank);
    LaneBuilder lane = b_.lane(rank);
    lane.loop(shares_.all());
    wait_each(lane, others, complete_, iteration_before(shares_.depth()));
    shares_.stage(lane, rank, shared_);
    lane.post(shared_.flag, this_iteration());
    wait_each(lane, readers_, consumed_, iteration_before(shares_.depth()));
    wait_each(lane, others, shared_.flag, this_iteration());
    std::vector<Operand> sources;
    for (int q = 0; q < ranks_; ++q) sources.push_back(shares_.in(shared_, q, rank));
    lane.reduce(mine, {&sum, 1}, sources);
    lane.post(complete_, this_iteration()).end();
  }

  const bool scatters_;
  const int ranks_;
  const std::vector<int> readers_;
  Builder b_;
  const Shares shares_;
  const StagedView shared_;         // the rank's vector
  std::optional<StagedView> sums_;  // the rank's share of the result
  const uint16_t complete_, consumed_;
};

}  // namespace

Plan dpml(const PlanRequest& request, Collective what, const char* name) {
  if (request.hierarchy->ranks() == 1) return alone(what, name, request);
  return Flat(request, what, name).make();
}

Plan dpml(const PlanRequest& request, Collective what) { return dpml(request, what, "dpml"); }

}  // namespace coll::algo
