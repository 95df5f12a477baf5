// SPDX-License-Identifier: BSD-3-Clause
// collctl: inspects libcoll, its plans and its speed, and starts programs that use it.
#include <cstdio>
#include <exception>
#include <iostream>

#include "coll/coll.h"
#include "config/config.h"
#include "tools/bench/tune/tune.h"
#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/report/report.h"

namespace coll::tools {
namespace {

int usage_error(const CommandLine& line, std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& c : text)
    if (c == '\n') c = ' ';
  std::string place = line.place();
  std::fprintf(stderr, "%s: %s; see %s --help\n", place.c_str(), text.c_str(), place.c_str());
  return exit_usage;
}

void warn_of_misspelt_variables() {
  for (const config::Misspelt& wrong : config::misspelt())
    if (!wrong.nearest.empty())
      std::fprintf(stderr, "collctl: %s is not a variable of libcoll; did you mean %s?\n", wrong.name.c_str(),
                   wrong.nearest.c_str());
}

int main(int argc, char** argv) {
  CommandLine line("collctl", "Inspect libcoll, its algorithms and their speed; start programs that use it.");
  Command& app = *line.command();
  Action action;
  line.version(std::string("collctl, libcoll ") + coll_version());
  app.footer(
      examples("  collctl info\n"
               "  collctl bench allreduce -n 2 --sizes 4-16M\n"
               "  collctl run -n 4 ./program\n"
               "Every subcommand has its own --help and manual page, such as man collctl-plan."));
  add_info(app, action);
  add_doctor(app, action);
  add_list(app, action);
  add_plan(app, action);
  add_explain(app, action);
  add_simulate(app, action);
  add_export(app, action);
  add_calibrate(app, action);
  add_report(app, action);
  add_verify(app, action);
  add_bench(app, action);
  add_contention(app, action);
  add_prediction(app, action);
  add_scale(app, action);
  add_choice(app, action);
  add_tune(app, action);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  add_run(app, action, extract_program(arguments));
  add_completion(app, action, line);
  const CommandLine::Parsed parsed = line.parse(arguments);
  if (parsed.finished) {
    if (std::cout.flush() && std::fflush(stdout) == 0) return exit_fine;
    std::fputs("collctl: cannot write to standard output; is the disk full?\n", stderr);
    return exit_failure;
  }
  if (!parsed.problem.empty()) {
    if (argc == 1) return std::fputs(line.help().c_str(), stderr), exit_usage;
    if (std::string word = line.unknown_subcommand(); !word.empty())
      return usage_error(line, "unknown subcommand '" + word + "'");
    return usage_error(line, parsed.problem);
  }
  warn_of_misspelt_variables();
  try {
    int status = action();
    if (std::fflush(stdout) != 0) throw Failure("cannot write to standard output; is the disk full?");
    return status;
  } catch (const Failure& failure) {
    if (failure.status() == exit_usage) return usage_error(line, failure.what());
    std::fprintf(stderr, "%s: %s\n", line.place().c_str(), failure.what());
    return failure.status();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", line.place().c_str(), error.what());
    return exit_failure;
  }
}

}  // namespace
}  // namespace coll::tools

int main(int argc, char** argv) { return coll::tools::main(argc, argv); }
