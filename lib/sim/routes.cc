// SPDX-License-Identifier: BSD-3-Clause
#include "sim/routes.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "model/cost.h"

namespace coll::sim {

using model::Mechanism;
using plan::Buffer;
using plan::Extent;
using plan::Kind;
using plan::LaneState;
using plan::Operand;
using plan::Space;
using plan::Step;
using topo::Distance;

namespace {

// Placeholders for a link: the domain has no limit; the domain has one, but the network has no link for it yet.
constexpr uint32_t unlimited = UINT32_MAX, unmade = UINT32_MAX - 1;

double us_per_byte(double gbs) { return 1 / model::bytes_per_us(gbs); }

}  // namespace

void Routes::want(std::vector<uint32_t>& of, int index, double gbs) {
  const size_t at = size_t(std::max(index, 0));
  if (of.size() <= at) of.resize(at + 1, unlimited);
  if (gbs > 0) of[at] = unmade;
}

Routes::Routes(const plan::Layout& layout, const topo::Hierarchy& hierarchy, const model::Table& table,
               const Options& options, Network& network)
    : layout_(layout),
      plan_(layout.plan()),
      hierarchy_(hierarchy),
      table_(table),
      access_(options.access),
      kernel_(options.kernel),
      buffer_times_(options.buffer_times),
      vector_bytes_(buffer_times_ * double(layout.count() * layout.element_bytes())),
      work_set_(0) {
  double longest = 0;
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    const double received = buffer_bytes(Buffer::recv, rank), sent = buffer_bytes(Buffer::send, rank);
    longest = std::max(longest, received);
    work_set_ += received + sent;
    const double target = layout.has_recv(rank) ? received : 0, source = layout.has_send(rank) ? sent : 0;
    own_bytes_.push_back(layout.aliased(rank) ? std::max(target, source) : target + source);
  }
  stores_to_memory_ = longest > model::result_cache_bytes(table);
  streams_ = model::streams(table, work_set_);

  std::map<int, int> on_core;
  for (const topo::Place& place : hierarchy.places()) {
    want(l3_links_, place.l3 >= 0 ? place.l3 : place.numa, table.links.l3_gbs);
    want(memory_links_, place.numa, table.links.memory_gbs);
    want(numa_links_, place.numa, table.links.numa_gbs);
    want(socket_links_, place.package, table.links.socket_gbs);
    if (place.core >= 0) on_core[place.core]++;
  }
  const double core_gbs = table.links.core_gbs > 0 ? table.links.core_gbs : table.copy.alone_gbs;
  for (const topo::Place& place : hierarchy.places()) {
    core_shared_.push_back(place.core >= 0 && on_core[place.core] > 1);
    if (core_shared_.back()) want(core_links_, place.core, core_gbs);
  }
  const auto make = [&](std::vector<uint32_t>& links, double gbs) {
    for (uint32_t& made : links)
      if (made == unmade) made = network.add_link(model::bytes_per_us(gbs));
  };
  make(l3_links_, table.links.l3_gbs);
  make(memory_links_, table.links.memory_gbs);
  make(numa_links_, table.links.numa_gbs);
  make(socket_links_, table.links.socket_gbs);
  make(core_links_, core_gbs);

  filled_by_peers_.resize(size_t(plan_.ranks) * plan_.views.size());
  for (int rank = 0; rank < plan_.ranks; ++rank)
    for (const plan::Lane& lane : plan_.program(rank).lanes)
      for (const Step& step : lane.steps) {
        if (step.kind != Kind::copy && step.kind != Kind::reduce) continue;
        const Operand* to = plan_.program(rank).operands.data() + step.operand;
        for (int d = 0; d < step.destinations; ++d)
          if (to[d].space == Space::view && to[d].rank != rank)
            filled_by_peers_[size_t(to[d].rank) * plan_.views.size() + to[d].view] = true;
      }
  for (int rank = 0; rank < plan_.ranks; ++rank)
    for (const plan::View& view : plan_.views)
      decisions_.push_back(direct(view, rank) ? plan::Decision::direct : plan::Decision::staged);
}

