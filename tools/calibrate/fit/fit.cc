// SPDX-License-Identifier: BSD-3-Clause
#include "tools/calibrate/fit/fit.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tools/calibrate/fit/fitting.h"

namespace coll::tools {

using model::Mechanism;

double median_spread(const std::vector<Point>& points) {
  std::vector<double> spreads;
  for (const Point& point : points) spreads.push_back(point.timing.spread());
  if (spreads.empty()) return 0;
  std::ranges::sort(spreads);
  return spreads[spreads.size() / 2];
}

// Sets the values of all distances as the reader of a table does: a missing one is that of the next nearer distance,
// else of the next farther one.
model::ByDistance complete(const std::vector<std::pair<topo::Distance, double>>& known,
                           const model::ByDistance& otherwise) {
  if (known.empty()) return otherwise;
  model::ByDistance made;
  for (int d = 0; d < topo::distance_count; ++d) {
    double value = known.front().second;
    for (const auto& [distance, of] : known)
      if (int(distance) <= d) value = of;
    made.at[size_t(d)] = value;
  }
  return made;
}

Model Fitting::all() {
  lines();
  memory();
  near_copies();
  rep_movsb();
  cma();
  kcoll();
  links();
  thresholds();
  return std::move(made_);
}

void Fitting::add_precision_at(const std::string& name, topo::Distance distance, double spread, size_t points) {
  std::erase_if(made_.precisions, [&](const Precision& of) { return of.name == name; });
  add_precision(name_at(name, distance), spread, points);
  if (distance != topo::Distance::node) add_precision(name, spread, points);
}

double Fitting::single(Quantity quantity, const std::string& name, double scale, double otherwise) {
  const std::vector<Point> points = measured_.of(quantity);
  if (points.empty()) {
    lacks(name, measured_.problem(quantity) + fmt::format("; value of the built-in table '{}'", otherwise_.name));
    return otherwise;
  }
  add_precision(name, points.front().timing.spread(), 1);
  return points.front().timing.us * scale;
}

void Fitting::lines() {
  std::vector<std::pair<topo::Distance, double>> flags;
  for (const Point& point : measured_.of(Quantity::flag)) {
    flags.emplace_back(point.key.distance, point.timing.us * 1000);
    add_precision_at("flag", point.key.distance, point.timing.spread(), 1);
  }
  std::ranges::sort(flags);
  table().flag_ns = complete(flags, otherwise_.flag_ns);
  if (flags.empty()) lacks("flag", "one processor only; value of the built-in table '" + otherwise_.name + "'");
  table().look_ns = single(Quantity::look, "look", 1000, otherwise_.look_ns);
  table().step_ns = single(Quantity::step, "step", 1000, otherwise_.step_ns);
  const std::vector<Point> readers = measured_.of(Quantity::lines);
  table().line_ns = otherwise_.line_ns;
  if (readers.size() < 2) {
    lacks("line", fmt::format("needs three processors; value of the built-in table '{}'", otherwise_.name));
    return;
  }
  const Point &few = readers.front(), &many = readers.back();
  const double more = many.key.concurrent - few.key.concurrent;
  table().line_ns = std::max(0.0, (many.timing.us - few.timing.us) / more * 1000);
  add_precision("line", many.timing.spread(), 2);
}

void Fitting::links() {
  const model::Fingerprint& of = table().fingerprint;
  const double cores = std::max(of.cores, 1);
  model::Links& links = table().links;
  links.core_gbs = 0;  // 0: not a limit, since the copy rates already limit a core
  if (table().caches.empty()) {
    links = otherwise_.links;
    return lacks("links", fmt::format("not measured; value of the built-in table '{}'", otherwise_.name));
  }
  // A lower bound: the throughput of all cores that fetch from each other concurrently.
  const model::CacheRates in_cache = rates_at(table(), double(of.l2_bytes) / 4), beyond = table().caches.back();
  links.l3_gbs = in_cache.fetch_gbs * cores / std::max(of.l3s, std::max(of.numas, 1));
  links.memory_gbs = beyond.load_gbs * cores / std::max(of.numas, 1);
  add_precision("link l3", median_spread(measured_.of(Quantity::fetch)), 1);
  add_precision("link memory", median_spread(measured_.of(Quantity::load)), 1);
  for (const Point& point : measured_.of(Quantity::far_fetch)) {
    const double all = gbs(point.key.bytes, point.timing.us) * cores;
    if (point.key.distance == topo::Distance::node) links.socket_gbs = all / std::max(of.sockets, 1);
    if (point.key.distance == topo::Distance::socket) links.numa_gbs = all / std::max(of.numas, 1);
  }
  const double cache = double(available_cache_bytes(table(), of.cores));
  note("links", fmt::format("throughput of all cores together; memory with {:.0f} bytes per core{}", beyond.bytes,
                            beyond.bytes * cores < 2 * cache ? ", which the caches may hold in part" : ""));
}

namespace {

// Returns whether non-temporal copies were faster at every size from plain[i] on.
bool faster_from(size_t i, const std::vector<Point>& plain, const std::vector<Point>& streams) {
  for (; i < plain.size(); ++i)
    for (const Point& stream : streams)
      if (stream.key.bytes == plain[i].key.bytes && stream.timing.us >= plain[i].timing.us) return false;
  return true;
}

}  // namespace

void Fitting::thresholds() {
  model::Thresholds& of = table().thresholds;
  of = otherwise_.thresholds;
  // Non-temporal stores are used from the size on from which they were always faster.
  of.non_temporal_bytes = 0;
  std::vector<Point> plain = measured_.of(Quantity::copy), streams = measured_.of(Quantity::stream);
  for (size_t i = plain.size(); i-- > 0 && faster_from(i, plain, streams);)
    of.non_temporal_bytes = plain[i].key.bytes * std::max(table().fingerprint.cores, 1);
  const model::Access& kernel = table().of(Mechanism::cma);
  if (kernel.available && !table().caches.empty()) {
    // A staged vector is copied twice; the two copies overlap, since both sides work concurrently.
    of.direct_bytes = 0;
    for (double bytes = 512; bytes <= 16 << 20 && of.direct_bytes == 0; bytes *= 2) {
      const model::CacheRates rates = rates_at(table(), 2 * bytes);
      const double direct = kernel.startup_us[topo::Distance::l3] +
                            bytes / kernel.bandwidth_gbs[topo::Distance::l3] / 1000 +
                            kernel.page_us * std::ceil(bytes / measured_.page_bytes);
      const double staged = bytes / 1000 / rates.take_gbs + bytes / 1000 / rates.fetch_gbs;
      if (direct < staged) of.direct_bytes = bytes;
    }
    if (of.direct_bytes == 0) of.direct_bytes = 32 << 20;
    add_precision("direct_bytes", 0.5, 1);
  }
  add_precision("non_temporal_bytes", 0.5, plain.size());
  note("thresholds",
       "direct_bytes: size from which a kernel-assisted copy costs less than two copies; non_temporal_bytes: size from "
       "which non-temporal stores of all cores together were faster; 0: never");
}

Model fit_model(const Measured& measured, const model::Fingerprint& machine, const model::Table& otherwise) {
  return Fitting(measured, machine, otherwise).all();
}

}  // namespace coll::tools
