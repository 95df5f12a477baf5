// SPDX-License-Identifier: BSD-3-Clause
// collctl bench choice: compares the library's choices with the best ones in virtual time, on any machine.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/bench/choice/audit.h"
#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/common/choose_plans.h"
#include "tools/common/progress.h"
#include "tools/common/text.h"

namespace coll::tools {
namespace {

using nlohmann::ordered_json;

struct ChoiceOptions {
  std::string machine, collective = "all", sizes = "64,1K,16K,128K,1M,8M", transport = "all";
  int ranks = 0, tables = 0, threads = 0, worst = 10;
  bool json = false, times = false, uncalibrated = false;
};

// The summary of an audit for one way to choose: by the rules or by price.
struct Score {
  double log_sum = 0, worst = 1;
  size_t cells = 0, near = 0;
  void add(double ratio) {
    log_sum += std::log(ratio);
    worst = std::max(worst, ratio);
    ++cells;
    near += ratio <= near_best;
  }
  double mean() const { return cells == 0 ? 1 : std::exp(log_sum / double(cells)); }
  double share() const { return cells == 0 ? 1 : double(near) / double(cells); }
};

struct Scores {
  Score rules, price;
  void add(const Audited& of) {
    rules.add(of.rules_ratio());
    price.add(of.price_ratio());
  }
};

// The errors of one algorithm's formula relative to the simulator.
struct Errors {
  std::vector<double> sizes;
  const Audited* worst_cell = nullptr;
  const Timed* worst = nullptr;
};

std::map<std::string, Errors> errors_of(const std::vector<Audited>& cells) {
  std::map<std::string, Errors> made;
  for (const Audited& cell : cells)
    for (const Timed& of : cell.all) {
      if (of.priced_us <= 0) continue;
      Errors& errors = made[fmt::format("{} {}", plan::name(cell.cell.collective), of.method.algorithm->name)];
      const double size = std::abs(std::log(of.priced_us / of.us));
      errors.sizes.push_back(size);
      if (errors.worst == nullptr || size > std::abs(std::log(errors.worst->priced_us / errors.worst->us)))
        errors.worst = &of, errors.worst_cell = &cell;
    }
  for (auto& [name, errors] : made) std::ranges::sort(errors.sizes);
  return made;
}

std::string cell_text(const Cell& cell) {
  return fmt::format("{} {} {} {}", cell.machine->table.name, plan::name(cell.collective),
                     cell.bytes == 0 ? "-" : bytes_text(cell.bytes), model::name(cell.transport));
}

void print_scores(const std::vector<Audited>& cells) {
  std::map<std::string, Scores> by_machine, by_collective, by_transport;
  Scores whole;
  for (const Audited& cell : cells) {
    by_machine[cell.cell.machine->table.name].add(cell);
    by_collective[plan::name(cell.cell.collective)].add(cell);
    by_transport[model::name(cell.cell.transport)].add(cell);
    whole.add(cell);
  }
  Table table("<>>>>>>>");
  table.row({"", "cells", "rules: mean", "<= 1.1", "worst", "price: mean", "<= 1.1", "worst"});
  const auto row = [&](const std::string& name, const Scores& of) {
    table.row({name, fmt::format("{}", of.rules.cells), fmt::format("{:.3f}", of.rules.mean()),
               fmt::format("{:.0f} %", 100 * of.rules.share()), fmt::format("{:.2f}", of.rules.worst),
               fmt::format("{:.3f}", of.price.mean()), fmt::format("{:.0f} %", 100 * of.price.share()),
               fmt::format("{:.2f}", of.price.worst)});
  };
  for (const auto& [name, scores] : by_machine) row(name, scores);
  for (const auto& [name, scores] : by_collective) row(name, scores);
  for (const auto& [name, scores] : by_transport) row(name, scores);
  row("all", whole);
  fmt::print("{}\n", table.text());
}

void print_worst(const std::vector<Audited>& cells, const char* title, double (Audited::*ratio)() const,
                 Timed Audited::*chosen, int most) {
  std::vector<const Audited*> sorted;
  for (const Audited& cell : cells)
    if ((cell.*ratio)() > near_best) sorted.push_back(&cell);
  std::ranges::sort(sorted, std::greater<>(), [&](const Audited* cell) { return (cell->*ratio)(); });
  if (int(sorted.size()) > most) sorted.resize(size_t(most));
  if (sorted.empty()) return;
  fmt::print("Worst cells, {}:\n", title);
  Table table("<><><>");
  table.row({"cell", "ratio", "chosen", "time", "best", "time"});
  for (const Audited* cell : sorted)
    table.row({cell_text(cell->cell), fmt::format("{:.2f}", (cell->*ratio)()), (cell->*chosen).method.text(),
               us_text((cell->*chosen).us), cell->best.method.text(), us_text(cell->best.us)});
  fmt::print("{}\n", table.text());
}

void print_errors(const std::vector<Audited>& cells) {
  Table table("<>>>><");
  table.row({"formula", "runs", "median", "90 %", "within 10 %", "worst"});
  for (const auto& [name, errors] : errors_of(cells)) {
    const auto at = [&errors = errors](double share) {
      return std::exp(errors.sizes[size_t(share * double(errors.sizes.size() - 1))]);
    };
    const auto close = std::ranges::count_if(errors.sizes, [](double size) { return size <= std::log(near_best); });
    table.row({name, fmt::format("{}", errors.sizes.size()), fmt::format("{:.2f}", at(0.5)),
               fmt::format("{:.2f}", at(0.9)),
               fmt::format("{:.0f} %", 100 * double(close) / double(errors.sizes.size())),
               fmt::format("{:.2f} times: {}, {}", errors.worst->priced_us / errors.worst->us,
                           cell_text(errors.worst_cell->cell), errors.worst->method.text())});
  }
  fmt::print("Priced over simulated times, of runs at most twice as long as the best:\n{}\n", table.text());
}

ordered_json to_json(const Timed& of) {
  return {{"algorithm", of.method.algorithm->name},
          {"chunk", of.method.parameters.chunk_bytes},
          {"depth", of.method.parameters.depth},
          {"k", of.method.parameters.k},
          {"transport", model::name(of.method.mechanism)},
          {"simulated_us", of.us},
          {"priced_us", of.priced_us}};
}

ordered_json to_json(const Score& of) {
  return {{"geometric_mean", of.mean()}, {"share_within_10_percent", of.share()}, {"worst", of.worst}};
}

ordered_json to_json(const std::vector<Audited>& cells, const ChoiceOptions& options) {
  ordered_json rows = ordered_json::array();
  Scores whole;
  for (const Audited& cell : cells) {
    whole.add(cell);
    ordered_json row = {{"machine", cell.cell.machine->table.name},
                        {"ranks", cell.cell.machine->hierarchy.ranks()},
                        {"collective", plan::name(cell.cell.collective)},
                        {"bytes", cell.cell.bytes},
                        {"transport", model::name(cell.cell.transport)},
                        {"best", to_json(cell.best)},
                        {"rules", to_json(cell.by_rules)},
                        {"price", to_json(cell.by_price)}};
    if (options.times) {
      row["all"] = ordered_json::array();
      for (const Timed& of : cell.all) row["all"].push_back(to_json(of));
    }
    rows.push_back(row);
  }
  return {{"machine", options.machine},
          {"cells", rows.size()},
          {"rules", to_json(whole.rules)},
          {"price", to_json(whole.price)},
          {"rows", rows}};
}

std::vector<model::Mechanism> transports_of(const std::string& text) {
  using model::Mechanism;
  if (text == "all") return {Mechanism::shared_memory, Mechanism::cma, Mechanism::kcoll_pinned, Mechanism::mapped};
  if (text == "shm") return {Mechanism::shared_memory};
  for (Mechanism mechanism : model::all_mechanisms)
    if (text == model::name(mechanism)) return {mechanism};
  throw usage(fmt::format(
      "--transport: unknown value '{}'; use all, shm, cma, kcoll_first_touch, kcoll_pinned or mapped", text));
}

int choice(const ChoiceOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<AuditedMachine> machines =
      audited_machines(options.machine, options.ranks, options.tables, parse_sizes(options.sizes, "--sizes"));
  Progress progress(1000);
  const std::vector<Audited> cells =
      audit(machines,
            {.collectives = parse_collectives(options.collective),
             .transports = transports_of(options.transport),
             .threads = options.threads,
             .calibrated = !options.uncalibrated,
             .of_interest = options.times ? 2 : near_best},
            [&](size_t done, size_t all, const std::string& what) {
              progress.show(all == 0 ? 0 : uint64_t(1000 * done / all), fmt::format("{} of {}, {}", done, all, what));
            });
  progress.clear();
  if (cells.empty()) throw usage("--transport: the machine does not have it; use all");
  if (options.json) return fmt::print("{}\n", to_json(cells, options).dump(1)), exit_fine;
  for (const AuditedMachine& machine : machines) fmt::print("{}\n", wrapped(machine.text(), 2));
  fmt::print("\n");
  print_scores(cells);
  print_worst(cells, "by price", &Audited::price_ratio, &Audited::by_price, options.worst);
  print_worst(cells, "by the rules", &Audited::rules_ratio, &Audited::by_rules, options.worst);
  if (options.times) print_errors(cells);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{}\n",
             wrapped(fmt::format("Simulated time of the choice over that of the best one, in {} cells; {:.1f} s.",
                                 cells.size(), seconds),
                     0));
  return exit_fine;
}

}  // namespace

