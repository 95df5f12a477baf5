// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/choice/virtual_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "plan/geometry.h"
#include "tools/command.h"

namespace coll::tools {

namespace {

constexpr size_t element_bytes = 4;

// Iterations of the longest loop.
size_t iterations_of(const plan::Plan& plan, const plan::Shape& shape) {
  size_t most = 1;
  for (const plan::Range& range : plan.ranges)
    if (range.chunk_bytes != 0) most = std::max(most, plan::Geometry::bind(range, shape, element_bytes).trips);
  return most;
}

size_t first_iterations(const Method& method) { return 2 * size_t(std::max<uint16_t>(method.parameters.depth, 4)); }
// Whether a run is so short that it is not extrapolated.
bool is_short(size_t iterations, size_t first) { return iterations <= 2 * first + first / 2; }

}  // namespace

std::string Method::text() const {
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

VirtualTimes::Key VirtualTimes::key_of(const Method& method) {
  const algo::Parameters& of = method.parameters;
  return {method.algorithm, of.chunk_bytes, of.depth, of.k, of.j};
}

const plan::Plan& VirtualTimes::plan_of(const Method& method) {
  const auto found = plans_.find(key_of(method));
  if (found != plans_.end()) return found->second;
  const algo::PlanRequest request{.hierarchy = &machine_.hierarchy, .parameters = method.parameters};
  return plans_.emplace(key_of(method), method.algorithm->make(request)).first->second;
}

double VirtualTimes::us(const Method& method, size_t bytes, double limit_us) {
  Known& known = times_[{key_of(method), method.mechanism, bytes}];
  if (known.us == 0 || (std::isinf(known.us) && known.limit_us < limit_us))
    known = {simulated_us(method, bytes, first_iterations(method), limit_us), limit_us};
  return known.us <= limit_us ? known.us : std::numeric_limits<double>::infinity();
}

double VirtualTimes::refined_us(const Method& method, size_t bytes) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (is_short(iterations_of(plan_of(method), plan::Shape(bytes / element_bytes)), first_iterations(method)))
    return us(method, bytes, infinity);
  return simulated_us(method, bytes, refined_iterations, infinity);
}

double VirtualTimes::simulated_us(const Method& method, size_t bytes, size_t first, double limit_us) {
  const plan::Plan& plan = plan_of(method);
  sim::Options options = {.kernel = method.mechanism, .limit_us = limit_us};
  options.access = method.mechanism == model::Mechanism::shared_memory ? plan::AccessMode::staged
                   : method.mechanism == model::Mechanism::mapped      ? plan::AccessMode::direct
                                                                       : plan::AccessMode::remote;
  const size_t count = bytes / element_bytes;
  const auto run = [&](size_t elements) {
    options.buffer_times = double(count) / double(elements);
    const sim::Result result =
        sim::simulate(plan, plan::Shape(elements), element_bytes, machine_.hierarchy, machine_.table, options);
    if (!result.problem.empty()) throw Failure(fmt::format("{}: {}", method.text(), result.problem));
    return result.end_us;
  };
  // After the first iterations every iteration takes equally long, so two short runs determine the rest.
  const size_t iterations = iterations_of(plan, plan::Shape(count));
  if (is_short(iterations, first)) return run(count);
  const size_t some = count / iterations * first;
  const double begin = run(some), end = run(2 * some);
  const double us = end + (end - begin) * double(count - 2 * some) / double(some);
  return us > limit_us ? std::numeric_limits<double>::infinity() : us;
}

}  // namespace coll::tools
