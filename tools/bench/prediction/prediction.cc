// SPDX-License-Identifier: BSD-3-Clause
// collctl bench prediction: compares, for each collective and size, the predicted time of this machine's table with the
// measured one, and the selected algorithm with the fastest one. All algorithms of a size are timed in turn in one run.
#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/fingerprint.h"
#include "tools/calibrate/choose/comparison.h"
#include "tools/calibrate/choose/prices.h"
#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/common/choose_plans.h"
#include "tools/common/launch.h"
#include "tools/common/machine.h"
#include "tools/common/median.h"
#include "tools/common/progress.h"
#include "tools/common/text.h"
#include "tools/plan/decision.h"
#include "tune/rules.h"

namespace coll::tools {
namespace {

using nlohmann::ordered_json;

constexpr double most_error = 0.15, near_best = 1.10, share_wanted = 0.90;

struct PredictionOptions {
  std::string collective = "all", sizes = "4K,8K,16K,32K,64K,128K,256K,512K,1M,2M,4M,8M,16M";
  int ranks = 2, most_candidates = 64;
  double seconds = 0.5;
  bool json = false;
};

// One collective and size.
struct Cell {
  tune::Selection selected;
  bool by_latency_path = false;  // the latency path serves the call, whatever algorithm `selected` names
  Comparison comparison;         // the selected algorithm is its first candidate
  // Relative errors of the model's prediction and of the time that the calibration measured; negative: there is none.
  double error() const { return off(comparison.candidates.front().predicted_us); }
  double drift() const { return selected.expected_us > 0 ? off(selected.expected_us) : -1; }
  const Candidate& best() const { return comparison.candidates[size_t(comparison.winner())]; }
  double ratio() const { return comparison.candidates.front().timing.used_us / best().timing.used_us; }