double Routes::buffer_bytes(Buffer buffer, int rank) const {
  return buffer_times_ * double(layout_.cells(buffer, rank) * layout_.element_bytes());
}

bool Routes::direct(const plan::View& view, int owner) const {
  return access_ != plan::AccessMode::staged && view.buffer != Buffer::none && layout_.has(view.buffer, owner) &&
         vector_bytes_ >= table_.thresholds.direct_bytes;
}

void Routes::add_links(std::vector<Use>& uses, int from, Distance distance, bool in_cache) const {
  const topo::Place& place = hierarchy_.place(from);
  const auto add = [&](const std::vector<uint32_t>& links, int index, double weight = 1) {
    const uint32_t found = links[size_t(std::max(index, 0))];
    if (found != unlimited) uses.push_back({found, weight});
  };
  if (!in_cache) add(memory_links_, place.numa);
  else if (distance > Distance::l3) add(l3_links_, place.l3 >= 0 ? place.l3 : place.numa);
  if (distance >= Distance::socket) add(numa_links_, place.numa);
  if (distance >= Distance::node) add(socket_links_, place.package);
}

bool Routes::cached(const Operand& operand) const {
  Buffer buffer = operand.space == Space::recv ? Buffer::recv : Buffer::send;
  if (operand.space == Space::view) {
    const size_t view = size_t(operand.rank) * plan_.views.size() + operand.view;
    if (decisions_[view] == plan::Decision::staged) return true;
    buffer = plan_.views[operand.view].buffer;
  }
  // The collective wrote the receive buffer itself, chunk by chunk, a moment ago.
  if (buffer == Buffer::recv) return true;
  const int owner = operand.space == Space::view ? operand.rank : plan_.root;
  const double input = buffer_times_ * double(layout_.cells(Buffer::send, owner) * layout_.element_bytes());
  return std::max(input, vector_bytes_) <= model::own_cache_bytes(table_);
}

// Whether the operand is a peer's receive buffer, not one of its slots.
bool Routes::is_result(const Operand& operand) const {
  const size_t view = size_t(operand.rank) * plan_.views.size() + operand.view;
  return decisions_[view] == plan::Decision::direct && plan_.views[operand.view].buffer == Buffer::recv;
}

double Routes::load_us(const Operand& operand, const Remote& peer, int rank, bool combines, double chunk_bytes) const {
  const size_t view = operand.space == Space::view ? size_t(operand.rank) * plan_.views.size() + operand.view : 0;
  const bool is_slot = operand.space == Space::view && decisions_[view] == plan::Decision::staged;
  // A writer is ahead of its reader by as many slots as the ring has, and for each chunk it has touched the source too.
  const double bytes = is_slot ? model::ring_bytes(plan_.views[operand.view].depth, vector_bytes_, chunk_bytes)
                               : own_bytes_[size_t(peer.owner)];
  const model::CacheRates rates = rates_at(table_, bytes);
  if (peer.owner == rank && is_slot && filled_by_peers_[view])
    return us_per_byte(combines ? rates.combine_fetch_gbs : rates.fetch_gbs);
  if (peer.owner == rank) return us_per_byte(combines ? rates.combine_gbs : rates.load_gbs);
  const model::ByDistance& gbs = table_.of(peer.mechanism).bandwidth_gbs;
  const double farther = gbs[Distance::l3] / gbs[peer.distance];
  return us_per_byte(combines ? rates.combine_fetch_gbs : rates.fetch_gbs) * farther;
}

double Routes::store_us(const Operand& operand, const Remote& peer, int rank, double bytes) const {
  if (operand.space != Space::view) return us_per_byte(rates_at(table_, own_bytes_[size_t(rank)]).store_gbs);
  const model::ByDistance& gbs = table_.of(Mechanism::shared_memory).bandwidth_gbs;
  return us_per_byte(take_gbs(table_, bytes)) * gbs[Distance::l3] / gbs[peer.distance];
}

