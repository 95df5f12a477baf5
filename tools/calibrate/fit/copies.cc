// SPDX-License-Identifier: BSD-3-Clause
// Fits copies from other processes: by loads and by the kernel, and how concurrent copies slow each other down.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "tools/calibrate/fit/fitting.h"
#include "tools/common/text.h"

namespace coll::tools {

using model::ByDistance;
using model::Mechanism;
using model::Observation;

void Fitting::near_copies() {
  std::vector<std::pair<topo::Distance, double>> startups, rates;
  double residual = 0;
  std::vector<Point> points = measured_.of(Quantity::near_copy);
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
      add_precision_at(std::string(model::name(mechanism)) + " startup", distance, fit.residual, seen.size());
      add_precision_at(std::string(model::name(mechanism)) + " bandwidth", distance, fit.residual, seen.size());
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
  access(Mechanism::shared_memory).gamma = gamma(Mechanism::shared_memory, Quantity::shared_copy, 0);
  access(Mechanism::mapped).gamma = measured_.of(Quantity::mapped_copy).empty()
                                        ? access(Mechanism::shared_memory).gamma
                                        : gamma(Mechanism::mapped, Quantity::mapped_copy, 0);
  note("shared_memory",
       fmt::format("measured: lines that a neighbour has just written, 1 KiB to 1 MiB; residual {:.3f}", residual));
  note("mapped", measured_.of(Quantity::mapped_copy).empty()
                     ? "as shared_memory; a mapping of kcoll: " + measured_.problem(Quantity::mapped_copy)
                     : "as shared_memory, gamma through a mapping of kcoll");
}

model::Gamma Fitting::gamma(Mechanism mechanism, Quantity quantity, double startup_us) {
  const std::vector<Point> points = measured_.of(quantity);
  std::vector<model::Contended> seen;
  for (const Point& point : points)
    for (const Point& alone : points)
      if (alone.key.concurrent == 1 && alone.key.bytes == point.key.bytes && alone.timing.us > startup_us)
        seen.push_back({double(point.key.concurrent), (point.timing.us - startup_us) / (alone.timing.us - startup_us)});
  return gamma(mechanism, seen, median_spread(points));
}

model::Gamma Fitting::gamma(Mechanism mechanism, const std::vector<model::Contended>& seen, double spread) {
  const model::Gamma fitted = model::fit_gamma(seen);
  if (seen.empty()) return fitted;
  add_precision(fmt::format("{} gamma({})", model::name(mechanism), table().fingerprint.cores),
                std::max(fitted.residual, spread), seen.size());
  for (const model::Contended& of : seen)
    made_.curves.push_back({fmt::format("gamma of {}", model::name(mechanism)), of.c, of.relative, fitted(of.c)});
  return fitted;
}

// A huge page that takes at most this share of the time of its small pages is locked at once.
constexpr double at_once = 0.125;

void Fitting::cma() {
  const std::vector<Point> checks = measured_.of(Quantity::check), pages = measured_.of(Quantity::pages),
                           copies = measured_.of(Quantity::cma_copy);
  if (checks.empty() || pages.empty() || copies.empty()) {
    const Quantity missing = checks.empty() ? Quantity::check : pages.empty() ? Quantity::pages : Quantity::cma_copy;
    const std::string why = measured_.problem(missing);
    lacks("cma", why);
    note("cma", "not available: " + why);
    return;
  }
  model::Access& of = access(Mechanism::cma);
  of.available = true;
  const double alpha = checks.front().timing.us;
  add_precision("cma startup", checks.front().timing.spread(), 1);
  std::vector<Observation> locked, moved;
  for (const Point& point : pages)
    if (point.key.concurrent == 1 && point.timing.us > alpha)
      locked.push_back({{point.key.bytes / measured_.page_bytes}, point.timing.us - alpha});
  const model::Fit lock = model::fit(locked);
  const double page = lock.coefficients.empty() ? 0 : lock.coefficients[0];
  const auto held = [&](double bytes) { return alpha + page * std::ceil(bytes / measured_.page_bytes); };
  for (const Point& point : copies)
    if (point.timing.us > held(point.key.bytes))
      moved.push_back({{point.key.bytes}, point.timing.us - held(point.key.bytes)});
  const model::Fit move = model::fit(moved);
  if (move.coefficients.empty() || move.coefficients[0] <= 0) {
    of.available = false;
    lacks("cma", "copies were not slower than locking their pages: the samples were disturbed; calibrate again");
    return;
  }
  of.startup_us = ByDistance::all(alpha);
  of.page_us = page;
  of.page_bytes = measured_.page_bytes;
  of.bandwidth_gbs = ByDistance::all(1 / move.coefficients[0] / 1000);
  of.gamma = gamma(Mechanism::cma, Quantity::pages, alpha);
  for (const Point& point : measured_.of(Quantity::huge_page))
    table().huge_pages = point.timing.us < at_once * held(point.key.bytes);
  double errors = 0;
  for (const Point& point : copies) {
    const double fitted = held(point.key.bytes) + move.coefficients[0] * point.key.bytes;
    errors += std::pow(fitted / point.timing.us - 1, 2);
    made_.curves.push_back({"cma", point.key.bytes, point.timing.us, fitted});
  }
  const double residual = std::sqrt(errors / double(copies.size()));
  kernel_rates();
  add_precision("cma page", lock.residual, locked.size());
  add_precision("cma bandwidth", residual, copies.size());
  const std::vector<Point> calls = measured_.of(Quantity::call);
  note("cma", fmt::format("measured by the probe T1 to T4: a system call alone takes {:.3g} us; residual {:.3f}",
                          calls.empty() ? 0 : calls.front().timing.us, residual));
}

// The kernel locks pages before it copies them: the time beyond the locks is the copy's. It is taken as at least a
// quarter of the whole, because lock times vary.
void Fitting::kernel_rates() {
  const model::Access& of = access(Mechanism::cma);
  for (const Point& point : measured_.of(Quantity::cma_exchange)) {
    const double bytes = std::floor(point.key.bytes / 2 / measured_.page_bytes) * measured_.page_bytes;
    const double held = of.startup_us[topo::Distance::l3] + of.page_us * bytes / measured_.page_bytes;
    const double rate = gbs(bytes, std::max(point.timing.us - held, point.timing.us / 4));
    for (model::CacheRates& rates : table().caches)
      if (rates.bytes == point.key.bytes) rates.kernel_gbs = rate;
    add_precision("kernel_copy " + bytes_text(uint64_t(point.key.bytes)), point.timing.spread(), 1);
  }
}

void Fitting::kcoll() {
  const std::vector<Point> checks = measured_.of(Quantity::pinned_check), copies = measured_.of(Quantity::pinned_copy);
  if (checks.empty() || copies.empty()) {
    lacks("kcoll", measured_.problem(Quantity::pinned_check));
    note("kcoll", "not measured: " + measured_.problem(Quantity::pinned_check));
    return;
  }
  const double alpha = checks.front().timing.us;
  std::vector<Observation> moved;
  for (const Point& point : copies)
    if (point.key.concurrent == 1 && point.timing.us > alpha)
      moved.push_back({{point.key.bytes}, point.timing.us - alpha});
  const model::Fit move = model::fit(moved);
  if (move.coefficients.empty() || move.coefficients[0] <= 0)
    return lacks("kcoll", "its copies took no time: the samples were disturbed; calibrate again");
  model::Access& pinned = access(Mechanism::kcoll_pinned);
  pinned.available = true;
  pinned.startup_us = ByDistance::all(alpha);
  pinned.bandwidth_gbs = ByDistance::all(1 / move.coefficients[0] / 1000);
  pinned.gamma = gamma(Mechanism::kcoll_pinned, Quantity::pinned_copy, alpha);
  add_precision("kcoll_pinned startup", checks.front().timing.spread(), 1);
  add_precision("kcoll_pinned bandwidth", move.residual, moved.size());
  for (const Observation& of : moved)
    made_.curves.push_back({"kcoll, pinned", of.terms[0], of.us + alpha, alpha + move.coefficients[0] * of.terms[0]});
  note("kcoll_pinned", fmt::format("measured: pages stay pinned; residual {:.3f}", move.residual));
  kcoll_first_touch(move, moved.size());
}

// Uses the times of locks and pins that the module itself counts: most of the measured time of a first copy is copying.
void Fitting::kcoll_first_touch(const model::Fit& move, size_t moves) {
  if (!measured_.kcoll_remark.empty()) lacks("kcoll's tracepoints", measured_.kcoll_remark);
  KcollTimes sum;
  std::vector<Sample> throttle, page;       // us, of a page set and of a page; one for each repetition
  std::map<int, std::vector<Sample>> more;  // time per page relative to one task, by number of concurrent tasks
  for (const KcollTimes& repetition : measured_.kcoll) {
    sum.source = repetition.source;
    sum += repetition;
    const auto alone = repetition.by_concurrency.find(1);
    if (alone == repetition.by_concurrency.end() || alone->second.us <= 0) continue;
    throttle.push_back({repetition.throttle_us / double(repetition.pins)});
    page.push_back({alone->second.each_us()});
    for (const auto& [tasks, concurrent] : repetition.by_concurrency)
      if (tasks > 1 && concurrent.us > 0) more[tasks].push_back({concurrent.each_us() / page.back().us});
  }
  if (page.empty()) return lacks("kcoll, first touch", "the module reports no pinned page");
  made_.remarks.push_back(text(sum));
  const Timing per_set = summarize_samples(throttle), per_page = summarize_samples(page);
  const model::Access& pinned = access(Mechanism::kcoll_pinned);
  model::Access& first = access(Mechanism::kcoll_first_touch);
  first = pinned;
  first.startup_us = ByDistance::all(pinned.startup_us[topo::Distance::l3] + per_set.us);
  first.page_us = per_page.us;
  first.page_bytes = measured_.page_bytes;
  std::vector<model::Contended> seen;
  for (const auto& [tasks, times] : more) seen.push_back({double(tasks), summarize_samples(times).us});
  first.gamma = gamma(Mechanism::kcoll_first_touch, seen, per_page.spread());
  add_precision("kcoll_first_touch startup", per_set.spread(), throttle.size());
  add_precision("kcoll_first_touch bandwidth", move.residual, moves);
  add_precision("kcoll_first_touch page", per_page.spread(), page.size());

  std::vector<double> errors;
  for (const Point& point : measured_.of(Quantity::first_copy)) {
    if (point.key.concurrent > 1) continue;
    const double fitted = first.startup_us[topo::Distance::l3] +
                          first.page_us * std::ceil(point.key.bytes / measured_.page_bytes) +
                          move.coefficients[0] * point.key.bytes;
    errors.push_back(std::abs(fitted / point.timing.us - 1));
    made_.curves.push_back({"kcoll, first touch", point.key.bytes, point.timing.us, fitted});
  }
  note("kcoll_first_touch", fmt::format("{}; measured first copies differ by up to {:.3f}", text(sum),
                                        errors.empty() ? 0 : std::ranges::max(errors)));
}

}  // namespace coll::tools
