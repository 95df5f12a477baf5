// SPDX-License-Identifier: BSD-3-Clause
#include "calibrate_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "model/fit.h"

namespace coll::tools {
namespace {

using model::ByDistance;
using model::Mechanism;
using model::Observation;

constexpr double page_bytes = 4096;

double gbs(double bytes, double us) { return us > 0 ? bytes / us / 1000 : 0; }

double median_spread(const std::vector<Point>& points) {
  std::vector<double> spreads;
  for (const Point& point : points) spreads.push_back(point.timing.spread());
  if (spreads.empty()) return 0;
  std::ranges::sort(spreads);
  return spreads[spreads.size() / 2];
}

// The values by distance, as a table's reader completes them: the next nearer one, else the next farther.
ByDistance complete(const std::vector<std::pair<topo::Distance, double>>& known, const ByDistance& otherwise) {
  if (known.empty()) return otherwise;
  ByDistance made;
  for (int d = 0; d < topo::distance_count; ++d) {
    double value = known.front().second;
    for (const auto& [distance, of] : known)
      if (int(distance) <= d) value = of;
    made.at[size_t(d)] = value;
  }
  return made;
}

class Fitting {
 public:
  Fitting(const Measured& measured, const model::Fingerprint& machine, const model::Table& otherwise)
      : measured_(measured), otherwise_(otherwise) {
    made_.table.fingerprint = machine;
  }

  Model all() {
    lines();
    memory();
    near_copies();
    cma();
    kcoll();
    links();
    thresholds();
    return std::move(made_);
  }

 private:
  model::Table& table() { return made_.table; }
  model::Access& access(Mechanism mechanism) { return table().access[size_t(mechanism)]; }

  // How well a value is known, by its name in named_values().
  void tell(const std::string& name, double spread, size_t points) {
    made_.precisions.push_back({name, spread, int(points)});
  }
  // Of distances: the farthest that was measured stands for those beyond, too.
  void tell_at(const std::string& name, topo::Distance distance, double spread, size_t points) {
    std::erase_if(made_.precisions, [&](const Precision& of) { return of.name == name; });
    tell(name_at(name, distance), spread, points);
    if (distance != topo::Distance::node) tell(name, spread, points);
  }
  void note(const std::string& key, const std::string& text) { table().notes.emplace_back(key, text); }
  void lacks(const std::string& what, const std::string& why) {
    made_.remarks.push_back(fmt::format("{}: {}", what, why));
  }

  // The median of one kind; `otherwise` where there is none.
  double single(What what, const std::string& name, double scale, double otherwise) {
    const std::vector<Point> points = measured_.of(what);
    if (points.empty()) {
      lacks(name, measured_.problem(what) + fmt::format("; taken from '{}'", otherwise_.name));
      return otherwise;
    }
    tell(name, points.front().timing.spread(), 1);
    return points.front().timing.us * scale;
  }

  // ---- lines -----------------------------------------------------------------------------------------------------
  void lines() {
    std::vector<std::pair<topo::Distance, double>> flags;
    for (const Point& point : measured_.of(What::flag)) {
      flags.emplace_back(point.key.distance, point.timing.us * 1000);
      tell_at("flag", point.key.distance, point.timing.spread(), 1);
    }
    std::ranges::sort(flags);
    table().flag_ns = complete(flags, otherwise_.flag_ns);
    if (flags.empty()) lacks("flag", "one processor; taken from '" + otherwise_.name + "'");
    table().look_ns = single(What::look, "look", 1000, otherwise_.look_ns);
    table().step_ns = single(What::step, "step", 1000, otherwise_.step_ns);
    const std::vector<Point> readers = measured_.of(What::lines);
    table().line_ns = otherwise_.line_ns;
    if (readers.size() < 2) {
      lacks("line", fmt::format("needs four processors; taken from '{}'", otherwise_.name));
      return;
    }
    const Point &few = readers.front(), &many = readers.back();
    const double more = many.key.concurrent - few.key.concurrent;
    table().line_ns = std::max(0.0, (many.timing.us - few.timing.us) / more * 1000);
    tell("line", many.timing.spread(), 2);
  }