double Routes::kernel_gbs(const Remote& peer, int rank) const {
  const model::ByDistance& gbs = table_.of(peer.mechanism).bandwidth_gbs;
  if (!by_size() || peer.mechanism != Mechanism::cma) return gbs[peer.distance];
  const double touched = std::max(own_bytes_[size_t(peer.owner)], own_bytes_[size_t(rank)]);
  const double near = rates_at(table_, touched).kernel_gbs;
  return near > 0 ? near * gbs[peer.distance] / gbs[Distance::l3] : gbs[peer.distance];
}

Transfer Routes::transfer(const LaneState& lane, const Step& step, const Extent& extent) const {
  const Operand* to = plan_.program(lane.rank).operands.data() + step.operand;
  const Operand* from = to + step.destinations;
  const auto cell = [&](const Operand& operand) {
    return layout_.find<false>(operand, lane.rank, extent, lane.index, decisions_).cell;
  };
  Transfer made;
  int destinations = step.destinations;
  if (step.sources == 1)
    for (int d = 0; d < step.destinations; ++d) destinations -= cell(to[d]) == cell(from[0]);
  if (destinations == 0) return made;
  const uint64_t length = extent.length * step.blocks;
  made.bytes = double(length * layout_.element_bytes());

  const auto remote = [&](const Operand& operand) {
    const bool peers = operand.space == Space::view && operand.rank != lane.rank;
    if (!peers) return Remote{lane.rank, false, Distance::self, Mechanism::shared_memory};
    const size_t view = size_t(operand.rank) * plan_.views.size() + operand.view;
    const bool is_direct = decisions_[view] == plan::Decision::direct;
    const bool by_kernel = is_direct && access_ == plan::AccessMode::remote;
    Remote made{operand.rank, by_kernel, hierarchy_.distance(operand.rank, lane.rank),
                by_kernel   ? kernel_
                : is_direct ? Mechanism::mapped
                            : Mechanism::shared_memory};
    if (by_kernel) made.buffer_bytes = buffer_bytes(plan_.views[operand.view].buffer, operand.rank);
    return made;
  };
  Route& route = made.route;
  const bool stream = streams_ && step.kind == Kind::copy && !step.reused;
  const double local = us_per_byte((stream ? table_.copy_non_temporal : table_.copy).alone_gbs);
  // The reduction reads from the cache what a kernel-assisted copy has just written.
  const double combine =
      us_per_byte(by_size() ? rates_at(table_, 3 * made.bytes).combine_gbs : table_.reduce.alone_gbs);
  const auto add_access = [&](const Remote& peer, double& us) {
    const model::Access& access = table_.of(peer.mechanism);
    us = us_per_byte(peer.kernel ? kernel_gbs(peer, lane.rank) : access.bandwidth_gbs[peer.distance]);
    made.startup_us += access.startup_us[peer.distance];
    if (!peer.kernel || access.page_us == 0) return;
    made.kernel = true;
    const double pages = std::ceil(made.bytes / model::page_bytes(access, table_.huge_pages, peer.buffer_bytes));
    route.locks.push_back({uint32_t(peer.owner), access.page_us * pages / made.bytes, 1.0 / step.sources});
  };

  // Rates by size cover the loads and stores, including the first lines; a kernel-assisted copy does both at its own
  // rate.
  bool kernel_copies = false;
  for (int i = 0; step.kind == Kind::copy && i < step.destinations + step.sources; ++i)
    kernel_copies |= remote(to[i]).kernel;
  const bool sized = by_size() && !kernel_copies;
  double loads = 0, stores = 0;
  for (int s = 0; s < step.sources; ++s) {
    const Remote peer = remote(from[s]);
    if (sized && !peer.kernel) {
      loads += load_us(from[s], peer, lane.rank, step.kind == Kind::reduce, made.bytes);
      add_links(route.uses, peer.owner, peer.distance, cached(from[s]));
      continue;
    }
    // The rate by size of a kernel-assisted copy covers the whole copy, including the caller's side.
    double us = step.kind == Kind::reduce ? combine : by_size() && kernel_copies ? 0 : local;
    if (peer.owner != lane.rank) {
      double fetch = 0;
      add_access(peer, fetch);
      // A copy moves as fast as it reads; a reduction from a kernel-assisted copy starts after that copy.
      us = step.kind == Kind::copy ? fetch : peer.kernel ? fetch + combine : std::max(fetch, combine);
    }
    route.us_per_byte += us;
    add_links(route.uses, peer.owner, peer.distance, cached(from[s]));
  }
  for (int d = 0; d < destinations; ++d) {
    const Remote peer = remote(to[d]);
    if (sized && !peer.kernel) {
      stores += store_us(to[d], peer, lane.rank, made.bytes);
    } else if (peer.owner != lane.rank) {
      double store = 0;
      add_access(peer, store);
      const bool first_of_copy = step.kind == Kind::copy && d == 0;
      route.us_per_byte = first_of_copy ? std::max(route.us_per_byte, store) : route.us_per_byte + store;
      add_links(route.uses, lane.rank, peer.distance, true);
    } else if (d > 0) {
      route.us_per_byte += local / 2;  // only the stores
    }
    const bool to_result = to[d].space == Space::recv || (to[d].space == Space::view && is_result(to[d]));
    if (stores_to_memory_ && to_result) {
      const uint32_t memory = memory_links_[size_t(std::max(hierarchy_.place(peer.owner).numa, 0))];
      if (memory != unlimited) route.uses.push_back({memory, stream ? 1.0 : 2.0});  // an ordinary store needs an RFO
    }
  }
  if (stream && sized) loads = 0, stores = local;
  route.us_per_byte += std::max(loads, stores) + table_.overlap * std::min(loads, stores);
  if (core_shared_[lane.rank]) route.uses.push_back({core_links_[size_t(hierarchy_.place(lane.rank).core)], 1});
  // Several sources behind one link become one use of it.
  std::ranges::sort(route.uses);
  size_t kept = 0;
  for (size_t i = 1; i < route.uses.size(); ++i)
    if (route.uses[i].link == route.uses[kept].link) route.uses[kept].weight += route.uses[i].weight;
    else route.uses[++kept] = route.uses[i];
  if (!route.uses.empty()) route.uses.resize(kept + 1);

  const Remote source = remote(from[0]);
  if (step.kind == Kind::copy && source.owner != lane.rank && source.distance > Distance::l3 &&
      hierarchy_.place(lane.rank).l3 >= 0)
    made.fetched = {cell(from[0]), length, lane.index, hierarchy_.place(lane.rank).l3};
  return made;
}

void Routes::fetch_below(Transfer& made, int reader) const {
  const model::Access& near = table_.of(access_ == plan::AccessMode::remote && made.kernel ? kernel_
                                        : access_ == plan::AccessMode::direct              ? Mechanism::mapped
                                                                                           : Mechanism::shared_memory);
  std::erase_if(made.route.uses, [&](const Use& use) { return !keeps(use.link, reader); });
  made.route.us_per_byte = us_per_byte(near.bandwidth_gbs[Distance::l3]);
  made.startup_us = near.startup_us[Distance::l3];
}

bool Routes::keeps(uint32_t link, int reader) const {
  const auto holds = [&](const std::vector<uint32_t>& links) { return std::ranges::count(links, link) > 0; };
  // The reader's own stores and its own core.
  return holds(core_links_) ||
         (holds(memory_links_) && link == memory_links_[size_t(std::max(hierarchy_.place(reader).numa, 0))]);
}

}  // namespace coll::sim
