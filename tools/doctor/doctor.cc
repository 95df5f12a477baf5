// SPDX-License-Identifier: BSD-3-Clause
// collctl doctor: diagnoses what keeps libcoll from working or from its full speed, and prints the command that fixes it.
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/common/launch.h"
#include "tools/common/text.h"
#include "tools/doctor/diagnosis.h"

namespace coll::tools {
namespace {

using nlohmann::ordered_json;

struct DoctorOptions {
  int ranks = 0;
  std::vector<std::string> required;
  bool json = false;
};

// Makes the required checks mandatory: their findings become `broken` instead of `slower`.
void require(const std::vector<std::string>& checks, std::vector<Finding>& findings) {
  for (const std::string& check : checks) {
    auto found = std::ranges::find(findings, check, &Finding::check);
    if (found == findings.end()) {
      std::string known;
      for (const Finding& finding : findings) known += (known.empty() ? "" : ", ") + finding.check;
      throw usage(fmt::format("--require: unknown check '{}'; use {}", check, known));
    }
    if (found->state == Finding::slower) found->state = Finding::broken;
  }
}

void print_json(const std::vector<Finding>& findings, bool ok) {
  ordered_json checks = ordered_json::array();
  for (const Finding& finding : findings) {
    ordered_json check = {{"check", finding.check}, {"state", name(finding.state)}, {"found", finding.found}};
    if (!finding.fix.empty()) check["fix"] = finding.fix;
    checks.push_back(check);
  }
  fmt::print("{}\n", ordered_json({{"ok", ok}, {"checks", checks}}).dump(2));
}

void print(const std::vector<Finding>& findings, bool ok) {
  constexpr int indent = 28;
  for (const Finding& finding : findings) {
    fmt::print("{:<8}{:<20}{}\n", name(finding.state), finding.check, wrapped(finding.found, indent));
    // The command stays on one line, so that it can be copied.
    if (!finding.fix.empty()) fmt::print("{:{}}{}\n", "", indent, finding.fix);
  }
  const auto slower = std::ranges::count(findings, Finding::slower, &Finding::state);
  fmt::print("\n{}\n", !ok ? "libcoll does not work here, or a required check failed: fix the checks that are broken."
                       : slower == 0 ? "Everything is fine."
                                     : "libcoll works here; the commands above fix what makes it slower.");
}

int doctor_command(const DoctorOptions& options) {
  const Facts facts = gather_facts(options.ranks);
  std::vector<Finding> findings = diagnose(facts);
  require(options.required, findings);
  const bool ok = std::ranges::count(findings, Finding::broken, &Finding::state) == 0;
  // Ranks that meet are on one node and find the same: only rank 0 prints.
  if (ok && facts.rank != 0 && !facts.several_nodes) return exit_fine;
  if (options.json) print_json(findings, ok);
  else print(findings, ok);
  return ok ? exit_fine : exit_failure;
}

}  // namespace

void add_doctor(Command& app, Action& action) {
  auto options = std::make_shared<DoctorOptions>();
  Command* sub = app.add_subcommand("doctor", "Diagnose missing prerequisites and print the command that fixes each");
  sub->add_option("-n,--ranks", options->ranks, "number of ranks that will run; default: one per processor")
      ->range(1, 1024)
      ->option_text("N");
  sub->add_option("--require", options->required, "checks that must be fine, such as kcoll,cma; others may be slower")
      ->delimiter(',')
      ->option_text("LIST");
  sub->add_flag("--json", options->json, "print the result as JSON");
  sub->footer(
      examples("  collctl doctor\n"
               "  collctl doctor -n 8 --json\n"
               "  collctl doctor --require cma,kcoll || exit 1\n"
               "  mpirun -n 4 collctl doctor"));
  sub->callback([&action, options] { action = [options] { return doctor_command(*options); }; });
}

}  // namespace coll::tools
