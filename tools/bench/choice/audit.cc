// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/choice/audit.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "model/candidates.h"
#include "tune/select.h"

namespace coll::tools {

namespace {

using model::Mechanism;

constexpr size_t element_bytes = 4;

// The mechanisms that a call may use. Besides a kernel-assisted copy it may stage.
std::vector<Mechanism> mechanisms_of(Mechanism transport) {
  if (!model::is_kernel_copy(transport)) return {transport};
  return {transport, Mechanism::shared_memory};
}

// Every algorithm, chunk and k, with the usual depth.
std::vector<Method> usual_methods(const Cell& cell) {
  std::vector<Method> methods;
  for (const algo::Algorithm& algorithm : algo::algorithms()) {
    if (algorithm.collective != cell.collective || !algorithm.balanced) continue;
    if (algorithm.max_bytes != 0 && cell.bytes > algorithm.max_bytes) continue;
    const model::Row* row = model::find_row(plan::name(cell.collective), algorithm.name);
    const bool staged = (row != nullptr && row->means == model::Means::staged) ||
                        double(cell.bytes) < cell.machine->table.thresholds.direct_bytes;
    const size_t whole = std::max<size_t>(std::bit_ceil(cell.bytes), 64);
    std::vector<size_t> chunks;
    for (size_t chunk : audited_chunks)
      if (algorithm.reads.chunk && chunk < cell.bytes) chunks.push_back(chunk);
    if (chunks.empty() || whole <= audited_chunks[std::size(audited_chunks) - 1]) chunks.push_back(whole);
    for (size_t chunk : chunks)
      for (uint16_t k : audited_k) {
        if (!algorithm.reads.k && k > 1) break;
        if (k >= cell.machine->hierarchy.ranks()) break;
        for (Mechanism mechanism : mechanisms_of(cell.transport)) {
          // If nothing is direct, no mechanism copies by the kernel, so only the last one is simulated.
          if (staged && mechanism != mechanisms_of(cell.transport).back()) continue;
          Method method{&algorithm, {}, mechanism};
          method.parameters.chunk_bytes = uint32_t(chunk);
          method.parameters.depth = chunk >= cell.bytes ? uint16_t(1) : audited_depth;
          if (algorithm.reads.k) method.parameters.k = k;
          const algo::PlanRequest request{.hierarchy = &cell.machine->hierarchy, .parameters = method.parameters};
          if (!algorithm.applies(request)) continue;
          if (algorithm.refuses != nullptr && !algorithm.refuses(request).empty()) continue;
          methods.push_back(method);
        }
      }
  }
  return methods;
}

// ---- choices -------------------------------------------------------------------------------------------------------

tune::Situation situation_of(const Cell& cell) {
  const model::Table& table = cell.machine->table;
  const topo::Hierarchy& hierarchy = cell.machine->hierarchy;
  tune::Situation situation{.collective = cell.collective,
                            .bytes = cell.bytes,
                            .element_bytes = element_bytes,
                            .ranks = hierarchy.ranks(),
                            .levels = hierarchy.levels(),
                            .mapped = cell.transport == Mechanism::mapped,
                            .core_cache_bytes = table.fingerprint.l2_bytes,
                            .cache_bytes = model::available_cache_bytes(table, hierarchy.ranks()),
                            .processor = table.fingerprint.processor};
  if (!model::is_kernel_copy(cell.transport)) return situation;
  situation.kernel = cell.transport;
  situation.cma_works = true;
  situation.cma_times = model::times_of_staging(table, hierarchy, cell.transport);
  situation.single_copy = situation.may_stage = situation.cma_times < 1;
  if (situation.single_copy) situation.cma_times = tune::no_copy;
  return situation;
}

Method method_of(const tune::Choice& choice, const tune::Situation& situation, const Cell& cell) {
  Method method{choice.algorithm, choice.parameters, cell.transport};
  if (model::is_kernel_copy(cell.transport) && !choice.kernel_copies && (choice.staged || !situation.single_copy))
    method.mechanism = Mechanism::shared_memory;
  return method;
}

Method chosen_by_rules(const Cell& cell) {
  const tune::Situation situation = situation_of(cell);
  return method_of(tune::Selector().shipped(situation).choice, situation, cell);
}

// The default choice of a communicator on that machine.
Method chosen_by_default(const Cell& cell, bool calibrated) {
  const tune::Situation situation = situation_of(cell);
  const std::shared_ptr<const model::Table> table(std::shared_ptr<void>(), calibrated ? &cell.machine->table : nullptr);
  tune::Selector selector(table, cell.machine->hierarchy, cell.machine->table.fingerprint);
  return method_of(selector.select(situation).choice, situation, cell);
}

model::Call call_of(const Cell& cell) {
  return {.collective = cell.collective, .bytes = double(cell.bytes), .element_bytes = element_bytes};
}

// ---- cells ---------------------------------------------------------------------------------------------------------

class CellAudit {
 public:
  CellAudit(const Cell& cell, VirtualTimes& times, const AuditOptions& options)
      : cell_(cell),
        calibrated_(options.calibrated),
        of_interest_(options.of_interest),
        prices_(cell.machine->table, cell.machine->hierarchy, mechanisms_of(cell.transport)),
        times_(times) {
    made_.cell = cell;
  }

