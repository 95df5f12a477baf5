// SPDX-License-Identifier: BSD-3-Clause
// The cost of the executor per step of a cached plan, by kind of step, on a channel of one rank: the work of a step is as
// small as possible, so the executor dominates. The target of `per_step` is 10 ns. Also measures binding.
#include <benchmark/benchmark.h>

#include <vector>

#include "algo/registry.h"
#include "exec/bound.h"
#include "exec/channel_alone.h"
#include "exec/run.h"
#include "plan/builder.h"

namespace {

using namespace coll::exec;
using namespace coll::plan;

constexpr int steps = 1000;

void run(benchmark::State& state, const Plan& plan, int per_run) {
  ChannelAlone alone;
  Bound bound(plan, alone.channel(), {.shape = 16, .element_bytes = 4});
  std::vector<int> from(16, 1), to(16);
  Run running;
  for (auto _ : state) {
    if (running.begin(bound, alone.channel(), {from.data(), to.data(), nullptr}) != COLL_OK ||
        running.finish() != COLL_OK)
      return state.SkipWithError("the plan failed");
    benchmark::ClobberMemory();
  }
  state.counters["per_step"] = benchmark::Counter(double(state.iterations()) * per_run,
                                                  benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void posts(benchmark::State& state) {
  Builder b(Collective::barrier, "posts", 1, 0);
  uint16_t flag = b.flag();
  auto lane = b.lane(0);
  for (int i = 1; i <= steps; i++) lane.post(flag, constant(i));
  run(state, b.finish(), steps);
}
BENCHMARK(posts);

// Every wait finds its flag set.
void waits(benchmark::State& state) {
  Builder b(Collective::barrier, "waits", 1, 0);
  uint16_t flag = b.flag();
  auto lane = b.lane(0);
  lane.post(flag, constant(1));
  for (int i = 0; i < steps; i++) lane.wait(0, flag, constant(1));
  run(state, b.finish(), steps + 1);
}
BENCHMARK(waits);

void copies_of_64_bytes(benchmark::State& state) {
  Builder b(Collective::bcast, "copies", 1, 0);
  uint16_t range = b.range({});
  auto lane = b.lane(0);
  for (int i = 0; i < steps; i++) lane.copy(range, own_recv(), own_send());
  run(state, b.finish(), steps);
}
BENCHMARK(copies_of_64_bytes);

// The steps of a pipelined reader: wait, copy, post, once per iteration.
void passes_of_wait_copy_post(benchmark::State& state) {
  Builder b(Collective::bcast, "passes", 1, 0);
  uint16_t range = b.range({}), ready = b.flag(), read = b.flag();
  auto lane = b.lane(0);
  lane.post(ready, constant(1));
  for (int i = 1; i <= steps / 3; i++)
    lane.wait(0, ready, constant(1)).copy(range, own_recv(), own_send()).post(read, constant(i));
  run(state, b.finish(), steps / 3 * 3 + 1);
}
BENCHMARK(passes_of_wait_copy_post);

// Begins and ends a plan without work.
void empty_plan(benchmark::State& state) {
  Builder b(Collective::barrier, "empty", 1, 0);
  uint16_t flag = b.flag();
  b.lane(0).post(flag, constant(1));
  run(state, b.finish(), 1);
}
BENCHMARK(empty_plan);

// Creates and binds the plan of a first call, for one of eight ranks.
void plan_of_eight(benchmark::State& state, bool binds) {
  std::vector<coll::topo::Place> places(8);
  auto hierarchy = coll::topo::Hierarchy::from_places(places);
  const coll::algo::Algorithm* fused = coll::algo::find(Collective::allreduce, "fused");
  coll::algo::PlanRequest request{.hierarchy = &hierarchy, .only_rank = 0};
  ChannelAlone alone(8);
  Plan plan = fused->make(request);
  for (auto _ : state) {
    if (binds) {
      Bound bound(plan, alone.channel(), {.shape = 65536, .element_bytes = 4});
      benchmark::DoNotOptimize(bound.last_value());
    } else {
      Plan made = fused->make(request);
      benchmark::DoNotOptimize(made.flags);
    }
  }
}
BENCHMARK_CAPTURE(plan_of_eight, make, false);
BENCHMARK_CAPTURE(plan_of_eight, bind, true);

}  // namespace

BENCHMARK_MAIN();
