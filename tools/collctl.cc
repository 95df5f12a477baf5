// SPDX-License-Identifier: BSD-3-Clause
// collctl: looks at libcoll and its machine, its plans and its speed, and starts programs that use it.
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "coll/coll.h"
#include "config/config.h"
#include "tools/command.h"

namespace coll::tools {
namespace {

// The subcommand that stands on the command line, for messages.
std::string place_of(const CLI::App& app) {
  std::string place = "collctl";
  for (const CLI::App* sub : app.get_subcommands()) place += " " + sub->get_name();
  return place;
}

int usage_error(const CLI::App& app, std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& c : text)
    if (c == '\n') c = ' ';
  std::string place = place_of(app);
  std::fprintf(stderr, "%s: %s; see %s --help\n", place.c_str(), text.c_str(), place.c_str());
  return exit_usage;
}

void tell_of_misspelt_variables() {
  for (const config::Misspelt& wrong : config::misspelt())
    if (!wrong.nearest.empty())
      std::fprintf(stderr, "collctl: %s is not known; did you mean %s?\n", wrong.name.c_str(), wrong.nearest.c_str());
}

int main(int argc, char** argv) {
  CLI::App app{"Collectives between the processes of one node: machine, plans, proofs, speed.", "collctl"};
  Action action;
  app.set_version_flag("--version", std::string("collctl, libcoll ") + coll_version());
  app.require_subcommand(1);
  app.get_formatter()->column_width(28);
  app.get_formatter()->label("REQUIRED", "(required)");
  app.footer(
      examples("  collctl info\n"
               "  collctl bench allreduce -n 2 --sizes 4-16M\n"
               "  collctl run -n 4 ./program\n"
               "Each subcommand has its own --help and manual page: man collctl-plan."));
  add_info(app, action);
  add_doctor(app, action);
  add_list(app, action);
  add_plan(app, action);
  add_explain(app, action);
  add_simulate(app, action);
  add_export(app, action);
  add_calibrate(app, action);
  add_verify(app, action);
  add_bench(app, action);
  add_contention(app, action);
  add_prediction(app, action);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  add_run(app, action, take_program(arguments));
  try {
    // CLI11 takes them from the back.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success& success) { return app.exit(success); } catch (const CLI::ParseError& error) {
    if (argc == 1) return std::fputs(app.help().c_str(), stderr), exit_usage;
    // CLI11 misses a subcommand before it looks at what there is instead.
    if (app.get_subcommands().empty() && !app.remaining().empty())
      return usage_error(app, "'" + app.remaining().front() + "' is no subcommand");
    return usage_error(app, error.what());
  }
  tell_of_misspelt_variables();
  try {
    int status = action();
    if (std::fflush(stdout) != 0) throw Failure("standard output cannot be written; is the disk full?");
    return status;
  } catch (const Failure& failure) {
    if (failure.status() == exit_usage) return usage_error(app, failure.what());
    std::fprintf(stderr, "%s: %s\n", place_of(app).c_str(), failure.what());
    return failure.status();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", place_of(app).c_str(), error.what());
    return exit_failure;
  }
}

}  // namespace
}  // namespace coll::tools

int main(int argc, char** argv) { return coll::tools::main(argc, argv); }