  Audited run() {
    made_.by_price = timed(chosen_by_default(cell_, calibrated_));
    made_.by_rules = timed(chosen_by_rules(cell_));
    // Cheapest first, so that the limit soon stops slow runs.
    std::vector<std::pair<double, Method>> methods;
    for (const Method& method : usual_methods(cell_))
      if (times_.fits(method)) methods.emplace_back(priced_us(method), method);
    std::ranges::stable_sort(methods, {}, &std::pair<double, Method>::first);
    for (const auto& [us, method] : methods) timed(method);
    // Other depths of the algorithms that are near the best.
    for (const Timed& near : best_of_each()) {
      if (near.us > near_best * best_us_ || !near.method.algorithm->reads.depth || near.method.parameters.depth == 1)
        continue;
      for (uint16_t depth : audited_other_depths) {
        Method method = near.method;
        method.parameters.depth = depth;
        if (times_.fits(method)) timed(method);
      }
    }
    std::ranges::sort(made_.all, {}, &Timed::us);
    std::erase_if(made_.all, [&](const Timed& of) { return of.us > of_interest_ * best_us_; });
    refine();
    made_.best = *std::ranges::min_element(made_.all, {}, &Timed::us);
    return std::move(made_);
  }

 private:
  double priced_us(const Method& method) const {
    return prices_.us({method.algorithm, method.parameters, method.mechanism}, call_of(cell_));
  }
  Timed timed(const Method& method) {
    for (const Timed& known : made_.all)
      if (known.method == method) return known;
    // Runs much longer than the best are abandoned, unless they are a choice.
    const double limit = made_.by_rules.us > 0 ? of_interest_ * best_us_ : std::numeric_limits<double>::infinity();
    const Timed of{method, times_.us(method, cell_.bytes, limit), priced_us(method)};
    if (of.us < std::numeric_limits<double>::infinity()) made_.all.push_back(of);
    best_us_ = std::min(best_us_, of.us);
    return of;
  }
  // Times the choices and the fastest methods again, from longer runs.
  void refine() {
    constexpr size_t fastest = 2;
    const auto again = [&](Timed& of) { of.us = times_.refined_us(of.method, cell_.bytes); };
    for (size_t i = 0; i < made_.all.size(); ++i) {
      Timed& of = made_.all[i];
      const bool is_chosen = of.method == made_.by_price.method || of.method == made_.by_rules.method;
      if (i < fastest || is_chosen) again(of);
    }
    for (Timed* chosen : {&made_.by_price, &made_.by_rules}) {
      const auto same = std::ranges::find(made_.all, chosen->method, &Timed::method);
      if (same != made_.all.end()) chosen->us = same->us;
      else again(*chosen);
    }
  }
  std::vector<Timed> best_of_each() const {
    std::vector<Timed> best;
    for (const Timed& of : made_.all) {
      const auto same = std::ranges::find_if(best, [&](const Timed& other) {
        return other.method.algorithm == of.method.algorithm && other.method.mechanism == of.method.mechanism;
      });
      if (same == best.end()) best.push_back(of);
      else if (of.us < same->us) *same = of;
    }
    return best;
  }

  const Cell cell_;
  const bool calibrated_;     // AuditOptions::calibrated
  const double of_interest_;  // AuditOptions::of_interest
  const model::Prices prices_;
  VirtualTimes& times_;
  Audited made_;
  double best_us_ = std::numeric_limits<double>::infinity();
};

}  // namespace

std::vector<Audited> audit(const std::vector<AuditedMachine>& machines, const AuditOptions& options,
                           const std::function<void(size_t, size_t, const std::string&)>& progress) {
  // The cells of one machine and collective share their plans.
  struct Batch {
    std::vector<Cell> cells;
    std::vector<Audited> audited;
    std::string what;
  };
  std::vector<Batch> batches;
  size_t all = 0;
  for (const AuditedMachine& machine : machines)
    for (plan::Collective collective : options.collectives) {
      Batch& batch = batches.emplace_back();
      batch.what = machine.table.name + " " + plan::name(collective);
      for (size_t bytes : collective == plan::Collective::barrier ? std::vector<size_t>{0} : machine.sizes)
        for (Mechanism transport : options.transports)
          if (machine.table.of(transport).available && (transport == Mechanism::shared_memory || bytes > 0))
            batch.cells.push_back({&machine, collective, bytes, transport});
      all += batch.cells.size();
    }

  std::atomic<size_t> next = 0, done = 0, begun = 0, running;
  std::exception_ptr problem;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (size_t index; (index = next++) < batches.size();) {
        Batch& batch = batches[index];
        begun = index;
        for (size_t at = 0; at < batch.cells.size();) {
          VirtualTimes times(*batch.cells[at].machine);
          for (; at < batch.cells.size(); ++at, ++done)
            batch.audited.push_back(CellAudit(batch.cells[at], times, options).run());
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      problem = std::current_exception();
      next = batches.size();
    }
    --running;
  };
  const int threads = options.threads > 0 ? options.threads : int(std::max(1u, std::thread::hardware_concurrency()));
  running = size_t(threads);
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i) workers.emplace_back(work);
    while (running > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      progress(done, all, batches[std::min<size_t>(begun, batches.size() - 1)].what);
    }
  }
  if (problem) std::rethrow_exception(problem);
  std::vector<Audited> made;
  for (Batch& batch : batches) std::ranges::move(batch.audited, std::back_inserter(made));
  return made;
}

}  // namespace coll::tools
