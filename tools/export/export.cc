// SPDX-License-Identifier: BSD-3-Clause
// collctl export: writes the selected algorithms in the formats of other libraries, for programs that do not use
// libcoll.
#include "tools/export/export.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "model/fingerprint.h"
#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/common/call_options.h"
#include "tools/common/choose_plans.h"
#include "tools/common/machine.h"
#include "tools/common/output_file.h"
#include "tools/common/text.h"

namespace coll::tools {
namespace {

struct ExportOptions {
  std::string machine, output, ranks, mpich, map_by = "core";
  std::string sensitivity = topo::Sensitivity::standard().text();
};

Thresholds thresholds_of(const ModelMachine& machine, tune::Selector& selector, plan::Collective collective) {
  constexpr size_t least = 8, most = 16 << 20, element = 4;
  const int ranks = machine.hierarchy.ranks();
  Thresholds made{collective, ranks};
  const size_t shown = selector.latency_path_bytes(situation_on(machine, collective, 0, element));
  const size_t latency = shown / plan::pieces_shown(collective, ranks);
  // Size classes end at powers of two, at the limit of the latency path, and at the rows of a table.
  std::vector<size_t> ends = {latency};
  for (size_t bytes = least; bytes <= most; bytes *= 2) ends.push_back(bytes);
  if (machine.chosen_by != nullptr)
    for (const model::Chosen& row : machine.chosen_by->choices)
      if (row.collective == collective) ends.push_back(row.up_to_bytes);
  if (collective == plan::Collective::barrier) ends = {0};
  std::ranges::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  for (const size_t bytes : ends) {
    if (bytes == 0 && collective != plan::Collective::barrier) continue;
    Threshold threshold{.up_to_bytes = bytes};
    if (std::max<size_t>(bytes, 1) > latency || latency == 0)
      threshold.choice = selector.select(situation_on(machine, collective, bytes, element)).choice;
    made.classes.push_back(threshold);
  }
  made.classes.back().up_to_bytes = SIZE_MAX;
  return made;
}

std::vector<int> ranks_of(const ExportOptions& options, const ModelMachine& machine) {
  if (!options.ranks.empty()) return parse_numbers(options.ranks, "--ranks", 2, 1024);
  std::vector<int> ranks;
  for (int cores = std::max(machine.machine.cores, 2); cores >= 2; cores /= 2) ranks.insert(ranks.begin(), cores);
  return ranks;
}

struct Exported {
  std::vector<Thresholds> all;
  std::string origin;
};

Exported exported(const ExportOptions& options) {
  Exported made;
  const ModelMachine first = model_machine(options.machine, 2, options.map_by, options.sensitivity);
  made.origin = first.origin;
  for (const int ranks : ranks_of(options, first)) {
    const ModelMachine machine = model_machine(options.machine, ranks, options.map_by, options.sensitivity);
    tune::Selector selector(machine.chosen_by, machine.hierarchy, model::hardware_of(machine.machine));
    for (int c = 0; c < plan::collectives; ++c)
      made.all.push_back(thresholds_of(machine, selector, plan::Collective(c)));
  }
  return made;
}

int write(const ExportOptions& options, const std::string& text, const std::string& use) {
  if (options.output.empty()) return fmt::print("{}", text), exit_fine;
  write_file("--output", options.output, text);
  fmt::print("{}\n", use);
  return exit_fine;
}

int openmpi(const ExportOptions& options) {
  const Exported from = exported(options);
  return write(options, to_openmpi(from.all, from.origin),
               fmt::format("mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename {}",
                           options.output));
}

int mpich(const ExportOptions& options) {
  const std::string library = options.mpich.empty() ? mpich_library() : options.mpich;
  if (library.empty())
    throw Failure("cannot find libmpich.so.12, whose selection is the base of the file; name it with --mpich FILE");
  return write(options, to_mpich(exported(options).all, mpich_selection(library)),
               fmt::format("mpiexec -env MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE {}", options.output));
}

int ucc(const ExportOptions& options) {
  return write(options, "UCC_TL_UCP_TUNE=" + to_ucc(exported(options).all) + "\n",
               fmt::format(". {} && export UCC_TL_UCP_TUNE", options.output));
}

void add_format(Command& parent, const char* name, const char* what, const char* example, Action& action,
                int (*run)(const ExportOptions&)) {
  auto options = std::make_shared<ExportOptions>();
  Command* sub = parent.add_subcommand(name, what);
  add_machine_option(*sub, options->machine);
  sub->add_option("--ranks", options->ranks,
                  "numbers of ranks: 2-8 or 2,4,8; default: all cores, half of them,\nand so on down to 2")
      ->option_text("LIST");
  add_placement_options(*sub, options->map_by, options->sensitivity);
  sub->add_option("--output", options->output,
                  "write to this file, and print the command that uses it;\ndefault: write to standard output")
      ->file();
  if (run == mpich)
    sub->add_option("--mpich", options->mpich, "libmpich.so whose selection is the base; default: the installed one")
        ->file();
  sub->footer(examples(example) + "\nBuilt-in machines: " + known_machines());
  sub->callback([&action, options, run] { action = [options, run] { return run(*options); }; });
}

}  // namespace

size_t total_bytes(const Thresholds& of, size_t bytes) {
  const bool pieces =
      plan::has_blocks(of.collective, plan::Buffer::send) || plan::has_blocks(of.collective, plan::Buffer::recv);
  if (bytes == SIZE_MAX || !pieces) return bytes;
  return bytes * size_t(of.ranks);
}

void add_export(Command& app, Action& action) {
  Command* sub = app.add_subcommand("export", "Write the selected algorithms for Open MPI, MPICH or UCC");
  sub->require_subcommand();
  static constexpr const char* for_openmpi = "  collctl export openmpi --output rules.conf";
  static constexpr const char* for_mpich =
      "  collctl export mpich --machine epyc-2p --ranks 8,16,32,64 --output selection.json";
  static constexpr const char* for_ucc = "  eval export \"$(collctl export ucc)\"";
  add_format(*sub, "openmpi", "Write rules for Open MPI (coll_tuned_dynamic_rules_filename)", for_openmpi, action,
             openmpi);
  add_format(*sub, "mpich", "Write a selection for MPICH (MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE)", for_mpich,
             action, mpich);
  add_format(*sub, "ucc", "Write scores for UCC (UCC_TL_UCP_TUNE)", for_ucc, action, ucc);
  sub->footer(examples(fmt::format("{}\n{}\n{}", for_openmpi, for_mpich, for_ucc)));
}

}  // namespace coll::tools