  // ---- memory ----------------------------------------------------------------------------------------------------
  double rate(What what, double bytes) const {
    for (const Point& point : measured_.of(what))
      if (point.key.bytes == bytes) return gbs(bytes, point.timing.us);
    return 0;
  }

  void memory() {
    for (const Point& point : measured_.of(What::load)) {
      const double bytes = point.key.bytes;
      model::CacheRates rates{bytes,
                              gbs(bytes, point.timing.us),
                              rate(What::store, bytes),
                              rate(What::fetch, bytes),
                              rate(What::take, bytes),
                              rate(What::combine, bytes),
                              rate(What::combine_fetch, bytes)};
      // One processor has no neighbour.
      for (double* of : {&rates.fetch_gbs, &rates.combine_fetch_gbs})
        if (*of <= 0) *of = rates.load_gbs;
      if (rates.take_gbs <= 0) rates.take_gbs = rates.store_gbs;
      if (rates.store_gbs > 0 && rates.combine_gbs > 0) table().caches.push_back(rates);
    }
    for (What what : {What::load, What::store, What::fetch, What::take, What::combine, What::combine_fetch})
      for (const Point& point : measured_.of(what)) tell(text(point.key), point.timing.spread(), 1);
    overlap();
    // One number for all sizes: of what exceeds a core's own cache and lies in the next.
    const double bytes = table().caches.empty() ? 0 : representative();
    table().copy = pair("copy", What::copy_alone, What::copy, bytes, 0.5, otherwise_.copy);
    table().copy_non_temporal =
        pair("copy_non_temporal", What::stream_alone, What::stream, bytes, 0.5, otherwise_.copy_non_temporal);
    table().reduce = pair("reduce", What::reduce_alone, What::reduce, bytes, 2.0 / 3, otherwise_.reduce);
    table().reduce_non_temporal = pair("reduce_non_temporal", What::reduce_stream_alone, What::reduce_stream, bytes,
                                       2.0 / 3, otherwise_.reduce_non_temporal);
    note("copy", fmt::format("measured: source and target together {} bytes; by size in caches", bytes));
  }

  double representative() const {
    const double beyond = 2 * double(made_.table.fingerprint.l2_bytes);
    for (const model::CacheRates& rates : made_.table.caches)
      if (rates.bytes >= beyond) return rates.bytes;
    return made_.table.caches.back().bytes;
  }

  model::Bandwidth pair(const std::string& name, What alone, What all, double bytes, double share,
                        model::Bandwidth otherwise) {
    const model::Bandwidth made = {rate(alone, bytes) * share, rate(all, bytes) * share};
    if (made.alone_gbs <= 0 || made.all_gbs <= 0) {
      lacks(name, fmt::format("not measured; taken from '{}'", otherwise_.name));
      return otherwise;
    }
    const auto spread = [&](What what) {
      for (const Point& point : measured_.of(what))
        if (point.key.bytes == bytes) return point.timing.spread();
      return 0.0;
    };
    tell(name + " alone", spread(alone), 1);
    tell(name + " all", spread(all), 1);
    return made;
  }

  // copy = longer + overlap * shorter
  void overlap() {
    std::vector<Observation> seen;
    std::vector<Point> copies = measured_.of(What::copy);
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
    if (!copies.empty()) tell("overlap", std::sqrt(errors / double(copies.size())), copies.size());
  }

