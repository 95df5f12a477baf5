// SPDX-License-Identifier: BSD-3-Clause
// dpml_two_level: everybody copies its vector into shared memory at once, then the reduction is shared out: inside every
// socket a member reduces one slice of its socket's vectors, then the owners of a slice in all sockets combine a share
// of it each (YHCCL 5.1; Figure 4 there). Two synchronizations instead of one per member, for vectors too short for
// movement avoiding. The members' vectors of one socket combine in one step, in rank order.
#include "algo/common.h"
#include "algo/families.h"
#include "algo/groups.h"

namespace coll::algo {
namespace {

class TwoLevel {
 public:
  TwoLevel(const Request& request, Collective what)
      : everywhere_(what == Collective::allreduce),
        root_(request.root),
        sockets_(Sockets::of(*request.hierarchy)),
        ring_(ring_of(request)),
        b_(start(what, "dpml_two_level", request)),
        shared_(b_, Buffer::none, ring_),
        partial_(b_.flag()),
        complete_(sockets_.count() == 1 ? partial_ : b_.flag()),
        taken_(b_.flag()),
        chunks_(b_.range({.chunk_bytes = ring_.chunk_bytes})) {
    b_.parameter("chunk", ring_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
    if (sockets_.count() > 1) b_.tree_order();
    if (everywhere_) b_.synchronizing();
    for (int slice = 0; slice < sockets_.slices; ++slice) {
      slices_.push_back(shares(slice, 0, sockets_.count()));
      for (int group = 0; group < sockets_.count(); ++group) shares_.push_back(shares(slice, group, 1));
    }
    if (everywhere_) readers_ = all_but(request.hierarchy->ranks(), -1);
    else readers_ = {root_};
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      work(rank);
      if (everywhere_ || rank == root_) collect(rank);
    }
    return b_.finish();
  }

 private:
  // A slice is as many neighbouring shares as there are sockets, so that the borders of both agree.
  uint16_t shares(int slice, int first, int count) {
    return b_.range({.sub = uint16_t(slice * sockets_.count() + first),
                     .subs = uint16_t(sockets_.slices * sockets_.count()),
                     .span = uint16_t(count),
                     .chunk_bytes = ring_.chunk_bytes});
  }
  uint16_t share(int slice, int group) const { return shares_[size_t(slice * sockets_.count() + group)]; }

  void work(int rank) {
    const std::vector<int>& group = sockets_.group(rank);
    const int own_group = sockets_.group_of[size_t(rank)], slice = sockets_.index_of[size_t(rank)];
    const Operand own = shared_.of(rank);
    LaneBuilder lane = b_.lane(rank);
    lane.loop(chunks_);
    wait_each(lane, readers_, taken_, pass_before(ring_.depth));
    lane.copy(chunks_, own, own_send());
    lane.post(shared_.flag, this_pass());
    if (slice < sockets_.slices) {
      combine(lane, rank, group, shared_.flag, slices_[size_t(slice)]);
      lane.post(partial_, this_pass());
      if (sockets_.count() > 1) {
        std::vector<int> owners;
        for (int g = 0; g < sockets_.count(); ++g) owners.push_back(sockets_.member(g, slice));
        combine(lane, rank, owners, partial_, share(slice, own_group));
        lane.post(complete_, this_pass());
      }
    }
    lane.end();
  }

  // The same range of several ranks' staging, into mine.
  void combine(LaneBuilder& lane, int rank, const std::vector<int>& ranks, uint16_t ready, uint16_t range) {
    const Operand to[] = {shared_.of(rank)};
    std::vector<Operand> sources;
    for (int source : ranks) {
      if (source != rank) lane.wait(source, ready, this_pass());
      sources.push_back(shared_.of(source));
    }
    if (sources.size() > 1) lane.reduce(range, to, sources);
  }

  void collect(int rank) {
    LaneBuilder lane = b_.lane(rank);
    lane.loop(chunks_);
    for (int slice = 0; slice < sockets_.slices; ++slice)
      for (int group = 0; group < sockets_.count(); ++group) {
        const int owner = sockets_.member(group, slice);
        lane.wait(owner, complete_, this_pass());
        lane.copy(share(slice, group), own_recv(), shared_.of(owner), {}, false);
      }
    lane.post(taken_, this_pass()).end();
  }

  const bool everywhere_;
  const int root_;
  const Sockets sockets_;
  const Ring ring_;
  Builder b_;
  const Window shared_;  // my vector, then the results of my slice and of my share of it
  const uint16_t partial_, complete_, taken_, chunks_;
  std::vector<uint16_t> slices_, shares_;
  std::vector<int> readers_;
};

}  // namespace

Plan dpml_two_level(const Request& request, Collective what) {
  if (request.hierarchy->ranks() == 1) return alone(what, "dpml_two_level", request);
  return TwoLevel(request, what).make();
}

}  // namespace coll::algo
