// SPDX-License-Identifier: BSD-3-Clause
// What every subcommand is to collctl: a function that adds its options and leaves behind what to run.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace coll::tools {

class Command;  // command_line.h
class CommandLine;

// Exit statuses of collctl.
enum Exit : int { exit_fine = 0, exit_failure = 1, exit_usage = 2 };

// Something went wrong: one line that says what happened and how to fix it, and the exit status.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& text, int status = exit_failure) : std::runtime_error(text), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

// The arguments do not fit together.
inline Failure usage(const std::string& text) { return Failure(text, exit_usage); }

// The subcommand that was typed, set while arguments are parsed; returns the exit status.
using Action = std::function<int()>;

void add_info(Command& app, Action& action);
void add_doctor(Command& app, Action& action);
void add_list(Command& app, Action& action);
void add_plan(Command& app, Action& action);
void add_explain(Command& app, Action& action);
void add_calibrate(Command& app, Action& action);
void add_simulate(Command& app, Action& action);
void add_export(Command& app, Action& action);
void add_verify(Command& app, Action& action);
void add_bench(Command& app, Action& action);
// `bench contention`; after add_bench().
void add_contention(Command& app, Action& action);
// `bench prediction`; after add_bench().
void add_prediction(Command& app, Action& action);
// `bench choice`; after add_bench().
void add_choice(Command& app, Action& action);
// `bench scale`; after add_bench().
void add_scale(Command& app, Action& action);
// Prints what `line` accepts, for a shell; after all others.
void add_completion(Command& app, Action& action, const CommandLine& line);
// The words behind `run` from the program's name on; they are its own, whatever they look like.
std::vector<std::string> take_program(std::vector<std::string>& arguments);
void add_run(Command& app, Action& action, const std::vector<std::string>& program);

// "Examples:" as they stand at the end of every --help.
inline std::string examples(const std::string& lines) { return "Examples:\n" + lines; }

}  // namespace coll::tools
