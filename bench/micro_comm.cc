// SPDX-License-Identifier: BSD-3-Clause
// The cost of finding the bound plan of a call; the target is 10 ns, also if calls of many kinds alternate.
#include <benchmark/benchmark.h>

#include <vector>

#include "comm/bound_plans.h"

namespace {

void finds_bound_plans(benchmark::State& state) {
  coll::comm::BoundPlans plans;
  std::vector<coll::comm::BoundKey> keys;
  for (int64_t i = 0; i < state.range(0); i++) {
    keys.push_back({.collective = coll::plan::Collective(i % 8), .count = size_t(1) << i % 20, .element_bytes = 4});
    if (plans.find(keys.back(), nullptr) == nullptr) plans.insert({.key = keys.back()});
  }
  size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(plans.find(keys[at], nullptr));
    at = at + 1 == keys.size() ? 0 : at + 1;
  }
}
BENCHMARK(finds_bound_plans)->Arg(1)->Arg(2)->Arg(20)->Arg(40);

}  // namespace

BENCHMARK_MAIN();
