// SPDX-License-Identifier: BSD-3-Clause
#include "model/cost.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "algo/nodes.h"
#include "model/outgoing.h"

namespace coll::model {

using topo::Distance;

namespace {

// Counts the streams of one owner, reader by reader.
class Counter {
 public:
  Counter(const topo::Hierarchy& hierarchy, int owner, bool same_data)
      : hierarchy_(hierarchy), owner_(owner), same_data_(same_data) {
    if (same_data) served_.insert(hierarchy.place(owner).l3);
  }
  const Streams& with(int reader) {
    ++count_.readers;
    const int l3 = hierarchy_.place(reader).l3;
    if (same_data_ && l3 >= 0 && !served_.insert(l3).second) return count_;
    const Distance distance = hierarchy_.distance(owner_, reader);
    count_.source++;
    count_.numa += distance >= Distance::socket;
    count_.socket += distance >= Distance::node;
    return count_;
  }

 private:
  const topo::Hierarchy& hierarchy_;
  const int owner_;
  const bool same_data_;
  std::set<int> served_;
  Streams count_;
};

Streams streams(const topo::Hierarchy& hierarchy, int owner, std::span<const int> readers, bool same_data) {
  Counter counter(hierarchy, owner, same_data);
  Streams count;
  for (int reader : readers) count = counter.with(reader);
  return count;
}

std::vector<Streams> to_peers_of_first(const topo::Hierarchy& hierarchy, bool same_data) {
  Counter counter(hierarchy, 0, same_data);
  std::vector<Streams> made(1);
  for (int rank = 1; rank < hierarchy.ranks(); ++rank) made.push_back(counter.with(rank));
  return made;
}

std::vector<Hop> hops_of(const topo::Hierarchy& hierarchy) {
  const topo::Tree tree = hierarchy.tree_for_root(0);
  std::vector<Streams> through(size_t(hierarchy.ranks()));  // by parent
  std::set<Hop> made;
  for (int rank = 1; rank < hierarchy.ranks(); ++rank) {
    const int parent = tree.parent(rank);
    Streams& from = through[size_t(parent)];
    if (from.readers == 0) from = streams(hierarchy, parent, tree.children(parent), true);
    made.insert({.level = tree.parent_level(rank),
                 .distance = hierarchy.distance(parent, rank),
                 .from_root = parent == 0,
                 .forwards = tree.levels_led(rank) > 0,
                 .through = from});
  }
  return {made.begin(), made.end()};
}

std::vector<std::vector<FoldGroup>> folds_of(const topo::Hierarchy& hierarchy) {
  const algo::Partials partials(hierarchy, 0);
  std::vector<std::vector<FoldGroup>> made;
  for (int level = 0; level < partials.levels(); ++level) {
    std::set<FoldGroup> groups;
    for (int index = 0; index < partials.groups(level); ++index) {
      if (partials.made_in(level, index).empty()) continue;
      FoldGroup group;
      const std::vector<int> members = partials.members(level, index);
      group.members = int(members.size());
      for (int member : members)
        group.distance = std::max(group.distance, hierarchy.distance(partials.leader(level, index), member));
      for (int partial : partials.made_in(level, index)) group.sources.push_back(int(partials[partial].sources.size()));
      std::ranges::sort(group.sources);
      groups.insert(std::move(group));
    }
    if (!groups.empty()) made.emplace_back(groups.begin(), groups.end());
  }
  return made;
}

}  // namespace

Setting::Setting(const Table& table, const topo::Hierarchy& hierarchy, Mechanism mechanism)
    : table_(&table), hierarchy_(&hierarchy), mechanism_(mechanism) {
  const int p = ranks();
  source_page_bytes_ = target_page_bytes_ = access().page_bytes;
  auto known = std::make_shared<Known>();
  for (topo::Counted counted : {topo::Counted::ranks, topo::Counted::l3s}) {
    const topo::Hierarchy& small = known->small_groups[size_t(counted)] = topo::in_small_groups(hierarchy, counted);
    known->hops_of_small[size_t(counted)] = hops_of(small);
  }
  known->hops = hops_of(hierarchy);
  known->folds = folds_of(hierarchy);
  known->same = to_peers_of_first(hierarchy, true);
  known->different = to_peers_of_first(hierarchy, false);
  for (int step = 1; step < p; step *= 2) known->exchanges.push_back(exchange_of(step));
  known->prefixes = prefixes_of_byte(false);
  known->prefixes_and_totals = prefixes_of_byte(true);
  for (int k = 1; k < 2 * p; k *= 2) known->turns.push_back(turns_of(k));
  known_ = std::move(known);
  hops_ = &known_->hops;
  std::map<int, int> in_socket, in_numa, in_l3, numa_l3s, socket_l3s;
  for (int rank = 0; rank < p; ++rank) {
    const topo::Place& place = hierarchy.place(rank);
    ranks_per_socket_ = std::max(ranks_per_socket_, ++in_socket[place.package]);
    in_numa_ = std::max(in_numa_, ++in_numa[place.numa]);
    const int below_l3 = place.l3 < 0 ? 1 : ++in_l3[place.l3];
    in_l3_ = std::max(in_l3_, below_l3);
    if (below_l3 == 1) {
      l3s_in_numa_ = std::max(l3s_in_numa_, ++numa_l3s[place.numa]);
      l3s_in_socket_ = std::max(l3s_in_socket_, ++socket_l3s[place.package]);
      l3s_ += rank > 0;
    }
    if (rank == 0) continue;
    neighbours_ = std::max(neighbours_, hierarchy.distance(rank - 1, rank));
    // Ranks are placed in order, so the distances of rank 0 include the largest one.
    const Distance distance = hierarchy.distance(0, rank);
    farthest_ = std::max(farthest_, distance);
    mean_startup_us_ += access().startup_us[distance] / (p - 1);
    mean_us_per_byte_ += 1 / bytes_per_us(access().bandwidth_gbs[distance]) / (p - 1);
  }
  sockets_ = int(in_socket.size());
  if (p > 1) {
    const int lines = to_first(p - 1, true).source;
    const bool shared = lines < p - 1;
    tiny_bcast_us_ = flag_us(farthest_) + std::max(lines - 1, 0) * line_us() + (shared ? flag_us(Distance::l3) : 0);
  }
}

Setting::Exchange Setting::exchange_of(int step) const {
  Exchange made;
  Outgoing outgoing(*hierarchy_);
  for (int rank = 0; rank < ranks(); ++rank) {
    if ((rank ^ step) >= ranks()) continue;
    made.distance = std::max(made.distance, hierarchy_->distance(rank, rank ^ step));
    outgoing.add(rank, rank ^ step, 1);
  }
  made.load = outgoing.most();
  return made;
}

Load Setting::prefixes_of_byte(bool totals) const {
  Outgoing outgoing(*hierarchy_);
  for (int step = 1; step < ranks(); step *= 2)
    for (int rank = step, l3_before = -1; rank < ranks(); ++rank) {
      if ((rank & step) == 0) continue;
      const int source = rank / step * step - 1, l3 = hierarchy_->place(rank).l3;
      // Readers on one L3 share a fetch.
      const bool shares = l3 >= 0 && l3 == l3_before && rank % step != 0;
      if (!shares) outgoing.add(source, rank, 1);
      if (totals && rank % step == step - 1 && rank + 1 < ranks()) outgoing.add(source, rank, 1);
      l3_before = l3;
    }
  return outgoing.most();
}

std::vector<Turn> Setting::turns_of(int k) const {
  std::map<std::pair<Streams, Distance>, int> times;
  for (int first = 1; first <= ranks(); first += k) {
    Counter counter(*hierarchy_, 0, false);
    Streams through;
    Distance distance = Distance::self;
    for (int rank = first; rank < std::min(first + k, ranks()); ++rank) {
      through = counter.with(rank);
      distance = std::max(distance, hierarchy_->distance(0, rank));
    }
    if (first == ranks()) through = counter.with(ranks() - 1), distance = hierarchy_->distance(0, ranks() - 1);
    ++times[{through, distance}];
  }
  std::vector<Turn> made;
  for (const auto& [turn, number] : times) made.push_back({turn.first, turn.second, number});
  return made;
}

std::vector<Turn> Setting::turns(int k) const {
  const size_t at = size_t(std::countr_zero(unsigned(k)));
  return std::has_single_bit(unsigned(k)) && at < known_->turns.size() ? known_->turns[at] : turns_of(k);
}

Setting Setting::touching(const Footprint& footprint) const {
  Setting made = *this;
  const bool huge = footprint.huge_pages || table_->huge_pages;
  made.source_page_bytes_ = page_bytes(access(), huge, footprint.from);
  made.target_page_bytes_ = page_bytes(access(), huge, footprint.into);
  if (table_->caches.empty()) return made;
  const bool staged = mechanism_ == Mechanism::shared_memory;
  const auto us = [](double gbs) { return 1 / bytes_per_us(gbs); };
  const CacheRates source = rates_at(*table_, footprint.source), target = rates_at(*table_, footprint.target);
  const CacheRates there = staged ? rates_at(*table_, footprint.ring) : source;
  Rates& of = made.rates_;
  of.known = true;
  of.store = us(target.store_gbs);
  of.load = us(source.load_gbs);
  of.take = us(take_gbs(*table_, footprint.chunk));
  of.copy = overlapping(us(target.load_gbs), of.store);
  of.stage = overlapping(of.load, of.take);
  of.fetch = overlapping(us(there.fetch_gbs), of.store);
  of.combine = us(target.combine_gbs);
  of.combine_fetch = us(there.combine_fetch_gbs);
  if (is_kernel_copy(mechanism_)) {
    const double by_size = rates_at(*table_, std::max(footprint.source, footprint.target)).kernel_gbs;
    of.fetch = us(mechanism_ == Mechanism::cma && by_size > 0 ? by_size : access().bandwidth_gbs[Distance::l3]);
    // The reduction reads from the cache what the copy has stored there.
    of.combine_fetch = of.fetch + us(rates_at(*table_, 3 * footprint.chunk).combine_gbs);
  }
  made.mean_us_per_byte_ = 0;
  for (int rank = 1; rank < ranks(); ++rank)
    made.mean_us_per_byte_ += made.fetch_us_per_byte(hierarchy_->distance(0, rank)) / (ranks() - 1);
  return made;
}

double Setting::fetch_us_per_byte(Distance distance) const {
  const ByDistance& gbs = access().bandwidth_gbs;
  return rates_.known ? rates_.fetch * gbs[Distance::l3] / gbs[distance] : 1 / bytes_per_us(gbs[distance]);
}

double Setting::link_us_per_byte(const Streams& through, bool cached) const {
  const Links& links = table_->links;
  const auto time = [](int streams, double gbs) { return gbs <= 0 ? 0 : streams / bytes_per_us(gbs); };
  return std::max({time(through.source, cached ? links.l3_gbs : links.memory_gbs), time(through.numa, links.numa_gbs),
                   time(through.socket, links.socket_gbs)});
}

Load Setting::exchanged(double bytes) const {
  const bool l3s = hierarchy_->place(0).l3 >= 0;
  const double p = ranks(), n = in_numa_, s = ranks_per_socket_;
  // Without an L3 all data that leaves a rank passes the caches of its NUMA node.
  return {.l3 = bytes * (l3s ? in_l3_ * (p - in_l3_) : n * (p - 1)),
          .numa = bytes * n * (p - n),
          .socket = bytes * s * (p - s)};
}

Load Setting::spread(double bytes) const {
  if (hierarchy_->place(0).l3 < 0) return exchanged(bytes);
  return {.l3 = bytes * in_l3_ * (l3s_ - 1),
          .numa = bytes * in_numa_ * (l3s_ - l3s_in_numa_),
          .socket = bytes * ranks_per_socket_ * (l3s_ - l3s_in_socket_)};
}

Load Setting::exchanged_within(double bytes, int members, int readers) const {
  const bool l3s = hierarchy_->place(0).l3 >= 0;
  // Of the `in_one` ranks behind a link each serves the readers of its group that are not behind it. If others than the
  // readers are behind the busiest link, it serves all readers. Without an L3, each rank serves all others of its group
  // over the link of its NUMA node, which may have the ranks of several groups behind it.
  const auto out = [&](int in_one) {
    const int q = std::min(in_one, members);
    return q < members ? bytes * q * std::max(readers < members ? readers : readers - q, 0) : 0;
  };
  const int served = readers < members ? readers : members - 1;
  return {.l3 = l3s ? out(in_l3_) : bytes * in_numa_ * served, .numa = out(in_numa_), .socket = out(ranks_per_socket_)};
}

Load Setting::shifted(double bytes, int by) const {
  return {.l3 = bytes * std::min(by, hierarchy_->place(0).l3 < 0 ? in_numa_ : in_l3_),
          .numa = in_numa_ < ranks() ? bytes * std::min(by, in_numa_) : 0,
          .socket = ranks_per_socket_ < ranks() ? bytes * std::min(by, ranks_per_socket_) : 0};
}

Load Setting::crossed(double bytes, Distance distance) const {
  return {.l3 = distance > Distance::l3 ? bytes * (hierarchy_->place(0).l3 < 0 ? in_numa_ : in_l3_) : 0,
          .numa = distance >= Distance::socket ? bytes * in_numa_ : 0,
          .socket = distance >= Distance::node ? bytes * ranks_per_socket_ : 0};
}

double Setting::us(const Load& load) const {
  const Links& links = table_->links;
  const auto time = [](double bytes, double gbs) { return gbs <= 0 ? 0 : bytes / bytes_per_us(gbs); };
  return std::max({time(load.l3, links.l3_gbs), time(load.memory, links.memory_gbs), time(load.numa, links.numa_gbs),
                   time(load.socket, links.socket_gbs)});
}

Terms Setting::copy_through(const Streams& streams, Distance distance, double bytes, bool cached) const {
  const Access& of = access();
  Terms terms;
  terms.startup_us = of.startup_us[distance];
  const bool across = streams.readers > ranks_per_socket_;
  terms.lock_us = of.page_us * of.gamma(streams.readers, across) * std::ceil(bytes / source_page_bytes_);
  // While a copy waits for a page's lock, other copies use the links.
  const double links_us = bytes * link_us_per_byte(streams, cached);
  terms.transfer_us = std::max(bytes * fetch_us_per_byte(distance), links_us - terms.lock_us);
  return terms;
}

Terms Setting::copy(double bytes, int readers, Distance distance, bool same_data) const {
  const double source_bytes = same_data ? bytes : bytes * readers;
  return copy_through(to_first(readers, same_data), distance, bytes, source_bytes <= own_cache_bytes(*table_));
}

Terms Setting::copy_part(double bytes, int readers, double source_bytes) const {
  return copy_through(to_first(readers, false), farthest_, bytes, source_bytes <= own_cache_bytes(*table_));
}

Terms Setting::write(double bytes, int writers) const {
  Terms terms;
  terms.startup_us = access().startup_us[farthest_];
  terms.lock_us =
      access().page_us * access().gamma(writers, writers > ranks_per_socket_) * std::ceil(bytes / target_page_bytes_);
  const double together = std::min(writers, in_numa_), in_socket = std::min(writers, ranks_per_socket_);
  const bool crosses_numa = farthest_ >= Distance::socket, crosses_socket = farthest_ >= Distance::node;
  const double links_us = us({.l3 = bytes * std::min(writers, in_l3_),
                              .numa = crosses_numa ? bytes * together : 0,
                              .socket = crosses_socket ? bytes * in_socket : 0});
  terms.transfer_us = std::max(bytes * fetch_us_per_byte(farthest_), links_us - terms.lock_us);
  return terms;
}

namespace {

// If the table has the bandwidth of the memory, that link limits all cores together (passed() in prices.cc), so this
// rate is of one core alone.
double rate(const Bandwidth& of, const Table& table, int busy, double work_set_bytes) {
  if (table.links.memory_gbs > 0 || work_set_bytes <= double(available_cache_bytes(table, busy)))
    return bytes_per_us(of.alone_gbs);
  const double share = of.all_gbs * std::max(table.fingerprint.cores, busy) / busy;
  return bytes_per_us(std::min(of.alone_gbs, share));
}

}  // namespace

double Setting::memcpy_us(double bytes, double work_set_bytes) const {
  return rates_.known ? bytes * rates_.copy : bytes / rate(table_->copy, *table_, ranks(), work_set_bytes);
}

double Setting::stage_us(double bytes, double work_set_bytes) const {
  return rates_.known ? bytes * rates_.stage : memcpy_us(bytes, work_set_bytes);
}

double Setting::reduce_us(double bytes, int sources, double work_set_bytes) const {
  if (rates_.known) return bytes * overlapping(rates_.combine + (sources - 1) * rates_.combine_fetch, rates_.store);
  const double own = 1 / rate(table_->reduce, *table_, ranks(), work_set_bytes);
  // A kernel-assisted copy fetches an operand first; the reduction follows.
  const double other = is_kernel_copy(mechanism_) ? own + mean_us_per_byte_ : std::max(own, mean_us_per_byte_);
  return bytes * (own + (sources - 1) * other);
}

double Setting::add_us(double bytes, Distance distance) const {
  if (rates_.known) return reduce_us(bytes, 2);
  const double own = 1 / rate(table_->reduce, *table_, ranks(), 2 * bytes * ranks()),
               fetch = fetch_us_per_byte(distance);
  return bytes * (own + (is_kernel_copy(mechanism_) ? own + fetch : std::max(own, fetch)));
}

Terms Setting::copy_to(double bytes, Distance distance) const {
  if (rates_.known) return transfer(bytes * overlapping(rates_.load, rates_.take * farther(distance)));
  const double own = 1 / bytes_per_us(table_->copy.alone_gbs);
  if (distance == Distance::self) return transfer(bytes * own);
  return {.startup_us = access().startup_us[distance],
          .transfer_us = bytes * std::max(own, fetch_us_per_byte(distance))};
}

Terms Setting::combine(double bytes, std::span<const Distance> from, Distance to) const {
  const bool is_remote = to != Distance::self;
  if (rates_.known) {
    double loads = rates_.combine;
    for (Distance distance : from) loads += rates_.combine_fetch * farther(distance);
    return transfer(bytes * overlapping(loads, is_remote ? rates_.take * farther(to) : rates_.store));
  }
  const double own = 1 / bytes_per_us(table_->reduce.alone_gbs);
  Terms sum = transfer(bytes * own);
  for (Distance distance : from) {
    const bool is_own = distance == Distance::self;
    sum.startup_us += is_own ? 0 : access().startup_us[distance];
    sum.transfer_us += bytes * (is_own ? own : std::max(own, fetch_us_per_byte(distance)));
  }
  if (!is_remote) return sum;
  sum.startup_us += access().startup_us[to];
  sum.transfer_us += bytes * fetch_us_per_byte(to);
  return sum;
}

double Setting::tiny_gather_us() const { return flag_us(farthest_) + std::max(ranks() - 2, 0) * look_us(); }

double Setting::tiny_allgather_us() const {
  return flag_us(farthest_) + std::max(ranks() - 2, 0) * (look_us() + line_us());
}

double times_of_staging(const Table& table, const topo::Hierarchy& hierarchy, Mechanism kernel) {
  constexpr double bytes = 256 << 10;
  const Setting on(table, hierarchy, kernel);  // the probe's copies are made alone, so rates of busy cores do not count
  return on.copy(bytes).total_us() / (1.25 * on.memcpy_us(bytes));
}

double own_cache_bytes(const Table& table) { return double(table.fingerprint.l2_bytes + table.fingerprint.l3_bytes); }

double result_cache_bytes(const Table& table) {
  const Fingerprint& of = table.fingerprint;
  return double(of.l2_bytes) + double(of.l3_bytes) * of.l3s / std::max(of.cores, 1);
}

bool streams(const Table& table, double work_set_bytes) {
  const double from = table.thresholds.non_temporal_bytes;
  return from > 0 && work_set_bytes > from;
}

}  // namespace coll::model