  // ---- loads from peers ------------------------------------------------------------------------------------------
  void near_copies() {
    std::vector<std::pair<topo::Distance, double>> startups, rates;
    double residual = 0;
    std::vector<Point> points = measured_.of(What::near_copy);
    for (int d = 0; d < topo::distance_count; ++d) {
      std::vector<Observation> seen;
      for (const Point& point : points)
        if (int(point.key.distance) == d) seen.push_back({{1, point.key.bytes}, point.timing.us});
      if (seen.empty()) continue;
      const model::Fit fit = model::fit(seen);
      if (fit.coefficients[1] <= 0) continue;
      const auto distance = topo::Distance(d);
      startups.emplace_back(distance, fit.coefficients[0]);
      rates.emplace_back(distance, 1 / fit.coefficients[1] / 1000);
      residual = std::max(residual, fit.residual);
      for (Mechanism mechanism : {Mechanism::shared_memory, Mechanism::mapped}) {
        tell_at(std::string(model::name(mechanism)) + " startup", distance, fit.residual, seen.size());
        tell_at(std::string(model::name(mechanism)) + " bandwidth", distance, fit.residual, seen.size());
      }
      for (const Observation& of : seen)
        made_.curves.push_back({fmt::format("shared memory, {}", topo::distance_name(distance)), of.terms[1], of.us,
                                fit.coefficients[0] + fit.coefficients[1] * of.terms[1]});
    }
    for (Mechanism mechanism : {Mechanism::shared_memory, Mechanism::mapped}) {
      model::Access& of = access(mechanism);
      const model::Access& other = otherwise_.of(Mechanism::shared_memory);
      of.available = true;
      of.startup_us = complete(startups, other.startup_us);
      of.bandwidth_gbs = complete(rates, other.bandwidth_gbs);
    }
    access(Mechanism::shared_memory).gamma = gamma(Mechanism::shared_memory, What::shared_copy, 0);
    access(Mechanism::mapped).gamma = measured_.of(What::mapped_copy).empty()
                                          ? access(Mechanism::shared_memory).gamma
                                          : gamma(Mechanism::mapped, What::mapped_copy, 0);
    note("shared_memory",
         fmt::format("measured: a neighbour's lines, just written, 1 KiB to 1 MiB; residual {:.3f}", residual));
    note("mapped", measured_.of(What::mapped_copy).empty()
                       ? "as shared_memory; a mapping of kcoll: " + measured_.problem(What::mapped_copy)
                       : "as shared_memory, gamma through a mapping of kcoll");
  }

  // Times of c at once over that of one, after what does not depend on c.
  model::Gamma gamma(Mechanism mechanism, What what, double startup_us) {
    const std::vector<Point> points = measured_.of(what);
    std::vector<model::Contended> seen;
    for (const Point& point : points)
      for (const Point& alone : points)
        if (alone.key.concurrent == 1 && alone.key.bytes == point.key.bytes && alone.timing.us > startup_us)
          seen.push_back(
              {double(point.key.concurrent), (point.timing.us - startup_us) / (alone.timing.us - startup_us)});
    const model::Gamma fitted = model::fit_gamma(seen);
    if (seen.empty()) return fitted;
    tell(fmt::format("{} gamma({})", model::name(mechanism), table().fingerprint.cores),
         std::max(fitted.residual, median_spread(points)), seen.size());
    for (const model::Contended& of : seen)
      made_.curves.push_back({fmt::format("gamma of {}", model::name(mechanism)), of.c, of.relative, fitted(of.c)});
    return fitted;
  }

  // ---- copies by the kernel ----------------------------------------------------------------------------------------
  void cma() {
    const std::vector<Point> checks = measured_.of(What::check), pages = measured_.of(What::pages),
                             copies = measured_.of(What::cma_copy);
    if (checks.empty() || pages.empty() || copies.empty()) {
      lacks("cma", measured_.problem(What::check));
      note("cma", "not possible here: " + measured_.problem(What::check));
      return;
    }
    model::Access& of = access(Mechanism::cma);
    of.available = true;
    const double alpha = checks.front().timing.us;
    tell("cma startup", checks.front().timing.spread(), 1);
    std::vector<Observation> locked, moved;
    for (const Point& point : pages)
      if (point.key.concurrent == 1 && point.timing.us > alpha)
        locked.push_back({{point.key.bytes / page_bytes}, point.timing.us - alpha});
    const model::Fit lock = model::fit(locked);
    const double page = lock.coefficients.empty() ? 0 : lock.coefficients[0];
    const auto held = [&](double bytes) { return alpha + page * std::ceil(bytes / page_bytes); };
    for (const Point& point : copies)
      if (point.timing.us > held(point.key.bytes))
        moved.push_back({{point.key.bytes}, point.timing.us - held(point.key.bytes)});
    const model::Fit move = model::fit(moved);
    if (move.coefficients.empty() || move.coefficients[0] <= 0) {
      of.available = false;
      lacks("cma", "copies were not slower than locking their pages: disturbed; calibrate again");
      return;
    }
    of.startup_us = ByDistance::all(alpha);
    of.page_us = page;
    of.page_bytes = page_bytes;
    of.bandwidth_gbs = ByDistance::all(1 / move.coefficients[0] / 1000);
    of.gamma = gamma(Mechanism::cma, What::pages, alpha);
    double errors = 0;
    for (const Point& point : copies) {
      const double fitted = held(point.key.bytes) + move.coefficients[0] * point.key.bytes;
      errors += std::pow(fitted / point.timing.us - 1, 2);
      made_.curves.push_back({"cma", point.key.bytes, point.timing.us, fitted});
    }
    const double residual = std::sqrt(errors / double(copies.size()));
    tell("cma page", lock.residual, locked.size());
    tell("cma bandwidth", residual, copies.size());
    const std::vector<Point> calls = measured_.of(What::call);
    note("cma", fmt::format("measured by the probe T1 to T4: a system call alone takes {:.3g} us; residual {:.3f}",
                            calls.empty() ? 0 : calls.front().timing.us, residual));
  }

