// SPDX-License-Identifier: BSD-3-Clause
// collctl calibrate: measures this machine, fits the model's table, selects algorithms by it, and writes the table.
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "config/config.h"
#include "model/fingerprint.h"
#include "model/machines.h"
#include "model/own_table.h"
#include "model/table_json.h"
#include "tools/calibrate/choose/choose.h"
#include "tools/calibrate/fit/fit.h"
#include "tools/calibrate/probes/probes.h"
#include "tools/calibrate/rules.h"
#include "tools/calibrate/values.h"
#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/common/launch.h"
#include "tools/common/output_file.h"
#include "tools/common/progress.h"
#include "tools/common/text.h"

namespace coll::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct CalibrateOptions {
  std::string output, rules;
  int ranks = 0;
  bool quick = false, json = false, system = false;
};

// The results of one calibration.
struct Calibration {
  Measured measured;
  Model model;
  Decisions decisions;
  double seconds = 0;
  fs::path output;
  std::vector<std::string> changes;
  bool had_table = false;
};

// Returns the synthetic topology by which a table describes its machine.
std::string topology_of(const topo::Machine& machine) {
  std::string text = fmt::format("package:{}", std::max(machine.packages, 1));
  int above = std::max(machine.packages, 1);
  for (const auto& [word, count] : {std::pair("numa", machine.numas), {"l3", machine.l3s}, {"core", machine.cores}}) {
    if (count < above || count % above != 0) continue;
    text += fmt::format(" {}:{}", word, count / above);
    above = count;
  }
  return text;
}

fs::path output_of(const CalibrateOptions& options, const model::Fingerprint& running) {
  if (!options.output.empty()) return options.output;
  const std::vector<std::string> directories = config::table_directories();
  if (!options.system && directories.size() < 2)
    throw Failure("no home directory is known to write the table to; use --output FILE or --system");
  return fs::path(options.system ? directories.back() : directories.front()) / model::table_file_name(running);
}

// Keeps the previous table as FILE.old and notes what has changed.
void write_output(Calibration& made) {
  model::Table before;
  made.had_table = fs::exists(made.output) && model::read_table(made.output.string(), before).ok();
  if (made.had_table) made.changes = changes(before, made.model.table, made.model.precisions);
  std::error_code error;
  const fs::path fresh = made.output.string() + ".new";
  write_file("--output", fresh, model::write_table(made.model.table));
  if (fs::exists(made.output)) fs::rename(made.output, made.output.string() + ".old", error);
  if (!error) fs::rename(fresh, made.output, error);
  if (error) throw Failure(fmt::format("cannot replace {}: {}", made.output.string(), error.message()));
}

class Bar {
 public:
  Bar(double measuring_s, double choosing_s) : parts_{measuring_s, choosing_s}, progress_(1000) {}
  // `share` is the finished share of part 0 (measuring) or 1 (choosing).
  void show(int part, double share, const std::string& what) {
    const double done = (part == 0 ? 0 : parts_[0]) + share * parts_[part];
    progress_.show(uint64_t(1000 * done / (parts_[0] + parts_[1])), what);
  }
  void clear() { progress_.clear(); }

 private:
  double parts_[2];
  Progress progress_;
};

