// SPDX-License-Identifier: BSD-3-Clause
// dpml_two_level: all ranks copy their vectors into shared memory at once; inside every socket each member reduces one
// slice of its socket's vectors; then the owners of a slice in all sockets combine one share of it each (YHCCL 5.1;
// Figure 4 there). This takes two synchronizations instead of one per member, for vectors that are too short for
// movement avoiding.
//
// Differences from the paper: the order is the balanced one. A socket's slice becomes one partial result for every node
// (nodes.h) that its ranks consist of, usually one, and sockets whose ranks are not consecutive count as one socket. In
// a reduce the owners write the result to the root's memory, all at the same time: if the root fetched a share from
// each rank, all other ranks would wait for it. A lane of its own copies in, so that chunks are copied while earlier
// ones pass the links.
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
  TwoLevel(const PlanRequest& request, Collective what)
      : scatters_(what == Collective::reduce_scatter),
        ranks_(request.hierarchy->ranks()),
        root_(request.root),
        sockets_(consecutive_sockets(*request.hierarchy)),
        readers_(readers_of(what, request)),
        b_(start(what, "dpml_two_level", request)),
        shares_(b_, what, request, scatters_ ? ranks_ : sockets_.slices * sockets_.count(), 1),
        shared_(shares_.window(b_, Buffer::none)),
        partial_(b_.flag()),
        complete_(b_.flag()),
        consumed_(b_.flag()) {
    if (what == Collective::allreduce) b_.synchronizing();
    if (what == Collective::reduce) output_.emplace(shares_.window(b_, Buffer::recv));
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
      stage(rank);
      work(rank);
      if (output_ && rank == root_) drain(rank);
      else if (std::ranges::find(readers_, rank) != readers_.end())
        collect(b_.lane(rank), shares_.all(), results_, shared_, complete_, consumed_);
    }
    return b_.finish();
  }

 private:
  struct Part {
    uint16_t range;
    int share;  // the rank whose block it is
  };

  // A slice consists of as many adjacent shares as there are sockets, so that the borders of both agree. In a
  // reduce-scatter it consists of the blocks of the ranks that the slice is for.
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

  // The place of a node's partial result in the slice of `owner`: it replaces the owner's vector, or that of the node's
  // first rank if the owner is not in the node.
  Operand place_of(const Ranks& node, int owner, int share) const {
    return shares_.in(shared_, node.contains(owner) ? owner : node.first, share);
  }

  void stage(int rank) {
    LaneBuilder lane = b_.lane(rank);
    lane.loop(shares_.all());
    if (scatters_) wait_each(lane, all_but(ranks_, -1), complete_, iteration_before(shares_.depth()));
    else wait_each(lane, readers_, consumed_, iteration_before(shares_.depth()));
    shares_.stage(lane, rank, shared_);
    lane.post(shared_.flag, this_iteration()).end();
  }

  // The root of a reduce: all shares of an iteration are in its receive buffer, or in its slot, from which it copies
  // them.
  void drain(int rank) {
    LaneBuilder lane = b_.lane(rank);
    lane.loop(shares_.all());
    for (const Result& result : results_) lane.wait(result.owner, complete_, this_iteration());
    lane.copy_result(shares_.all(), own_recv(), output_->of(rank), output_->staged());
    lane.post(output_->flag, this_iteration(1), output_->staged());
    lane.post(consumed_, this_iteration()).end();
  }

  void work(int rank) {
    const int own_group = sockets_.group_of[size_t(rank)], slice = sockets_.index_of[size_t(rank)];
    const bool owns_a_share = !scatters_ && slice < sockets_.slices;
    LaneBuilder lane = b_.lane(rank);
    if (output_ && rank == root_) announce_output(lane);
    else if (output_ && owns_a_share) lane.wait(root_, output_->flag, constant(1));
    lane.loop(shares_.all());
    if (slice < sockets_.slices) {
      wait_each(lane, sockets_.group(rank), shared_.flag, this_iteration());
      // Members begin with different nodes, so that not all of them read from the same ranks at the same time.
      const std::vector<Ranks>& nodes = nodes_[size_t(own_group)];
      for (const Part& part : slices_[size_t(slice)])
        for (size_t n = 0; n < nodes.size(); ++n) inside(lane, rank, nodes[(size_t(slice) + n) % nodes.size()], part);
      lane.post(partial_, this_iteration());
    }
    if (scatters_) {
      across(lane, rank, sockets_.slice_of(rank), shares_.of(rank), own_recv());
    } else if (owns_a_share) {
      if (output_) lane.wait(root_, output_->flag, this_iteration(1 - shares_.depth()));
      across(lane, rank, slice, share(slice, own_group), output_ ? output_->of(root_) : shared_.of(rank));
    }
    lane.end();
  }

  // Value n+1 of the flag: the slots of the first n iterations are free again; value 1 says that the root uses its
  // ring.
  void announce_output(LaneBuilder& lane) const {
    output_->publish(lane);
    lane.post(output_->flag, constant(1), output_->staged());
    lane.post(output_->flag, all_iterations(shares_.all(), 1), output_->direct());
  }

  void inside(LaneBuilder& lane, int rank, const Ranks& node, const Part& part) const {
    if (node.count() == 1) return;
    std::vector<Operand> sources;
    for (int source = node.first; source < node.end; ++source)
      sources.push_back(shares_.in(shared_, source, part.share));
    const Operand to = place_of(node, rank, part.share);
    lane.reduce(part.range, {&to, 1}, sources);
  }

  // Combines the sockets' results for a slice over one range.
  void across(LaneBuilder& lane, int rank, int slice, uint16_t range, Operand to) const {
    std::vector<int> owners;
    std::vector<Operand> sources;
    for (int group = 0; group < sockets_.count(); ++group) {
      owners.push_back(sockets_.member(group, slice));
      for (const Ranks& node : nodes_[size_t(group)]) sources.push_back(place_of(node, owners.back(), rank));
    }
    wait_others(lane, owners, rank, partial_, this_iteration());
    if (sources.size() == 1) {
      lane.copy(range, to, sources[0]);
    } else {
      const std::vector<Operand> boxes = boxes_ ? boxes_->of(rank) : std::vector<Operand>();
      lane.reduce(range, {&to, 1}, fold_nodes(lane, range, steps_, sources, boxes));
    }
    lane.post(complete_, this_iteration());
  }

  const bool scatters_;
  const int ranks_, root_;
  const Sockets sockets_;
  const std::vector<int> readers_;
  Builder b_;
  const Shares shares_;
  const StagedView shared_;           // the rank's vector, then the results of its slice and of its share of the slice
  std::optional<StagedView> output_;  // reduce: the root's result
  const uint16_t partial_, complete_, consumed_;
  std::vector<std::vector<Ranks>> nodes_;  // by socket
  std::vector<Ranks> all_nodes_;
  std::vector<FoldStep> steps_;  // the fold across all nodes of all sockets
  std::optional<Boxes> boxes_;
  std::vector<std::vector<Part>> slices_;
  std::vector<Result> results_;
};

}  // namespace

bool has_consecutive_sockets(const PlanRequest& request) {
  return has_levels(request) && Sockets::of(*request.hierarchy).are_consecutive();
}

Plan dpml_two_level(const PlanRequest& request, Collective what) {
  if (request.hierarchy->ranks() == 1) return alone(what, "dpml_two_level", request);
  return TwoLevel(request, what).make();
}

}  // namespace coll::algo