  void kcoll() {
    const std::vector<Point> checks = measured_.of(What::pinned_check), copies = measured_.of(What::pinned_copy),
                             firsts = measured_.of(What::first_copy);
    if (checks.empty() || copies.empty()) {
      lacks("kcoll", measured_.problem(What::pinned_check));
      note("kcoll", "not measured: " + measured_.problem(What::pinned_check));
      return;
    }
    if (measured_.kcoll) {
      note("kcoll", text(*measured_.kcoll));
      made_.remarks.push_back(text(*measured_.kcoll));
      if (!measured_.kcoll_remark.empty()) lacks("kcoll's tracepoints", measured_.kcoll_remark);
    }
    const double alpha = checks.front().timing.us;
    std::vector<Observation> moved;
    for (const Point& point : copies)
      if (point.key.concurrent == 1 && point.timing.us > alpha)
        moved.push_back({{point.key.bytes}, point.timing.us - alpha});
    const model::Fit move = model::fit(moved);
    if (move.coefficients.empty() || move.coefficients[0] <= 0)
      return lacks("kcoll", "its copies took no time: disturbed; calibrate again");
    model::Access& pinned = access(Mechanism::kcoll_pinned);
    pinned.available = true;
    pinned.startup_us = ByDistance::all(alpha);
    pinned.bandwidth_gbs = ByDistance::all(1 / move.coefficients[0] / 1000);
    pinned.gamma = gamma(Mechanism::kcoll_pinned, What::pinned_copy, alpha);
    tell("kcoll_pinned startup", checks.front().timing.spread(), 1);
    tell("kcoll_pinned bandwidth", move.residual, moved.size());
    for (const Observation& of : moved)
      made_.curves.push_back({"kcoll, pinned", of.terms[0], of.us + alpha, alpha + move.coefficients[0] * of.terms[0]});
    note("kcoll_pinned", fmt::format("measured: pages stay pinned; residual {:.3f}", move.residual));

    std::vector<Observation> pinning;
    for (const Point& point : firsts) {
      const double copied = alpha + move.coefficients[0] * point.key.bytes;
      if (point.key.concurrent == 1 && point.timing.us > copied)
        pinning.push_back({{1, std::ceil(point.key.bytes / page_bytes)}, point.timing.us - copied});
    }
    const model::Fit pin = model::fit(pinning);
    if (pin.coefficients.empty()) return lacks("kcoll, first touch", measured_.problem(What::first_copy));
    model::Access& first = access(Mechanism::kcoll_first_touch);
    first = pinned;
    first.startup_us = ByDistance::all(alpha + pin.coefficients[0]);
    first.page_us = pin.coefficients[1];
    first.page_bytes = page_bytes;
    first.gamma = gamma(Mechanism::kcoll_first_touch, What::first_copy, alpha);
    tell("kcoll_first_touch startup", pin.residual, pinning.size());
    tell("kcoll_first_touch bandwidth", move.residual, moved.size());
    tell("kcoll_first_touch page", pin.residual, pinning.size());
    note("kcoll_first_touch", fmt::format("measured: regions registered anew; residual {:.3f}", pin.residual));
  }