 private:
  double off(double us) const { return std::abs(us / comparison.candidates.front().timing.us - 1); }
};

struct Predictions {
  ModelMachine machine;
  std::vector<Cell> cells;
  std::vector<std::string> left_out;  // cells that could not be timed
  double median_error = 0, median_drift = 0, share_near_best = 0;
};

// The time that calibration measured for the latency path at this size; 0: none.
double measured_latency_us(const model::Table& table, const Comparison& of) {
  const auto row = std::ranges::find_if(table.choices, [&](const model::Chosen& one) {
    return one.collective == of.collective && one.ranks == of.ranks && one.up_to_bytes == of.bytes;
  });
  return row == table.choices.end() || row->algorithm != nullptr ? 0 : row->measured_us;
}

Cell cell_of(const ModelMachine& machine, tune::Selector& selector, plan::Collective collective, size_t bytes,
             int most_candidates) {
  constexpr size_t element = 4;
  const tune::Situation situation = situation_on(machine, collective, bytes, element);
  Cell cell{.selected = selector.select(situation)};
  cell.comparison = {.collective = collective, .ranks = machine.hierarchy.ranks(), .bytes = bytes};
  Candidate first{.choice = cell.selected.choice};
  const bool has_row = cell.selected.row != nullptr && cell.selected.row->up_to_bytes == bytes;
  first.predicted_us = has_row ? cell.selected.row->predicted_us : price_of(first.choice, bytes, machine);
  std::vector<Candidate> others = price_all(collective, bytes, machine);
  const auto latency = std::ranges::find_if(others, [](const Candidate& of) { return of.choice.algorithm == nullptr; });
  if (latency != others.end() && decide(machine, selector, collective, bytes, element, false).latency) {
    first = *latency;
    cell.by_latency_path = true;
    cell.selected.expected_us = measured_latency_us(*machine.chosen_by, cell.comparison);
  }
  cell.comparison.candidates.push_back(first);
  for (Candidate& other : others)
    if (!same(other.choice, first.choice) && int(cell.comparison.candidates.size()) <= most_candidates)
      cell.comparison.candidates.push_back(std::move(other));
  return cell;
}

Predictions measure_predictions(const PredictionOptions& options) {
  Predictions made;
  const std::vector<int> cpus = allowed_cpus();
  if (int(cpus.size()) < options.ranks)
    throw usage(fmt::format("--ranks {}: every rank needs a processor of its own, and this process may use {}",
                            options.ranks, cpus.size()));
  const std::vector<size_t> sizes = parse_sizes(options.sizes, "--sizes");
  const std::vector<plan::Collective> collectives = parse_collectives(options.collective);
  made.machine = model_machine("", options.ranks, "core", topo::Sensitivity::standard().text());
  if (made.machine.chosen_by == nullptr || made.machine.chosen_by->choices.empty())
    throw Failure("this machine has no table of measured algorithms; run collctl calibrate first");
  tune::Selector selector(made.machine.chosen_by, made.machine.hierarchy, model::hardware_of(made.machine.machine));
  for (const plan::Collective collective : collectives) {
    if (collective == plan::Collective::barrier) continue;
    for (const size_t bytes : sizes)
      made.cells.push_back(cell_of(made.machine, selector, collective, bytes, options.most_candidates));
  }
  if (made.cells.empty()) throw usage("--collective: a barrier has no sizes; name another collective");
  std::vector<Comparison> comparisons;
  for (const Cell& cell : made.cells) comparisons.push_back(cell.comparison);
  Progress progress(1000);
  const double quarter = options.seconds / 4;
  const Rules rules{.phases = {{quarter, 3, 1.4}, {quarter, 4, 1.2}, {quarter, 5, 1.15}, {quarter, 5}},
                    .first_stays = true};
  run_comparisons(comparisons, {cpus.begin(), cpus.begin() + options.ranks}, rules,
                  [&](double share, const std::string& what) { progress.show(uint64_t(1000 * share), what); });
  progress.clear();
  std::vector<Cell> timed;
  std::vector<double> errors, drifts;
  size_t near = 0;
  for (size_t i = 0; i < made.cells.size(); ++i) {
    Cell& cell = made.cells[i];
    cell.comparison = std::move(comparisons[i]);
    const Timing& first = cell.comparison.candidates.front().timing;
    if (!first.good()) {
      made.left_out.push_back(
          fmt::format("{} of {}: {}", plan::name(cell.comparison.collective), bytes_text(cell.comparison.bytes),
                      first.problem.empty() ? "other processes disturbed every sample" : first.problem));
      continue;
    }
    errors.push_back(cell.error());
    if (cell.drift() >= 0) drifts.push_back(cell.drift());
    near += cell.ratio() <= near_best;
    timed.push_back(std::move(cell));
  }
  made.cells = std::move(timed);
  if (made.cells.empty()) throw Failure("nothing could be measured: " + made.left_out.front());
  made.median_error = median(errors);
  made.median_drift = median(drifts);
  made.share_near_best = double(near) / double(made.cells.size());
  return made;
}

void print(const Predictions& of) {
  fmt::print("{}\n\n", wrapped(of.machine.origin, 0));
  Table table("<>>>>><<>");
  table.row({"collective", "size", "calibrated", "predicted", "measured", "error", "selected", "fastest",
             "selected/fastest"});
  for (const Cell& cell : of.cells) {
    const Candidate& first = cell.comparison.candidates.front();
    const bool is_best = &cell.best() == &first;
    table.row({plan::name(cell.comparison.collective), bytes_text(cell.comparison.bytes),
               cell.selected.expected_us > 0 ? us_text(cell.selected.expected_us) : "-", us_text(first.predicted_us),
               us_text(first.timing.us), fmt::format("{:+.0f} %", 100 * (first.predicted_us / first.timing.us - 1)),
               text(first.choice), is_best ? "the same" : text(cell.best().choice),
               fmt::format("{:.2f}", cell.ratio())});
  }
  fmt::print("{}\n", table.text());
  for (const std::string& line : of.left_out) fmt::print("not measured: {}\n", line);
  fmt::print(
      "Median error of the predictions: {:.0f} % (target: at most {:.0f} %): {}.\n"
      "The selected algorithm is at most {:.0f} % slower than the fastest one in {:.0f} % of {} points (target: at "
      "least "
      "{:.0f} %): {}.\n"
      "Times now differ from those of the calibration by {:.0f} % (median).\n",
      100 * of.median_error, 100 * most_error, of.median_error <= most_error ? "met" : "MISSED", 100 * (near_best - 1),
      100 * of.share_near_best, of.cells.size(), 100 * share_wanted,
      of.share_near_best >= share_wanted ? "met" : "MISSED", 100 * of.median_drift);
}

void print_json(const Predictions& of) {
  ordered_json points = ordered_json::array();
  for (const Cell& cell : of.cells) {
    const Candidate& first = cell.comparison.candidates.front();
    ordered_json others = ordered_json::array();
    for (const Candidate& candidate : cell.comparison.candidates)
      others.push_back(
          {{"algorithm", text(candidate.choice)},
           {"predicted_us", candidate.predicted_us},
           {"measured_us", candidate.timing.good() ? ordered_json(candidate.timing.us) : ordered_json(nullptr)},
           {"used_us", candidate.timing.good() ? ordered_json(candidate.timing.used_us) : ordered_json(nullptr)}});
    points.push_back(
        {{"collective", plan::name(cell.comparison.collective)},
         {"bytes", cell.comparison.bytes},
         {"calibrated_us", cell.selected.expected_us},
         {"predicted_us", first.predicted_us},
         {"measured_us", first.timing.us},
         {"error", cell.error()},
         {"selected", text(first.choice)},
         {"decided_by", cell.by_latency_path ? "limit of the latency path" : tune::source_text(cell.selected)},
         {"best", text(cell.best().choice)},
         {"ratio", cell.ratio()},
         {"algorithms", others}});
  }
  const ordered_json json = {
      {"table", of.machine.origin},
      {"ranks", of.machine.hierarchy.ranks()},
      {"points", points},
      {"not_measured", of.left_out},
      {"median_error", of.median_error},
      {"median_drift", of.median_drift},
      {"share_near_best", of.share_near_best},
      {"targets", {{"median_error", most_error}, {"near_best", near_best}, {"share_near_best", share_wanted}}},
      {"targets_met", of.median_error <= most_error && of.share_near_best >= share_wanted}};
  fmt::print("{}\n", json.dump(2));
}

}  // namespace

void add_prediction(Command& app, Action& action) {
  auto options = std::make_shared<PredictionOptions>();
  Command* sub = app.get_subcommand("bench")->add_alternative(
      "prediction", "Compare predicted and measured times of this machine's table");
  sub->add_option("--collective", options->collective, "one collective; default: all except barrier")
      ->option_text("NAME");
  sub->add_option("-n,--ranks", options->ranks, "number of ranks, each on a processor of its own, 2 to 63; default: 2")
      ->range(2, 63)
      ->option_text("N");
  sub->add_option("--sizes", options->sizes,
                  "bytes of the vector, or of the block that one rank has for one other;\n"
                  "default: 4K, 8K and so on to 16M")
      ->option_text("BYTES");
  sub->add_option("--candidates", options->most_candidates,
                  "number of other algorithms to measure, those with the best\npredictions, 1 to 64; default: all")
      ->range(1, 64)
      ->option_text("N");
  sub->add_option("--time", options->seconds, "approximate seconds per size, 0.01 to 60; default: 0.5")
      ->range(0.01, 60.0)
      ->option_text("S");
  sub->add_flag("--json", options->json, "print the result as JSON");
  sub->footer(
      examples("  collctl bench prediction\n"
               "  collctl bench prediction --collective allreduce --sizes 4K,1M --json"));
  sub->callback([&action, options] {
    action = [options] {
      const Predictions result = measure_predictions(*options);
      options->json ? print_json(result) : print(result);
      return exit_fine;
    };
  });
}

}  // namespace coll::tools
