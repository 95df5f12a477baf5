// SPDX-License-Identifier: BSD-3-Clause
// DPML: everybody copies its vector into shared memory at once, then the reduction is shared out.
//
//   dpml            each rank adds up one share of all vectors, in rank order (Bayatpour et al. 2017). Vector bytes
//                   touched in all: reduce-scatter 5p-1, allreduce 7p-1, reduce 5p+1 (YHCCL Tables 1 to 3).
//   dpml_two_level  inside every socket a member reduces one slice of its socket's vectors, in one step; then the owners
//                   of a slice in all sockets combine a share of it each (YHCCL 5.1; Figure 4 there). Two
//                   synchronizations instead of one per member, for vectors too short for movement avoiding.
#include <optional>

#include "algo/families.h"
#include "algo/groups.h"
#include "algo/shares.h"

namespace coll::algo {
namespace {

std::vector<int> readers_of(Collective what, const Request& request) {
  if (what == Collective::allreduce) return all_but(request.hierarchy->ranks(), -1);
  if (what == Collective::reduce) return {request.root};
  return {};
}

class Flat {
 public:
  Flat(const Request& request, Collective what, const char* name)
      : scatters_(what == Collective::reduce_scatter),
        ranks_(request.hierarchy->ranks()),
        readers_(readers_of(what, request)),
        b_(start(what, name, request)),
        shares_(b_, what, request, ranks_, 1),
        shared_(shares_.window(b_, Buffer::none)),
        complete_(b_.flag()),
        taken_(b_.flag()) {
    if (!scatters_) sums_.emplace(b_, Buffer::none, shares_.ring());
    if (what == Collective::allreduce) b_.synchronizing();
  }

  Plan make() {
    std::vector<Result> results;
    for (int rank = 0; rank < ranks_; ++rank) results.push_back({rank, shares_.of(rank)});
    for (int rank : b_.ranks()) {
      work(rank);
      if (std::ranges::find(readers_, rank) != readers_.end())
        collect(b_.lane(rank), shares_.all(), results, *sums_, complete_, taken_);
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
    wait_each(lane, others, complete_, pass_before(shares_.depth()));
    shares_.stage(lane, rank, shared_);
    lane.post(shared_.flag, this_pass());
    wait_each(lane, readers_, taken_, pass_before(shares_.depth()));
    for (int q = 0; q < ranks_; ++q) {
      const Operand input = shares_.in(shared_, q, rank), both[] = {sum, input};
      if (q != rank) lane.wait(q, shared_.flag, this_pass());
      if (q == 0) lane.copy(mine, sum, input);
      else lane.reduce(mine, {&sum, 1}, both);
    }
    lane.post(complete_, this_pass()).end();
  }

  const bool scatters_;
  const int ranks_;
  const std::vector<int> readers_;
  Builder b_;
  const Shares shares_;
  const Window shared_;         // my vector
  std::optional<Window> sums_;  // my share of the result
  const uint16_t complete_, taken_;
};

class TwoLevel {
 public:
  TwoLevel(const Request& request, Collective what)
      : scatters_(what == Collective::reduce_scatter),
        ranks_(request.hierarchy->ranks()),
        sockets_(Sockets::of(*request.hierarchy)),
        readers_(readers_of(what, request)),
        b_(start(what, "dpml_two_level", request)),
        shares_(b_, what, request, scatters_ ? ranks_ : sockets_.slices * sockets_.count(), 1),
        shared_(shares_.window(b_, Buffer::none)),
        partial_(b_.flag()),
        complete_(sockets_.count() == 1 && !scatters_ ? partial_ : b_.flag()),
        taken_(b_.flag()) {
    if (sockets_.count() > 1) b_.tree_order();
    if (what == Collective::allreduce) b_.synchronizing();
    for (int slice = 0; slice < sockets_.slices; ++slice) {
      slices_.push_back(make_slice(slice));
      for (int group = 0; group < sockets_.count() && !scatters_; ++group)
        results_.push_back({sockets_.member(group, slice), share(slice, group)});
    }
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      work(rank);
      if (std::ranges::find(readers_, rank) != readers_.end())
        collect(b_.lane(rank), shares_.all(), results_, shared_, complete_, taken_);
    }
    return b_.finish();
  }