  // ---- what ranks share, and where one way becomes better than another ---------------------------------------------
  void links() {
    const model::Fingerprint& of = table().fingerprint;
    const double cores = std::max(of.cores, 1);
    model::Links& links = table().links;
    links.core_gbs = 0;  // the rates of a copy bound it
    if (table().caches.empty()) {
      links = otherwise_.links;
      return lacks("links", fmt::format("not measured; taken from '{}'", otherwise_.name));
    }
    // What all cores took from each other at once, at least.
    const model::CacheRates in_cache = rates_at(table(), double(of.l2_bytes) / 4), beyond = table().caches.back();
    links.l3_gbs = in_cache.fetch_gbs * cores / std::max(of.l3s, std::max(of.numas, 1));
    links.memory_gbs = beyond.load_gbs * cores / std::max(of.numas, 1);
    tell("link l3", median_spread(measured_.of(What::fetch)), 1);
    tell("link memory", median_spread(measured_.of(What::load)), 1);
    for (const Point& point : measured_.of(What::far_fetch)) {
      const double all = gbs(point.key.bytes, point.timing.us) * cores;
      if (point.key.distance == topo::Distance::node) links.socket_gbs = all / std::max(of.sockets, 1);
      if (point.key.distance == topo::Distance::socket) links.numa_gbs = all / std::max(of.numas, 1);
    }
    const double cache = double(available_cache_bytes(table(), of.cores));
    note("links", fmt::format("what all cores moved at once; memory with {:.0f} bytes a core{}", beyond.bytes,
                              beyond.bytes * cores < 2 * cache ? ", which the caches may hold in part" : ""));
  }

  void thresholds() {
    model::Thresholds& of = table().thresholds;
    of = otherwise_.thresholds;
    // Stores bypass the cache from where that was faster on.
    of.non_temporal_bytes = 0;
    std::vector<Point> plain = measured_.of(What::copy), streams = measured_.of(What::stream);
    for (size_t i = plain.size(); i-- > 0 && faster_from(i, plain, streams);)
      of.non_temporal_bytes = plain[i].key.bytes * std::max(table().fingerprint.cores, 1);
    const model::Access& kernel = table().of(Mechanism::cma);
    if (kernel.available && !table().caches.empty()) {
      // A staged vector is moved twice, one of the two beside the other where both sides are at it.
      of.direct_bytes = 0;
      for (double bytes = 512; bytes <= 16 << 20 && of.direct_bytes == 0; bytes *= 2) {
        const model::CacheRates rates = rates_at(table(), 2 * bytes);
        const double direct = kernel.startup_us[topo::Distance::l3] +
                              bytes / kernel.bandwidth_gbs[topo::Distance::l3] / 1000 +
                              kernel.page_us * std::ceil(bytes / page_bytes);
        const double staged = bytes / 1000 / rates.take_gbs + bytes / 1000 / rates.fetch_gbs;
        if (direct < staged) of.direct_bytes = bytes;
      }
      if (of.direct_bytes == 0) of.direct_bytes = 32 << 20;
      tell("direct_bytes", 0.5, 1);
    }
    tell("non_temporal_bytes", 0.5, plain.size());
    note("thresholds",
         "direct_bytes: where a kernel copy costs less than two copies; non_temporal_bytes: from where on it was "
         "faster, "
         "of all cores together; 0: nowhere");
  }

  // Non-temporal copies were faster at every size from plain[i] on.
  static bool faster_from(size_t i, const std::vector<Point>& plain, const std::vector<Point>& streams) {
    for (; i < plain.size(); ++i)
      for (const Point& stream : streams)
        if (stream.key.bytes == plain[i].key.bytes && stream.timing.us >= plain[i].timing.us) return false;
    return true;
  }

  const Measured& measured_;
  const model::Table& otherwise_;
  Model made_;
};

}  // namespace

Model fit_model(const Measured& measured, const model::Fingerprint& machine, const model::Table& otherwise) {
  return Fitting(measured, machine, otherwise).all();
}

}  // namespace coll::tools
