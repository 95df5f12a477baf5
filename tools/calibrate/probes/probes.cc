// SPDX-License-Identifier: BSD-3-Clause
#include "tools/calibrate/probes/probes.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <sys/sysinfo.h>

#include "tools/calibrate/memory.h"
#include "tools/calibrate/probes/list.h"
#include "tools/command.h"
#include "tools/common/text.h"
#include "transport/kcoll_device.h"
#include "transport/shared_file.h"

namespace coll::tools {

namespace {

constexpr double kib = 1024, mib = 1024 * kib;

}  // namespace

const char* name(Quantity quantity) {
  static constexpr const char* names[] = {"load",
                                          "store",
                                          "fetch",
                                          "take",
                                          "short_take",
                                          "combine",
                                          "combine_fetch",
                                          "copy",
                                          "copy_alone",
                                          "stream_alone",
                                          "stream",
                                          "reduce_alone",
                                          "reduce",
                                          "reduce_stream_alone",
                                          "reduce_stream",
                                          "flag",
                                          "lines",
                                          "look",
                                          "step",
                                          "fetch_vectors",
                                          "fetch_rep_movsb",
                                          "take_vectors",
                                          "take_rep_movsb",
                                          "near_copy",
                                          "far_fetch",
                                          "shared_copy",
                                          "mapped_copy",
                                          "call",
                                          "check",
                                          "pages",
                                          "huge_page",
                                          "cma_copy",
                                          "cma_exchange",
                                          "pinned_check",
                                          "pinned_copy",
                                          "first_copy"};
  static_assert(std::size(names) == size_t(Quantity::first_copy) + 1);
  return names[size_t(quantity)];
}

std::string text(const Key& key) {
  std::string words = name(key.quantity);
  if (key.bytes > 1) words += " " + bytes_text(uint64_t(key.bytes));
  if (key.concurrent > 1) words += fmt::format(", {} at once", key.concurrent);
  if (key.quantity == Quantity::flag || key.quantity == Quantity::near_copy || key.quantity == Quantity::far_fetch)
    words += fmt::format(", {}", topo::distance_name(key.distance));
  return words;
}

std::vector<Point> Measured::of(Quantity quantity) const {
  std::vector<Point> found;
  for (const Point& point : points)
    if (point.key.quantity == quantity && point.timing.good()) found.push_back(point);
  std::ranges::stable_sort(found, {},
                           [](const Point& point) { return std::pair(point.key.concurrent, point.key.bytes); });
  return found;
}

std::string Measured::problem(Quantity quantity) const {
  std::string problem = "not measured: too few processors";
  for (const Point& point : points) {
    if (point.key.quantity != quantity) continue;
    if (point.timing.good()) return "";
    problem = point.timing.problem;
  }
  return problem;
}

std::vector<double> footprints(const topo::Machine& machine, int processes, bool quick) {
  const double l1 = machine.l1d.size_bytes > 0 ? double(machine.l1d.size_bytes) : 32 * kib;
  const double l2 = machine.l2.size_bytes > 0 ? double(machine.l2.size_bytes) : 1 * mib;
  struct sysinfo info {};
  sysinfo(&info);
  // A process has as much private as shared memory; half of the free memory is left to other programs.
  const double most = double(info.freeram) * info.mem_unit / 4 / processes;
  std::vector<double> sizes;
  for (double size : {l1 / 2, l2 / 4, l2 * 3 / 4, 4 * l2, 16 * l2, 32 * l2})
    if (size <= most && (!quick || size <= 16 * l2)) sizes.push_back(std::floor(size / 4096) * 4096);
  return sizes;
}

namespace {

// Reads the module's own counts of the work that the probes of kcoll cause. The counts include disturbances by other
// processes, so several short repetitions are counted separately.
void watch_kcoll(const MeasureTask& task, Workplace& at, Measured& measured) {
  constexpr int repetitions = 7;
  Probes probes(task, at);
  probes.add_kcoll();
  RoundsTask rounds{.processes = task.processes, .cpus = task.cpus, .with_one_at_rest = true};
  rounds.begin = [&](int process) { return at.begin(process); };
  rounds.stages.push_back(
      {.name = "kcoll's own counts", .probes = probes.probes, .seconds = 0.2, .least = 1, .most = 2});
  rounds.stages[0].begin = [](int) {
    transport::KcollStatus status;
    if (auto device = transport::KcollDevice::own(status)) device->measure_times(true);
    return std::string();
  };
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const std::unique_ptr<KcollWatch> watch = KcollWatch::start(at.kcoll_domain(), measured.kcoll_remark);
    if (watch == nullptr) return;
    measure_rounds(rounds, {});
    measured.kcoll.push_back(watch->stop());
    measured.kcoll_remark = watch->remark();
  }
}

}  // namespace

Measured measure_machine(const MeasureTask& task, const std::function<void(double, const std::string&)>& show) {
  const std::vector<double> sizes = footprints(task.machine, task.processes, task.quick);
  if (sizes.empty()) throw Failure("too little free memory to measure; end other programs");
  Workplace at(task.processes, std::max(size_t(sizes.back()), size_t(32) << 20));
  Probes probes(task, at);
  probes.add_memory(sizes);
  probes.add_lines();
  probes.add_steps();
  probes.add_near_copies();
  probes.add_shared_readers();
  probes.add_rep_movsb();
  probes.add_cma(sizes);
  probes.add_kcoll();

  RoundsTask rounds;
  rounds.processes = task.processes;
  rounds.cpus = task.cpus;
  rounds.with_one_at_rest = true;
  rounds.begin = [&](int process) { return at.begin(process); };
  // Probes with short footprints run apart from those that sweep the caches, as in a program with short messages.
  const double sweeping = 2.0 * std::max(double(task.machine.l2.size_bytes), 1 * mib);
  std::vector<size_t> members[2];
  for (size_t i = 0; i < probes.keys.size(); ++i) members[probes.keys[i].bytes > sweeping].push_back(i);
  for (const std::vector<size_t>& of : members) {
    Stage& stage = rounds.stages.emplace_back();
    for (size_t i : of) stage.probes.push_back(probes.probes[i]);
    stage.seconds = task.quick ? 2.5 : 12;
    stage.least = task.quick ? 3 : 7;
    stage.most = 200;
  }
  const RoundsResult result = measure_rounds(rounds, show);

  Measured measured{.page_bytes = double(transport::page_bytes()),
                    .rounds = std::min(result.stages[0].rounds, result.stages[1].rounds),
                    .samples = result.samples,
                    .discarded = result.discarded};
  for (size_t stage = 0; stage < 2; ++stage)
    for (size_t i = 0; i < members[stage].size(); ++i)
      measured.points.push_back({probes.keys[members[stage][i]], result.stages[stage].of[i]});
  watch_kcoll(task, at, measured);
  return measured;
}

}  // namespace coll::tools
