// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/choice/virtual_time.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "plan/geometry.h"
#include "tools/command.h"

namespace coll::tools {

namespace {

constexpr size_t element_bytes = 4;

// Passes of the longest loop.
size_t passes_of(const plan::Plan& plan, const plan::Shape& shape) {
  size_t most = 1;
  for (const plan::Range& range : plan.ranges)
    if (range.chunk_bytes != 0) most = std::max(most, plan::Geometry::bind(range, shape, element_bytes).trips);
  return most;
}

}  // namespace

std::string Way::text() const {
  std::string made(algorithm->name);
  char separator = ':';
  const auto add = [&](bool reads, const char* key, unsigned value) {
    if (!reads) return;
    made += fmt::format("{}{}={}", separator, key, value);
    separator = ',';
  };
  add(algorithm->reads.chunk, "chunk", parameters.chunk_bytes);
  add(algorithm->reads.depth, "depth", parameters.depth);
  add(algorithm->reads.k, "k", parameters.k);
  add(algorithm->reads.j, "j", parameters.j);
  return mechanism == model::Mechanism::shared_memory ? made : fmt::format("{} by {}", made, model::name(mechanism));
}

VirtualTimes::Key VirtualTimes::key_of(const Way& way) {
  const algo::Parameters& of = way.parameters;
  return {way.algorithm, of.chunk_bytes, of.depth, of.k, of.j};
}

const plan::Plan& VirtualTimes::plan_of(const Way& way) {
  const auto found = plans_.find(key_of(way));
  if (found != plans_.end()) return found->second;
  const algo::Request request{.hierarchy = &machine_.hierarchy, .parameters = way.parameters};
  return plans_.emplace(key_of(way), way.algorithm->make(request)).first->second;
}

double VirtualTimes::us(const Way& way, size_t bytes, double limit_us) {
  Known& known = times_[{key_of(way), way.mechanism, bytes}];
  if (known.us == 0 || (std::isinf(known.us) && known.limit_us < limit_us))
    known = {simulated_us(way, bytes, limit_us), limit_us};
  return known.us <= limit_us ? known.us : std::numeric_limits<double>::infinity();
}

double VirtualTimes::simulated_us(const Way& way, size_t bytes, double limit_us) {
  const plan::Plan& plan = plan_of(way);
  sim::Options options = {.kernel = way.mechanism, .limit_us = limit_us};
  options.access = way.mechanism == model::Mechanism::shared_memory ? plan::AccessMode::staged
                   : way.mechanism == model::Mechanism::mapped      ? plan::AccessMode::direct
                                                                    : plan::AccessMode::remote;
  const size_t count = bytes / element_bytes;
  const auto run = [&](size_t elements) {
    options.buffer_times = double(count) / double(elements);
    const sim::Result result =
        sim::simulate(plan, plan::Shape(elements), element_bytes, machine_.hierarchy, machine_.table, options);
    if (!result.problem.empty()) throw Failure(fmt::format("{}: {}", way.text(), result.problem));
    return result.end_us;
  };
  // Every pass after the first ones takes as long as the one before: two short runs tell how long that is.
  const size_t passes = passes_of(plan, plan::Shape(count)),
               first = 2 * size_t(std::max<uint16_t>(way.parameters.depth, 4));
  if (passes <= 2 * first + first / 2) return run(count);
  const size_t some = count / passes * first;
  const double begin = run(some), end = run(2 * some);
  const double us = end + (end - begin) * double(count - 2 * some) / double(some);
  return us > limit_us ? std::numeric_limits<double>::infinity() : us;
}

}  // namespace coll::tools
