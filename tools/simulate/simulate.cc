// SPDX-License-Identifier: BSD-3-Clause
// collctl simulate: runs one plan in virtual time, on any described machine.
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plan/verify.h"
#include "sim/simulate.h"
#include "sim/trace.h"
#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/common/call_options.h"
#include "tools/common/choose_plans.h"
#include "tools/common/machine.h"
#include "tools/common/output_file.h"
#include "tools/common/text.h"

namespace coll::tools {
namespace {

using nlohmann::ordered_json;

struct SimulateOptions : CallOptions {
  std::string algorithm, transport = "mapped", trace;
  int root = 0;
  double skew_us = 0;
  uint64_t seed = 1;
  bool json = false;
};

struct Simulated {
  ModelMachine machine;
  plan::Plan plan;
  size_t bytes = 0;
  sim::Result run;
};

// Parses --transport: mapped, shm, or a mechanism of the kernel.
sim::Options run_options(const SimulateOptions& options) {
  sim::Options run = {.skew_us = options.skew_us, .seed = options.seed, .record = !options.trace.empty()};
  if (options.transport == "mapped") return run;
  run.access = options.transport == "shm" ? plan::AccessMode::staged : plan::AccessMode::remote;
  if (run.access == plan::AccessMode::staged) return run;
  for (model::Mechanism mechanism : model::all_mechanisms)
    if (model::is_kernel_copy(mechanism) && options.transport == model::name(mechanism)) {
      run.kernel = mechanism;
      return run;
    }
  throw usage(fmt::format("--transport: unknown value '{}'; use shm, cma, kcoll_first_touch, kcoll_pinned or mapped",
                          options.transport));
}

Simulated simulated(const SimulateOptions& options) {
  const Call call = parse_call(options);
  const plan::Collective collective = call.collective;
  if (options.root >= options.ranks)
    throw usage(
        fmt::format("--root {}: there are {} ranks; use 0 to {}", options.root, options.ranks, options.ranks - 1));
  if (options.root != 0 && !is_rooted(collective))
    throw usage(fmt::format("--root: {} has no root; leave it out", plan::name(collective)));
  Simulated made;
  made.bytes = call.bytes;
  const sim::Options run = run_options(options);
  const tune::Choice choice = parse_algorithm(collective, options.algorithm);
  size_t count = made.bytes / call.element_bytes;
  std::vector<size_t> blocks;
  if (collective == plan::Collective::reduce_scatter) {
    if (count % size_t(options.ranks) != 0)
      blocks = uneven_blocks(*choice.algorithm, count, options.ranks, call.element_bytes, "SIZE", options.size);
    count /= size_t(options.ranks);
  }
  made.machine = machine_of(options);
  if (choice.algorithm->refuses != nullptr)
    if (const std::string refused =
            choice.algorithm->refuses({.hierarchy = &made.machine.hierarchy, .parameters = choice.parameters});
        !refused.empty())
      throw usage(fmt::format("--algorithm {}: {}", choice.algorithm->name, refused));
  made.plan = choice.algorithm->make({.hierarchy = &made.machine.hierarchy,
                                      .root = options.root,
                                      .irregular = !blocks.empty(),
                                      .parameters = choice.parameters});
  made.run = sim::simulate(made.plan, plan::shape_of(made.plan, count, blocks), call.element_bytes,
                           made.machine.hierarchy, made.machine.table, run);
  if (!made.run.problem.empty()) throw Failure("the plan cannot run: " + made.run.problem);
  return made;
}

// Mean values over all ranks.
struct Means {
  double copying_us = 0, reducing_us = 0, waiting_us = 0;
  explicit Means(const sim::Result& run) {
    const double n = double(run.ranks.size());
    for (const sim::RankTime& rank : run.ranks) {
      copying_us += rank.copying_us / n;
      reducing_us += rank.reducing_us / n;
      waiting_us += rank.waiting_us / n;
    }
  }
};

ordered_json to_json(const SimulateOptions& options, const Simulated& made) {
  const Means means(made.run);
  ordered_json ranks = ordered_json::array();
  for (const sim::RankTime& rank : made.run.ranks)
    ranks.push_back({{"arrival_us", rank.arrival_us},
                     {"end_us", rank.end_us},
                     {"copying_us", rank.copying_us},
                     {"reducing_us", rank.reducing_us},
                     {"waiting_us", rank.waiting_us}});
  return {{"collective", plan::name(made.plan.collective)},
          {"algorithm", made.plan.algorithm},
          {"parameters", made.plan.parameters},
          {"bytes", made.bytes},
          {"ranks", made.plan.ranks},
          {"root", made.plan.root},
          {"machine", made.machine.table.name},
          {"hierarchy", topo::describe(made.machine.hierarchy)},
          {"transport", options.transport},
          {"skew_us", options.skew_us},
          {"seed", options.seed},
          {"end_us", made.run.end_us},
          {"mean",
           {{"copying_us", means.copying_us}, {"reducing_us", means.reducing_us}, {"waiting_us", means.waiting_us}}},
          {"max_concurrent_locks", made.run.most_locking},
          {"steps_executed", made.run.steps},
          {"by_rank", ranks}};
}

void print(const SimulateOptions& options, const Simulated& made) {
  const auto line = [](const char* label, const std::string& text) {
    fmt::print("{:<11}{}\n", label, wrapped(text, 11));
  };
  const Means means(made.run);
  line("plan", fmt::format("{} {}{}{}", plan::name(made.plan.collective), made.plan.algorithm,
                           made.plan.parameters.empty() ? "" : ", " + made.plan.parameters,
                           is_rooted(made.plan.collective) ? fmt::format(", root {}", made.plan.root) : ""));
  if (made.bytes != 0) line("size", bytes_text(made.bytes));
  line("machine", made.machine.origin);
  line("ranks", topo::describe(made.machine.hierarchy) + ", mapped by " + options.map_by);
  line("transport", options.transport);
  line("time",
       us_text(made.run.end_us) + (options.skew_us > 0 ? " from the earliest possible arrival to the last rank's end"
                                                       : " from the ranks' arrival to the last rank's end"));
  line("per rank", fmt::format("copies for {}, reduces for {}, waits for {} (means over the ranks)",
                               us_text(means.copying_us), us_text(means.reducing_us), us_text(means.waiting_us)));
  if (made.run.most_locking > 0)
    line("locks", fmt::format("at most {:.3g} ranks lock pages of one process at once", made.run.most_locking));
  line("steps", count_text(made.run.steps) + " executed");
}

int simulate(const SimulateOptions& options) {
  const Simulated made = simulated(options);
  if (!options.trace.empty()) {
    const ordered_json about = {{"origin", "simulated"},
                                {"machine", made.machine.table.name},
                                {"ranks", made.plan.ranks},
                                {"bytes", made.bytes},
                                {"transport", options.transport}};
    write_file("--trace", options.trace, sim::chrome_trace(made.plan, made.run, about.dump()));
  }
  if (options.json) return fmt::print("{}\n", to_json(options, made).dump(2)), exit_fine;
  print(options, made);
  return exit_fine;
}

}  // namespace

void add_simulate(Command& app, Action& action) {
  auto options = std::make_shared<SimulateOptions>();
  Command* sub = app.add_subcommand("simulate", "Run a plan in virtual time on any described machine");
  add_call_options(*sub, *options)->required();
  sub->add_option("--algorithm", options->algorithm,
                  "algorithm, with parameters if wanted; see collctl list (required)")
      ->required()
      ->option_text("A");
  sub->add_option("--root", options->root, "root of bcast, reduce, scatter and gather; default: 0")
      ->at_least_zero()
      ->option_text("R");
  sub->add_option("--transport", options->transport,
                  "how peers access each other's buffers: shm (all data is staged),\n"
                  "cma, kcoll_first_touch or kcoll_pinned (kernel-assisted copies, the\n"
                  "last two by the module kcoll), mapped (loads and stores; default)")
      ->option_text("HOW");
  sub->add_option("--skew", options->skew_us, "ranks arrive at random within this many microseconds; default: 0")
      ->at_least_zero()
      ->range(0.0, 1e9)
      ->option_text("US");
  sub->add_option("--seed", options->seed, "seed of the random arrivals; default: 1")->option_text("N");
  sub->add_option("--trace", options->trace, "write a timeline for Perfetto (ui.perfetto.dev)")->file();
  sub->add_flag("--json", options->json, "print the result as JSON");
  sub->footer(
      examples("  collctl simulate bcast 1M -n 64 --machine epyc-2p --algorithm hierarchical --trace t.json\n"
               "  collctl simulate scatter 1M -n 64 --machine knl --algorithm throttled_read:k=8 --transport cma\n"
               "Built-in machines: " +
               known_machines()));
  sub->callback([&action, options] { action = [options] { return simulate(*options); }; });
}

}  // namespace coll::tools