Calibration calibrate(const CalibrateOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  Calibration made;
  topo::Machine machine;
  if (topo::Status status = topo::load_native(machine); !status.ok()) throw Failure(status.text());
  const model::Fingerprint running = model::fingerprint_of(machine);
  made.output = output_of(options, running);
  std::error_code ignored;
  // A missing directory of a path that the user gave is probably misspelt.
  if (options.output.empty()) fs::create_directories(made.output.parent_path(), ignored);
  check_writable("--output", made.output, true);
  if (!options.rules.empty()) {
    if (fs::weakly_canonical(fs::absolute(options.rules)) == fs::weakly_canonical(fs::absolute(made.output)))
      throw Failure(fmt::format("--emit-rows and --output name the same file, {}; name two files", options.rules));
    check_writable("--emit-rows", options.rules, true);
  }

  MeasureTask task{.cpus = allowed_cpus(), .machine = machine, .quick = options.quick};
  constexpr size_t most = 63;  // most processes of one run: lockstep has 64 ranks, one of which is at rest
  task.cpus.resize(std::min(task.cpus.size(), most));
  task.processes = int(task.cpus.size());
  ChooseTask choose{.cpus = task.cpus, .machine = machine, .seconds = options.quick ? 12.0 : 65.0};
  choose.quick = options.quick;
  choose.most_ranks = options.ranks > 0 ? std::min(options.ranks, task.processes) : task.processes;
  Bar bar(task.quick ? 8 : 28, choose.most_ranks > 1 ? choose.seconds * 1.1 : 0);
  made.measured = measure_machine(task, [&](double share, const std::string& what) { bar.show(0, share, what); });
  made.model = fit_model(made.measured, running, model::builtin_table(running));
  model::Table& table = made.model.table;
  table.name = fs::path(model::table_file_name(running)).stem();
  table.topology = topology_of(machine);
  table.date = fmt::format("{:%Y-%m-%d}", fmt::localtime(std::time(nullptr)));
  made.decisions = choose_all(choose, table, [&](double share, const std::string& what) { bar.show(1, share, what); });
  bar.clear();
  table.choices = made.decisions.chosen;
  made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  table.description =
      fmt::format("Measured by collctl calibrate in {:.0f} s{}; {} of {} samples were disturbed and discarded",
                  made.seconds, options.quick ? " (--quick)" : "", made.measured.discarded + made.decisions.discarded,
                  made.measured.samples + made.decisions.samples);
  write_output(made);
  if (!options.rules.empty()) write_file("--emit-rows", options.rules, rules_text(table));
  return made;
}

// ---- output ------------------------------------------------------------------------------------------------------

void print_parameters(const Model& model) {
  Table table("<>><>");
  table.row({"parameter", "value", "spread", "unit", "points"});
  for (const NamedValue& value : named_values(model.table)) {
    const auto precision = std::ranges::find(model.precisions, value.name, &Precision::name);
    const bool measured = precision != model.precisions.end();
    table.row({value.name, fmt::format("{:.4g}", value.value),
               measured ? fmt::format("+-{:.0f}%", 100 * precision->spread) : "", value.unit,
               measured ? std::to_string(precision->points) : "not measured"});
  }
  fmt::print("{}\n", table.text());
  for (const std::string& remark : model.remarks) fmt::print("{}\n", wrapped(remark, 2));
}

void print_choices(const Decisions& decisions) {
  Table table("<>><>>");
  table.row({"collective", "ranks", "up to", "selected", "predicted", "measured"});
  for (const model::Chosen& of : decisions.chosen) {
    table.row({plan::name(of.collective), std::to_string(of.ranks), bytes_text(of.up_to_bytes), text(of),
               us_text(of.predicted_us), of.measured_us > 0 ? us_text(of.measured_us) : "-"});
  }
  fmt::print("\n{}", table.text());
}

void print(const Calibration& made) {
  print_parameters(made.model);
  if (!made.decisions.chosen.empty()) {
    print_choices(made.decisions);
    fmt::print(
        "\n{}\n",
        wrapped(fmt::format("{} calls were measured. The median error of the predictions is {:.0f} %; the algorithm "
                            "with the best prediction was the fastest one, or at most 10 % slower, in {} of them.",
                            made.decisions.timed, 100 * made.decisions.median_error, made.decisions.first_was_best),
                0));
  }
  fmt::print(
      "{}\n",
      wrapped(fmt::format("{} rounds in {:.0f} s; {} of {} samples were disturbed by other processes and discarded.",
                          made.measured.rounds, made.seconds, made.measured.discarded + made.decisions.discarded,
                          made.measured.samples + made.decisions.samples),
              0));
  if (made.had_table) {
    fmt::print("\n{}\n", made.changes.empty()
                             ? "No value has changed by more than its spread."
                             : "Values that have changed by more than their spread, and other selections:");
    for (const std::string& line : made.changes) fmt::print("  {}\n", wrapped(line, 4));
    fmt::print("The previous table is kept as {}.old.\n", made.output.string());
  }
  fmt::print("The table was written to {}.\n", made.output.string());
}