void add_choice(Command& app, Action& action) {
  auto options = std::make_shared<ChoiceOptions>();
  Command* sub = app.get_subcommand("bench")->add_alternative(
      "choice", "Compare the library's choices with the best ones, in virtual time");
  sub->add_option("--machine", options->machine,
                  "a built-in machine or the file of a table, all (seven machines that\n"
                  "papers describe), or random:SEED for tables drawn at random (required)")
      ->required()
      ->option_text("NAME");
  sub->add_option("-n,--ranks", options->ranks,
                  "number of ranks of one machine; default: as for all, or one on each core")
      ->range(2, 4096)
      ->option_text("N");
  sub->add_option("--tables", options->tables, "number of tables to draw at random, 1 to 1000; default: 20")
      ->range(1, 1000)
      ->option_text("N");
  sub->add_option("--collective", options->collective, "one collective; default: all")->option_text("NAME");
  sub->add_option("--sizes", options->sizes,
                  "bytes of the vector, or of the block that one rank has for one other;\n"
                  "default: 64,1K,16K,128K,1M,8M")
      ->option_text("BYTES");
  sub->add_option("--transport", options->transport,
                  "shm, cma, kcoll_first_touch, kcoll_pinned or mapped; default: all,\n"
                  "which is shm, cma, kcoll_pinned and mapped")
      ->option_text("HOW");
  sub->add_flag("--uncalibrated", options->uncalibrated,
                "choose by the nearest built-in table instead of the machine's own, as where\n"
                "collctl calibrate has not run");
  sub->add_option("--worst", options->worst, "number of worst cells to print; default: 10")
      ->range(0, 100000)
      ->option_text("N");
  sub->add_option("--threads", options->threads, "number of threads; default: one per processor")
      ->range(1, 4096)
      ->option_text("N");
  sub->add_flag("--times", options->times, "compare the prices of all algorithms with their simulated times, too");
  sub->add_flag("--json", options->json, "print the result as JSON");
  sub->footer(
      examples("  collctl bench choice --machine all\n"
               "  collctl bench choice --machine epyc-2p -n 64 --collective bcast --transport shm --times\n"
               "  collctl bench choice --machine random:7 --tables 5 --json"));
  sub->callback([&action, options] { action = [options] { return choice(*options); }; });
}

}  // namespace coll::tools
