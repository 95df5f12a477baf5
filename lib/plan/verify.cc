// SPDX-License-Identifier: BSD-3-Clause
#include "plan/verify.h"

#include <vector>

#include "plan/check.h"
#include "plan/expression.h"
#include "plan/layout.h"
#include "plan/machine.h"
#include "plan/schedule.h"
#include "plan/verification.h"

namespace coll::plan {

namespace {

// One set of decisions of the owners, one per rank and view.
struct Mode {
  std::string name;
  std::vector<Decision> decisions;
};

std::vector<Mode> modes_of(const Plan& plan, const VerifyOptions& options) {
  size_t n = size_t(plan.ranks) * plan.views.size();
  bool choice = false;
  for (const View& view : plan.views) choice = choice || view.buffer != Buffer::none;
  std::vector<Mode> modes;
  if (!choice) {
    modes.push_back({"no buffer published", std::vector<Decision>(n, Decision::staged)});
    return modes;
  }
  if (options.staged) modes.push_back({"all views staged", std::vector<Decision>(n, Decision::staged)});
  if (options.direct) modes.push_back({"all views direct", std::vector<Decision>(n, Decision::direct)});
  for (int i = 0; i < options.mixtures; ++i) {
    uint64_t seed = options.seed + uint64_t(i);
    Random random(seed);
    Mode mode{"views mixed by seed " + std::to_string(seed), std::vector<Decision>(n)};
    for (Decision& decision : mode.decisions) decision = random.below(2) != 0 ? Decision::direct : Decision::staged;
    modes.push_back(std::move(mode));
  }
  return modes;
}

std::vector<Schedule> schedules_of(const Machine& machine, const VerifyOptions& options) {
  std::vector<Schedule> schedules;
  Random random(options.seed ^ 0x5eed);
  if (options.adversaries && !machine.lanes().empty()) {
    uint32_t ranks = uint32_t(machine.plan().ranks), lanes = uint32_t(machine.lanes().size());
    schedules.push_back({Policy::round_robin});
    schedules.push_back({Policy::last_in_first});
    schedules.push_back({Policy::readers_last});
    schedules.push_back({Policy::starve_rank, uint32_t(machine.plan().root)});
    schedules.push_back({Policy::starve_rank, random.below(ranks)});
    schedules.push_back({Policy::starve_lane, random.below(lanes)});
  }
  for (int i = 0; i < options.interleavings; ++i) schedules.push_back({Policy::random, 0, random.next()});
  return schedules;
}

std::string describe(const Schedule& schedule) {
  std::string out = name(schedule.policy);
  if (schedule.policy == Policy::starve_rank || schedule.policy == Policy::starve_lane)
    out += " " + std::to_string(schedule.victim);
  if (schedule.policy == Policy::random) out += ", seed " + std::to_string(schedule.seed);
  return out;
}

bool run(Machine& machine, Verification& verification, const Mode& mode, const Schedule& schedule, bool ordering,
         Verdict& verdict) {
  machine.reset();
  verification.begin(mode.decisions, ordering);
  bool ok = verification.watch(schedule) && verification.report_deadlock();
  if (ok && ordering) ok = verification.check_ends() && verification.check_synchronizing();
  if (ok) ok = verification.check_contents();
  ++verdict.interleavings;
  verdict.steps += machine.steps();
  return ok;
}

std::string describe(const Plan& plan, const VerifyOptions& options) {
  return std::string(name(plan.collective)) + " " + plan.algorithm + ", " + std::to_string(plan.ranks) +
         " ranks, root " + std::to_string(plan.root) + ", " +
         (plan.irregular ? "pieces of different lengths, elements" : std::to_string(options.count) + " elements") +
         " of " + std::to_string(options.element_bytes) + " bytes" + (options.in_place ? ", in place" : "") +
         (plan.parameters.empty() ? "" : ", " + plan.parameters);
}

}  // namespace

Shape shape_of(const Plan& plan, size_t count, const std::vector<size_t>& pieces) {
  Shape shape(count);
  shape.ranks = plan.ranks;
  if (pieces.empty()) return shape;
  shape.counts = pieces.data();
  switch (plan.collective) {
    case Collective::gather:
    case Collective::allgather: shape.by = Shape::By::sender; break;
    case Collective::alltoall: shape.by = Shape::By::pair; break;
    default: shape.by = Shape::By::receiver; break;
  }
  return shape;
}

Verdict verify(const Plan& plan, const VerifyOptions& options) {
  Verdict verdict;
  auto refuse = [&](const std::string& problem) {
    verdict.problem = describe(plan, options) + ": " + problem;
    return verdict;
  };
  if (options.element_bytes == 0) return refuse("elements of 0 bytes cannot be verified");
  if (options.form)
    if (auto problem = check_form(plan); !problem.empty()) return refuse(problem);

  const bool by_both = plan.collective == Collective::alltoall;
  const size_t pieces = size_t(plan.ranks) * size_t(by_both ? plan.ranks : 1);
  if (plan.irregular != !options.pieces.empty() || (plan.irregular && options.pieces.size() != pieces))
    return refuse(plan.irregular ? "an irregular plan needs a length for each of its pieces"
                                 : "the plan is for pieces of one length");
  if (options.in_place && (by_both || plan.collective == Collective::reduce_scatter))
    return refuse("its plans are never run in place");
  Layout layout(plan, shape_of(plan, options.count, options.pieces), options.element_bytes, options.in_place);
  Machine machine(layout);
  if (machine.lanes().size() > Order::most_lanes || layout.cells() > (size_t(1) << 31))
    return refuse("too large to verify: use fewer ranks or a smaller count");
  Expressions expressions(plan.ranks);
  // Clocks of many ranks take up to gigabytes, so each plan reuses the memory of the previous one on its thread.
  thread_local Order order;
  Verification verification(layout, machine, expressions, order);
  std::vector<Schedule> schedules = schedules_of(machine, options);

  verdict.synchronizes = true;
  for (const Mode& mode : modes_of(plan, options)) {
    auto failed = [&](const Schedule& schedule) {
      return refuse(mode.name + ", " + describe(schedule) + ": " + verification.problem());
    };
    Schedule first{Policy::run_ahead};
    if (!run(machine, verification, mode, first, true, verdict)) return failed(first);
    verdict.synchronizes = verdict.synchronizes && verification.synchronizes();
    for (const Schedule& schedule : schedules)
      if (!run(machine, verification, mode, schedule, false, verdict)) return failed(schedule);
  }
  verdict.association = verification.association();
  verdict.ok = true;
  return verdict;
}

}  // namespace coll::plan