ordered_json to_json(const Candidate& candidate) {
  return {{"algorithm", text(candidate.choice)},
          {"predicted_us", candidate.predicted_us},
          {"measured_us", candidate.timing.good() ? ordered_json(candidate.timing.us) : ordered_json(nullptr)},
          {"used_us", candidate.timing.good() ? ordered_json(candidate.timing.used_us) : ordered_json(nullptr)},
          {"kept", candidate.timing.kept},
          {"discarded", candidate.timing.switched + candidate.timing.stray}};
}

void print_json(const Calibration& made) {
  ordered_json parameters = ordered_json::array(), points = ordered_json::array(), comparisons = ordered_json::array();
  ordered_json curves = ordered_json::array();
  for (const NamedValue& value : named_values(made.model.table)) {
    const auto precision = std::ranges::find(made.model.precisions, value.name, &Precision::name);
    const bool measured = precision != made.model.precisions.end();
    parameters.push_back({{"name", value.name},
                          {"value", value.value},
                          {"unit", value.unit},
                          {"spread", measured ? ordered_json(precision->spread) : ordered_json(nullptr)},
                          {"points", measured ? precision->points : 0}});
  }
  for (const Point& point : made.measured.points) {
    ordered_json of = {{"quantity", text(point.key)},
                       {"us", point.timing.us},
                       {"kept", point.timing.kept},
                       {"preempted", point.timing.switched},
                       {"outliers", point.timing.stray}};
    if (!point.timing.problem.empty()) of["problem"] = point.timing.problem;
    points.push_back(of);
  }
  for (const Fitted& at : made.model.curves)
    curves.push_back({{"curve", at.curve}, {"x", at.x}, {"measured", at.measured}, {"fitted", at.fitted}});
  for (const Comparison& comparison : made.decisions.comparisons) {
    ordered_json candidates = ordered_json::array();
    for (const Candidate& candidate : comparison.candidates) candidates.push_back(to_json(candidate));
    comparisons.push_back({{"collective", plan::name(comparison.collective)},
                           {"ranks", comparison.ranks},
                           {"bytes", comparison.bytes},
                           {"candidates", candidates}});
  }
  const ordered_json json = {{"table", made.output.string()},
                             {"seconds", made.seconds},
                             {"rounds", made.measured.rounds},
                             {"samples", made.measured.samples + made.decisions.samples},
                             {"discarded", made.measured.discarded + made.decisions.discarded},
                             {"parameters", parameters},
                             {"remarks", made.model.remarks},
                             {"points", points},
                             {"curves", curves},
                             {"comparisons", comparisons},
                             {"median_error", made.decisions.median_error},
                             {"had_table", made.had_table},
                             {"changes", made.changes}};
  fmt::print("{}\n", json.dump(2));
}

}  // namespace

void add_calibrate(Command& app, Action& action) {
  auto options = std::make_shared<CalibrateOptions>();
  Command* sub = app.add_subcommand("calibrate", "Measure this machine and write the table that selects algorithms");
  Option* output =
      sub->add_option("--output", options->output, "file of the table; default: where libcoll looks for it")->file();
  sub->add_flag("--system", options->system, "write the table for all users, to /etc/libcoll/tables")
      ->excludes(output)
      ->option_text("  ");
  sub->add_option("-n,--ranks", options->ranks,
                  "select algorithms for up to this many ranks, 1 to 63;\ndefault: one per processor")
      ->range(1, 63)
      ->option_text("N");
  sub->add_option("--emit-rows", options->rules,
                  "also write the selected algorithms to this file, as rules that can be\n"
                  "sent to the project for all machines with this processor")
      ->file();
  sub->add_flag("--quick", options->quick, "fewer sizes and rounds: a first look in a third of the time");
  sub->add_flag("--json", options->json, "print the result as JSON");
  sub->footer(
      examples("  collctl calibrate\n"
               "  collctl calibrate --quick --output ./table.json --json > fit.json\n"
               "  sudo collctl calibrate --system"));
  sub->callback([&action, options] {
    action = [options] {
      const Calibration made = calibrate(*options);
      options->json ? print_json(made) : print(made);
      return exit_fine;
    };
  });
}

}  // namespace coll::tools
