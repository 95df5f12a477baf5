// SPDX-License-Identifier: BSD-3-Clause
// dpml_two_level: all ranks copy their vectors into shared memory at once; inside every socket a member reduces one slice
// of its socket's vectors; then the owners of a slice in all sockets combine a share of it each (YHCCL 5.1; Figure 4
// there). Two synchronizations instead of one per member, for vectors too short for movement avoiding.
//
// What differs from the text: the order is the balanced one. A socket's slice becomes one partial result for every node
// (nodes.h) that its ranks consist of, most often one, and sockets whose ranks are not consecutive count as one.
#include <optional>

#include "algo/families.h"
#include "algo/fold.h"
#include "algo/groups.h"
#include "algo/shares.h"

namespace coll::algo {
namespace {

Sockets consecutive_sockets(const topo::Hierarchy& hierarchy) {
  Sockets sockets = Sockets::of(hierarchy);
  return sockets.are_consecutive() ? sockets : Sockets::one(hierarchy.ranks());
}

class TwoLevel {
 public:
  TwoLevel(const Request& request, Collective what)
      : scatters_(what == Collective::reduce_scatter),
        ranks_(request.hierarchy->ranks()),
        sockets_(consecutive_sockets(*request.hierarchy)),
        readers_(readers_of(what, request)),
        b_(start(what, "dpml_two_level", request)),
        shares_(b_, what, request, scatters_ ? ranks_ : sockets_.slices * sockets_.count(), 1),
        shared_(shares_.window(b_, Buffer::none)),
        partial_(b_.flag()),
        complete_(sockets_.count() == 1 && !scatters_ ? partial_ : b_.flag()),
        taken_(b_.flag()) {
    if (what == Collective::allreduce) b_.synchronizing();
    for (const std::vector<int>& group : sockets_.groups) {
      nodes_.push_back(nodes_of({group.front(), group.back() + 1}, ranks_));
      all_nodes_.insert(all_nodes_.end(), nodes_.back().begin(), nodes_.back().end());
    }
    if (all_nodes_.size() > 1) steps_ = fold_steps({0, ranks_}, all_nodes_);
    if (const int boxes = boxes_of(steps_); boxes > 0)
      boxes_.emplace(Boxes::exactly(boxes, b_, shares_.ring().chunk_bytes));
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

  // Where the owner of a slice has what a node comes to: in place of its own vector, or of the first one.
  Operand place_of(const Ranks& node, int owner, int share) const {
    return shares_.in(shared_, node.contains(owner) ? owner : node.first, share);
  }

  void work(int rank) {
    const int own_group = sockets_.group_of[size_t(rank)], slice = sockets_.index_of[size_t(rank)];
    LaneBuilder lane = b_.lane(rank);
    lane.loop(shares_.all());
    if (scatters_) wait_each(lane, all_but(ranks_, rank), complete_, pass_before(shares_.depth()));
    else wait_each(lane, readers_, taken_, pass_before(shares_.depth()));
    shares_.stage(lane, rank, shared_);
    lane.post(shared_.flag, this_pass());
    if (slice < sockets_.slices) {
      wait_others(lane, sockets_.group(rank), rank, shared_.flag, this_pass());
      for (const Part& part : slices_[size_t(slice)])
        for (const Ranks& node : nodes_[size_t(own_group)]) inside(lane, rank, node, part);
      lane.post(partial_, this_pass());
    }
    if (scatters_) {
      across(lane, rank, sockets_.slice_of(rank), shares_.of(rank), own_recv());
    } else if (slice < sockets_.slices && sockets_.count() > 1) {
      across(lane, rank, slice, share(slice, own_group), shared_.of(rank));
    }
    lane.end();
  }

  void inside(LaneBuilder& lane, int rank, const Ranks& node, const Part& part) const {
    if (node.count() == 1) return;
    std::vector<Operand> sources;
    for (int source = node.first; source < node.end; ++source)
      sources.push_back(shares_.in(shared_, source, part.share));
    const Operand to = place_of(node, rank, part.share);
    lane.reduce(part.range, {&to, 1}, sources);
  }

  // One range of the sockets' results for a slice.
  void across(LaneBuilder& lane, int rank, int slice, uint16_t range, Operand to) const {
    std::vector<int> owners;
    std::vector<Operand> sources;
    for (int group = 0; group < sockets_.count(); ++group) {
      owners.push_back(sockets_.member(group, slice));
      for (const Ranks& node : nodes_[size_t(group)]) sources.push_back(place_of(node, owners.back(), rank));
    }
    wait_others(lane, owners, rank, partial_, this_pass());
    if (sources.size() == 1) {
      lane.copy(range, to, sources[0]);
    } else {
      const std::vector<Operand> boxes = boxes_ ? boxes_->of(rank) : std::vector<Operand>();
      lane.reduce(range, {&to, 1}, fold_nodes(lane, range, steps_, sources, boxes));
    }
    lane.post(complete_, this_pass());
  }

  const bool scatters_;
  const int ranks_;
  const Sockets sockets_;
  const std::vector<int> readers_;
  Builder b_;
  const Shares shares_;
  const Window shared_;  // my vector, then the results of my slice and of my share of it
  const uint16_t partial_, complete_, taken_;
  std::vector<std::vector<Ranks>> nodes_;  // by socket
  std::vector<Ranks> all_nodes_;
  std::vector<FoldStep> steps_;  // across all nodes of all sockets
  std::optional<Boxes> boxes_;
  std::vector<std::vector<Part>> slices_;
  std::vector<Result> results_;
};

}  // namespace

bool has_consecutive_sockets(const Request& request) {
  return has_levels(request) && Sockets::of(*request.hierarchy).are_consecutive();
}

Plan dpml_two_level(const Request& request, Collective what) {
  if (request.hierarchy->ranks() == 1) return alone(what, "dpml_two_level", request);
  return TwoLevel(request, what).make();
}

}  // namespace coll::algo
