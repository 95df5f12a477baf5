// SPDX-License-Identifier: BSD-3-Clause
// The command line. Only command_line.cc includes CLI11, whose header takes seconds to compile.
// Functions of Option and Command have the names and meanings of CLI11 unless a comment says otherwise.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace coll::tools {

// All functions return this option, so that calls can be chained.
class Option {
 public:
  explicit Option(CLI::Option* inner) : inner_(inner) {}

  Option* required();
  Option* option_text(const std::string& text);
  Option* delimiter(char character);
  // Omits the option from --help.
  Option* hidden();
  Option* excludes(Option* other);
  // Values outside [least, most] are usage errors.
  Option* range(int least, int most);
  Option* range(double least, double most);
  // Negative values are usage errors.
  Option* at_least_zero();
  // The name of a file, FILE in --help. An empty one, as from a shell variable that is not set, is a usage error.
  Option* file();

 private:
  CLI::Option* inner_;
};

// Returned pointers are valid as long as the command. Bound values must outlive the parsing.
class Command {
 public:
  explicit Command(CLI::App* inner) : inner_(inner) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  Command* add_subcommand(const std::string& name, const std::string& what);
  // Adds a subcommand that replaces the arguments of this command: if it is given, those arguments are not required,
  // and this command's callback does not run.
  Command* add_alternative(const std::string& name, const std::string& what);
  Command* get_subcommand(const std::string& name);
  void require_subcommand();

  // Value is int, uint64_t, double, std::string or std::vector<std::string>.
  template <typename Value>
  Option* add_option(const std::string& names, Value& value, const std::string& what);
  Option* add_flag(const std::string& names, bool& value, const std::string& what);
  void footer(const std::string& text);
  void callback(std::function<void()> run);

 private:
  CLI::App* inner_;
  std::list<Command> subcommands_;
  std::list<Option> options_;
  std::vector<CLI::Option*> unless_alternative_;  // options that are required unless an alternative is given
};

// The options and subcommands of the program or of a subcommand, as --help shows them.
struct CommandSummary {
  struct Word {
    std::vector<std::string> names;  // of an option: "-n", "--ranks"; of a subcommand: one
    std::string what;
    bool takes_value = false;
  };
  std::string path;  // "bench contention"; "" the program itself
  std::vector<Word> options, subcommands;
};

class CommandLine {
 public:
  CommandLine(const std::string& program, const std::string& what);
  ~CommandLine();

  Command* command() { return &command_; }
  // Sets the text of --version.
  void version(const std::string& text);
  std::string help() const;
  // The program, then every subcommand; a subcommand follows its parent.
  std::vector<CommandSummary> summary() const;
  // The program and the given subcommands, for messages: "collctl bench contention".
  std::string place() const;
  // The first word if it should be a subcommand but is unknown; else "".
  std::string unknown_subcommand() const;

  struct Parsed {
    bool finished = false;  // --help or --version was printed
    std::string problem;    // a usage error
  };
  // Runs the callbacks of the subcommands unless there is a problem.
  Parsed parse(const std::vector<std::string>& arguments);

 private:
  std::unique_ptr<CLI::App> app_;
  Command command_;
};

}  // namespace coll::tools
