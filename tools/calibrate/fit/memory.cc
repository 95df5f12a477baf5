// SPDX-License-Identifier: BSD-3-Clause
// Fits the rates of memory by footprint, and how much of a copy's loads and stores overlap.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/fit.h"
#include "tools/calibrate/fit/fitting.h"

namespace coll::tools {

using model::Observation;

double Fitting::rate(Quantity quantity, double bytes) const {
  for (const Point& point : measured_.of(quantity))
    if (point.key.bytes == bytes) return gbs(bytes, point.timing.us);
  return 0;
}

void Fitting::memory() {
  for (const Point& point : measured_.of(Quantity::load)) {
    const double bytes = point.key.bytes;
    model::CacheRates rates{bytes,
                            gbs(bytes, point.timing.us),
                            rate(Quantity::store, bytes),
                            rate(Quantity::fetch, bytes),
                            rate(Quantity::take, bytes),
                            rate(Quantity::combine, bytes),
                            rate(Quantity::combine_fetch, bytes)};
    // With one processor there is no neighbour to fetch from.
    for (double* of : {&rates.fetch_gbs, &rates.combine_fetch_gbs})
      if (*of <= 0) *of = rates.load_gbs;
    if (rates.take_gbs <= 0) rates.take_gbs = rates.store_gbs;
    if (rates.store_gbs > 0 && rates.combine_gbs > 0) table().caches.push_back(rates);
  }
  for (Quantity quantity :
       {Quantity::load, Quantity::store, Quantity::fetch, Quantity::take, Quantity::combine, Quantity::combine_fetch})
    for (const Point& point : measured_.of(quantity)) add_precision(text(point.key), point.timing.spread(), 1);
  for (const Point& point : measured_.of(Quantity::short_take)) {
    table().short_take_gbs = gbs(point.key.bytes, point.timing.us);
    add_precision("take, short", point.timing.spread(), 1);
  }
  overlap();
  // These have one number for all sizes: that of a footprint which exceeds a core's L2.
  const double bytes = table().caches.empty() ? 0 : representative();
  table().copy = pair("copy", Quantity::copy_alone, Quantity::copy, bytes, 0.5, otherwise_.copy);
  table().copy_non_temporal =
      pair("copy_non_temporal", Quantity::stream_alone, Quantity::stream, bytes, 0.5, otherwise_.copy_non_temporal);
  table().reduce = pair("reduce", Quantity::reduce_alone, Quantity::reduce, bytes, 2.0 / 3, otherwise_.reduce);
  table().reduce_non_temporal = pair("reduce_non_temporal", Quantity::reduce_stream_alone, Quantity::reduce_stream,
                                     bytes, 2.0 / 3, otherwise_.reduce_non_temporal);
  note("copy", fmt::format("measured: source and target together {} bytes; by size in caches", bytes));
}

double Fitting::representative() const {
  const double beyond = 2 * double(made_.table.fingerprint.l2_bytes);
  for (const model::CacheRates& rates : made_.table.caches)
    if (rates.bytes >= beyond) return rates.bytes;
  return made_.table.caches.back().bytes;
}

model::Bandwidth Fitting::pair(const std::string& name, Quantity alone, Quantity all, double bytes, double share,
                               model::Bandwidth otherwise) {
  const model::Bandwidth made = {rate(alone, bytes) * share, rate(all, bytes) * share};
  if (made.alone_gbs <= 0 || made.all_gbs <= 0) {
    lacks(name, fmt::format("not measured; value of the built-in table '{}'", otherwise_.name));
    return otherwise;
  }
  const auto spread = [&](Quantity quantity) {
    for (const Point& point : measured_.of(quantity))
      if (point.key.bytes == bytes) return point.timing.spread();
    return 0.0;
  };
  add_precision(name + " alone", spread(alone), 1);
  add_precision(name + " all", spread(all), 1);
  return made;
}

void Fitting::overlap() {
  std::vector<Observation> seen;
  std::vector<Point> copies = measured_.of(Quantity::copy);
  double hidden = 0;
  for (const Point& point : copies) {
    if (table().caches.empty()) break;
    const model::CacheRates rates = rates_at(table(), point.key.bytes);
    const double half = point.key.bytes / 2000, load = half / rates.load_gbs, store = half / rates.store_gbs;
    const double rest = point.timing.us - std::max(load, store);
    if (rest > 0) seen.push_back({{std::min(load, store)}, rest});
    else ++hidden;
    made_.curves.push_back({"copy", point.key.bytes, point.timing.us, 0});
  }
  const model::Fit fit = model::fit(seen);
  const double visible = double(seen.size()) / std::max(double(seen.size()) + hidden, 1.0);
  table().overlap = seen.empty() ? otherwise_.overlap : std::clamp(fit.coefficients[0] * visible, 0.0, 1.0);
  double errors = 0;
  for (Fitted& of : made_.curves) {
    const model::CacheRates rates = rates_at(table(), of.x);
    const double half = of.x / 2000, load = half / rates.load_gbs, store = half / rates.store_gbs;
    of.fitted = std::max(load, store) + table().overlap * std::min(load, store);
    errors += std::pow(of.fitted / of.measured - 1, 2);
  }
  if (!copies.empty()) add_precision("overlap", std::sqrt(errors / double(copies.size())), copies.size());
}

}  // namespace coll::tools