 private:
  struct Part {
    uint16_t range;
    int share;  // whose block it is
  };

  // A slice is as many neighbouring shares as there are sockets, so that the borders of both agree; or the blocks of
  // the ranks that the slice is for.
  std::vector<Part> make_slice(int slice) {
    const auto sockets = uint16_t(sockets_.count());
    if (!scatters_)
      return {{b_.range({.sub = uint16_t(slice * sockets),
                         .subs = uint16_t(sockets_.slices * sockets),
                         .span = sockets,
                         .chunk_bytes = shares_.ring().chunk_bytes}),
               0}};
    std::vector<Part> blocks;
    for (int rank = 0; rank < ranks_; ++rank)
      if (sockets_.slice_of(rank) == slice) blocks.push_back({shares_.of(rank), rank});
    return blocks;
  }
  uint16_t share(int slice, int group) const { return shares_.of(slice * sockets_.count() + group); }

  void work(int rank) {
    const int own_group = sockets_.group_of[size_t(rank)], slice = sockets_.index_of[size_t(rank)];
    LaneBuilder lane = b_.lane(rank);
    lane.loop(shares_.all());
    if (scatters_) wait_each(lane, all_but(ranks_, rank), complete_, pass_before(shares_.depth()));
    else wait_each(lane, readers_, taken_, pass_before(shares_.depth()));
    shares_.stage(lane, rank, shared_);
    lane.post(shared_.flag, this_pass());
    if (slice < sockets_.slices) {
      await(lane, rank, sockets_.group(rank), shared_.flag);
      for (const Part& part : slices_[size_t(slice)])
        combine(lane, sockets_.group(rank), part.range, part.share, shares_.in(shared_, rank, part.share));
      lane.post(partial_, this_pass());
    }
    if (scatters_) {
      across(lane, rank, sockets_.slice_of(rank), shares_.of(rank), own_recv());
    } else if (slice < sockets_.slices && sockets_.count() > 1) {
      across(lane, rank, slice, share(slice, own_group), shared_.of(rank));
    }
    lane.end();
  }

  // One range of the sockets' results for a slice.
  void across(LaneBuilder& lane, int rank, int slice, uint16_t range, Operand to) {
    std::vector<int> owners;
    for (int group = 0; group < sockets_.count(); ++group) owners.push_back(sockets_.member(group, slice));
    await(lane, rank, owners, partial_);
    combine(lane, owners, range, rank, to);
    lane.post(complete_, this_pass());
  }

  void await(LaneBuilder& lane, int rank, const std::vector<int>& ranks, uint16_t ready) const {
    for (int source : ranks)
      if (source != rank) lane.wait(source, ready, this_pass());
  }
  void combine(LaneBuilder& lane, const std::vector<int>& ranks, uint16_t range, int share, Operand to) const {
    std::vector<Operand> sources;
    for (int source : ranks) sources.push_back(shares_.in(shared_, source, share));
    if (sources.size() > 1) lane.reduce(range, {&to, 1}, sources);
    else if (to.space != plan::Space::view) lane.copy(range, to, sources[0]);
  }

  const bool scatters_;
  const int ranks_;
  const Sockets sockets_;
  const std::vector<int> readers_;
  Builder b_;
  const Shares shares_;
  const Window shared_;  // my vector, then the results of my slice and of my share of it
  const uint16_t partial_, complete_, taken_;
  std::vector<std::vector<Part>> slices_;
  std::vector<Result> results_;
};

}  // namespace

Plan dpml(const Request& request, Collective what, const char* name) {
  if (request.hierarchy->ranks() == 1) return alone(what, name, request);
  return Flat(request, what, name).make();
}

Plan dpml(const Request& request, Collective what) { return dpml(request, what, "dpml"); }

Plan dpml_two_level(const Request& request, Collective what) {
  if (request.hierarchy->ranks() == 1) return alone(what, "dpml_two_level", request);
  return TwoLevel(request, what).make();
}

}  // namespace coll::algo
