// SPDX-License-Identifier: BSD-3-Clause
// The interface of a subcommand: a function that adds its options and sets the action to run.
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

// A failure: one line that says what happened and how to fix it, and the exit status.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& text, int status = exit_failure) : std::runtime_error(text), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

// A failure for arguments that contradict each other.
inline Failure usage(const std::string& text) { return Failure(text, exit_usage); }

// The action of the given subcommand, set while the arguments are parsed. Returns the exit status.
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
// `bench contention`; call it after add_bench().
void add_contention(Command& app, Action& action);
// `bench prediction`; call it after add_bench().
void add_prediction(Command& app, Action& action);
// `bench choice`; call it after add_bench().
void add_choice(Command& app, Action& action);
// `bench scale`; call it after add_bench().
void add_scale(Command& app, Action& action);
// Prints the completion script of a shell for what `line` accepts; call it after all others.
void add_completion(Command& app, Action& action, const CommandLine& line);
// Removes the program's name and arguments behind `run` from `arguments` and returns them: collctl does not parse them.
std::vector<std::string> extract_program(std::vector<std::string>& arguments);
void add_run(Command& app, Action& action, const std::vector<std::string>& program);

// The examples at the end of every --help.
inline std::string examples(const std::string& lines) { return "Examples:\n" + lines; }

}  // namespace coll::tools
