// SPDX-License-Identifier: BSD-3-Clause
// collctl explain: prints the algorithm of one call, why it is selected, and the predicted time of every other one.
#include <algorithm>
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/fingerprint.h"
#include "model/prices.h"
#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/common/assumed.h"
#include "tools/common/call_options.h"
#include "tools/common/choose_plans.h"
#include "tools/common/machine.h"
#include "tools/common/text.h"
#include "tools/plan/decision.h"
#include "tools/plan/explain_all.h"
#include "tools/plan/priced.h"
#include "tune/rules.h"

namespace coll::tools {
namespace {

using nlohmann::ordered_json;

struct ExplainOptions : CallOptions {
  std::string topology = "native", assume;
  bool all = false, json = false;
};

// A call with its selected algorithm and all predictions.
struct Explained {
  plan::Collective collective = plan::Collective::barrier;
  size_t bytes = 0;
  ModelMachine machine;
  tune::Selection selected;            // by a communicator
  bool latency = false;                // as in Decision
  std::vector<model::Priced> choices;  // the selected one first, then by predicted time
};

// Moves the selected algorithm to the front, with the predicted time of the parameters that it runs with.
void put_first(const Explained& answer, std::vector<model::Priced>& choices) {
  const tune::Choice& selected = answer.selected.choice;
  const auto at =
      std::ranges::find(choices, selected.algorithm->name, [](const auto& priced) { return priced.row->algorithm; });
  if (at == choices.end()) throw std::logic_error("the model has no row for the selected algorithm");
  std::rotate(choices.begin(), at, at + 1);
  model::Priced& first = choices.front();
  const model::Row& row = *first.row;
  // Short data, and that of algorithms that always stage, is staged although the kernel copies.
  const bool copied_by_kernel = selected.kernel_copies && row.means != model::Means::staged &&
                                double(answer.bytes) >= answer.machine.table.thresholds.direct_bytes;
  first.mechanism = copied_by_kernel ? model::Mechanism::cma : model::Mechanism::shared_memory;
  if (row.reads.k) first.knobs.k = selected.parameters.k;
  if (row.reads.j) first.knobs.k = selected.parameters.j;  // Knobs::k is the stride of such rows
  first.knobs.depth = selected.parameters.depth;
  first.knobs.chunk_bytes =
      row.reads.chunk && selected.parameters.chunk_bytes < answer.bytes ? selected.parameters.chunk_bytes : 0;
  const model::Setting on(answer.machine.table, answer.machine.hierarchy, first.mechanism);
  first.terms = model::cost(row, on, double(answer.bytes), first.knobs);
}

ModelMachine situation_of(const ExplainOptions& options) {
  if (!options.machine.empty() && options.topology != "native")
    throw usage("--topology: --machine has a topology of its own; give only one of the two");
  ModelMachine machine =
      model_machine(options.machine, options.ranks, options.map_by, options.sensitivity, options.topology);
  machine.assumed = parse_assumed(options.assume);
  return machine;
}

Explained explained(const ExplainOptions& options) {
  const Call call = parse_call(options);
  Explained made{.collective = call.collective, .bytes = call.bytes};
  made.machine = situation_of(options);
  tune::Selector selector(made.machine.chosen_by, made.machine.hierarchy, model::hardware_of(made.machine.machine));
  const Decision decision = decide(made.machine, selector, made.collective, made.bytes, call.element_bytes);
  made.selected = decision.selected;
  made.latency = decision.latency;
  made.choices =
      model::rank_choices(plan::name(made.collective), made.machine.table, made.machine.hierarchy, double(made.bytes));
  put_first(made, made.choices);
  return made;
}

ordered_json to_json(const Explained& answer) {
  ordered_json choices = ordered_json::array();
  for (const model::Priced& priced : answer.choices)
    choices.push_back({{"algorithm", priced.row->algorithm},
                       {"parameters", knobs_of(priced)},
                       {"predicted_us", priced.terms.total_us()},
                       {"terms",
                        {{"startup_us", priced.terms.startup_us},
                         {"transfer_us", priced.terms.transfer_us},
                         {"lock_us", priced.terms.lock_us},
                         {"flags_us", priced.terms.flags_us}}},
                       {"transport", transport_of(priced)},
                       {"formula", priced.row->row},
                       {"source", priced.row->source},
                       {"has_plan", model::registered(*priced.row) != nullptr}});
  return {{"collective", plan::name(answer.collective)},
          {"bytes", answer.bytes},
          {"ranks", answer.machine.hierarchy.ranks()},
          {"machine", answer.machine.table.name},
          {"hierarchy", topo::describe(answer.machine.hierarchy)},
          {"selected",
           {{"setting", tune::setting_text(answer.selected.choice)},
            {"kernel_assisted", answer.selected.choice.kernel_copies},
            {"latency_path", answer.latency},
            {"decided_by", tune::source_text(answer.selected)},
            {"measured_us", answer.selected.row == nullptr ? 0 : answer.selected.row->measured_us}}},
          {"choices", choices}};
}

// Returns "fused:chunk=65536,depth=2 with kernel-assisted copies".
std::string selected_text(const Explained& answer) {
  return tune::text(answer.selected.choice) +
         (answer.latency ? ", replaced by the latency path: hand-written code for short messages" : "");
}

std::string parameters_text(const model::Priced& priced) {
  std::string text;
  const ordered_json parameters = knobs_of(priced);
  for (const auto& item : parameters.items()) {
    const size_t value = item.value().get<size_t>();
    text += fmt::format(
        "{}{}={}", text.empty() ? "" : ",", item.key(),
        item.key() == "chunk" && value % 1024 == 0 ? fmt::format("{}K", value / 1024) : std::to_string(value));
  }
  return text;
}

// Returns a text for the largest term.
std::string why(const model::Terms& terms) {
  const std::pair<double, const char*> parts[] = {{terms.startup_us, "the startup of copies"},
                                                  {terms.transfer_us, "the transfer of bytes"},
                                                  {terms.lock_us, "page locks of one process"},
                                                  {terms.flags_us, "waiting for flags"}};
  const auto& most = *std::max_element(std::begin(parts), std::end(parts));
  return fmt::format("{:.0f} % of it for {}", terms.total_us() > 0 ? 100 * most.first / terms.total_us() : 0,
                     most.second);
}

void print(const Explained& answer) {
  const auto line = [](const char* label, const std::string& text) {
    fmt::print("{:<11}{}\n", label, wrapped(text, 11));
  };
  line("call",
       fmt::format("{}{}, {} ranks", plan::name(answer.collective),
                   answer.bytes == 0 ? "" : " of " + bytes_text(answer.bytes), answer.machine.hierarchy.ranks()));
  line("machine", answer.machine.origin);
  line("ranks", topo::describe(answer.machine.hierarchy));
  if (!answer.choices.empty()) {
    const model::Priced& best = answer.choices.front();
    line("selected", selected_text(answer));
    if (is_reduction(answer.collective)) line("operands", order_of(*answer.selected.choice.algorithm));
    line("decided", "by " + tune::source_text(answer.selected));
    line("predicted", fmt::format("{}{}: {}", answer.latency ? "for the plan, " : "", us_text(best.terms.total_us()),
                                  why(best.terms)));
    if (const model::Chosen* row = answer.selected.row; row != nullptr && row->measured_us > 0)
      line("measured", fmt::format("{} for {} during calibration, which predicted {}", us_text(row->measured_us),
                                   bytes_text(row->up_to_bytes), us_text(row->predicted_us)));
    line("formula", fmt::format("{} ({})", best.row->row, best.row->source));
  }
  fmt::print("\n");
  Table table("<<<>>>>>");
  table.row({"algorithm", "parameters", "transport", "predicted", "startup", "transfer", "locks", "flags"});
  for (const model::Priced& priced : answer.choices) {
    const model::Terms& terms = priced.terms;
    table.row({std::string(priced.row->algorithm) + (model::registered(*priced.row) == nullptr ? " *" : ""),
               parameters_text(priced), transport_of(priced), us_text(terms.total_us()), us_text(terms.startup_us),
               us_text(terms.transfer_us), us_text(terms.lock_us), us_text(terms.flags_us)});
  }
  fmt::print("{}", table.text());
  for (const model::Priced& priced : answer.choices)
    if (model::registered(*priced.row) == nullptr)
      return fmt::print("\n* predicted for comparison; libcoll has no plan for it\n");
}

int run_all(const ExplainOptions& options) {
  if (!options.collective.empty())
    throw usage("--all explains every collective and size; leave out COLLECTIVE and SIZE");
  const AllExplained all = explain_all(situation_of(options), options.type);
  return fmt::print("{}", options.json ? to_json_text(all) : to_text(all)), exit_fine;
}

int explain(const ExplainOptions& options) {
  if (options.all) return run_all(options);
  if (options.collective.empty()) throw usage("COLLECTIVE is missing; name one of collctl list, or use --all");
  const Explained answer = explained(options);
  if (options.json) return fmt::print("{}\n", to_json(answer).dump(2)), exit_fine;
  print(answer);
  return exit_fine;
}

}  // namespace

void add_explain(Command& app, Action& action) {
  auto options = std::make_shared<ExplainOptions>();
  Command* sub =
      app.add_subcommand("explain", "Show the algorithm of a call, why, and the predicted time of every other");
  add_call_options(*sub, *options);
  sub->add_flag("--all", options->all,
                "print every collective and size, one choice a line; takes no\nCOLLECTIVE or SIZE");
  sub->add_option("--topology", options->topology,
                  "machine to place the ranks on, as COLL_TOPOLOGY names it; not with\n"
                  "--machine; default: this machine")
      ->option_text("TEXT");
  add_assume_option(*sub, options->assume);
  sub->add_flag("--json", options->json, "print the result as JSON");
  sub->footer(
      examples("  collctl explain allreduce 64K -n 96 --type bf16 --machine nodea\n"
               "  collctl explain scatter 4M -n 64 --machine knl --json\n"
               "  collctl explain --all -n 4 --topology \"l3:1(size=33554432) core:2\" --assume cma=off\n"
               "Built-in machines: " +
               known_machines()));
  sub->callback([&action, options] { action = [options] { return explain(*options); }; });
}

}  // namespace coll::tools
