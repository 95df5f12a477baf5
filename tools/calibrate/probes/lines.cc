// SPDX-License-Identifier: BSD-3-Clause
// Probes of cache lines between two cores, and of the executor's steps.
#include "exec/channel_alone.h"
#include "exec/run.h"
#include "plan/builder.h"
#include "tools/calibrate/probes/list.h"

namespace coll::tools {

std::vector<Pair> pairs_of(const MeasureTask& task) {
  const std::vector<topo::Place> places = topo::map_ranks(task.machine, task.processes, task.cpus);
  std::vector<Pair> pairs;
  for (int other = 1; other < task.processes; ++other) {
    const topo::Distance distance = topo::distance(places[0], places[size_t(other)]);
    if (std::ranges::find(pairs, distance, &Pair::distance) == pairs.end()) pairs.push_back({distance, other});
  }
  return pairs;
}

void Probes::add_lines() {
  constexpr int trips = 50, lines = 8;  // 50 trips: the first, which also fetches the line, weighs 2 %
  for (const Pair& pair : pairs_of(task_)) {
    const int other = pair.other;
    const auto both = [other](int process) { return process == 0 || process == other; };
    const Act begin = [this](int self) {
      for (int i = 0; i < lines; ++i) at_.lines(self)[i].value.store(0, std::memory_order_relaxed);
    };
    // The latency of a line depends on the slice of the L3 that is its home: average over several lines.
    const Act play = [=, this](int self) {
      Workplace::Line *mine = at_.lines(self), *theirs = at_.lines(self == 0 ? other : 0);
      for (int i = 0; i < lines; ++i)
        for (uint64_t trip = 1; trip <= trips; ++trip) {
          if (self == 0) mine[i].value.store(trip, std::memory_order_release);
          while (theirs[i].value.load(std::memory_order_acquire) < trip) {}
          if (self != 0) mine[i].value.store(trip, std::memory_order_release);
        }
    };
    add({.quantity = Quantity::flag, .distance = pair.distance}, both, plain(begin), plain(play), 2 * trips * lines);
  }
  if (n_ < 2) return;
  // Loads of lines of process 1, which are set already.
  add({.quantity = Quantity::look}, first(1), plain([this](int self) {
        for (int i = 0; i < Workplace::flag_lines; ++i) at_.lines(self)[i].value.store(1, std::memory_order_relaxed);
      }),
      plain([this](int) {
        for (int i = 0; i < Workplace::flag_lines; ++i)
          while (at_.lines(1)[i].value.load(std::memory_order_acquire) != 1) {}
      }),
      Workplace::flag_lines);
  for (int readers : {1, n_ - 1}) {
    if (n_ < 3) break;  // the difference needs a writer, one reader, and more than one reader
    add({.quantity = Quantity::lines, .concurrent = readers}, first(readers + 1),
        plain([this](int self) { at_.lines(self)[0].value.store(0, std::memory_order_relaxed); }),
        plain([this](int self) {
          if (self == 0) return at_.lines(0)[0].value.store(1, std::memory_order_release);
          while (at_.lines(0)[0].value.load(std::memory_order_acquire) != 1) {}
        }));
  }
}

namespace {

// The steps of a reader in a pipeline that never waits for a peer: wait, copy a line, post.
plan::Plan reader_steps(int count) {
  plan::Builder b(plan::Collective::bcast, "reader_steps", 1, 0);
  const uint16_t range = b.range({}), ready = b.flag(), read = b.flag();
  auto lane = b.lane(0);
  lane.post(ready, plan::constant(1));
  for (int i = 1; i <= count; ++i)
    lane.wait(0, ready, plan::constant(1))
        .copy(range, plan::own_recv(), plan::own_send())
        .post(read, plan::constant(i));
  return b.finish();
}

}  // namespace

void Probes::add_steps() {
  constexpr int count = 200;  // long beside begin() and finish()
  struct Alone {
    plan::Plan plan = reader_steps(count);
    exec::ChannelAlone channel;
    exec::Bound bound{plan, channel.channel(), {.shape = plan::Shape(16), .element_bytes = 4}};
    exec::Run run;
    int from[16] = {}, to[16] = {};  // one cache line
  };
  // Each process creates its own, since a channel belongs to the process that created it.
  auto alone = std::make_shared<std::unique_ptr<Alone>>();
  add(
      {Quantity::step}, first(1),
      [alone](int) {
        if (*alone == nullptr) *alone = std::make_unique<Alone>();
        return std::string();
      },
      [alone](int) {
        Alone& of = **alone;
        const bool done = of.run.begin(of.bound, of.channel.channel(), {of.from, of.to, nullptr}) == COLL_OK &&
                          of.run.finish() == COLL_OK;
        return done ? std::string() : std::string("a plan of one rank failed");
      },
      3 * count + 1);  // three steps for each, and the first post
}

}  // namespace coll::tools
