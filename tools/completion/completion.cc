// SPDX-License-Identifier: BSD-3-Clause
// collctl completion: writes the completion script of a shell. Each script finds the subcommand that the words so far
// name, then offers its subcommands and options. After an option with a value, and for other words, it offers file
// names.
#include "tools/completion/completion.h"

#include <cstdio>

#include <fmt/format.h>

#include "tools/command.h"

namespace coll::tools {
namespace {

constexpr const char* origin = "# Made by `collctl completion`; do not edit.\n";

// Quotes a text with single quotes, for all of these shells. Line breaks become spaces.
std::string quoted(const std::string& text, const char* quote_in_quotes) {
  std::string out = "'";
  for (const char c : text)
    if (c == '\'') out += quote_in_quotes;
    else out += c == '\n' ? ' ' : c;
  return out + "'";
}

// Splits a path into its last word and the path before it.
std::pair<std::string, std::string> split_path(const std::string& path) {
  const size_t space = path.rfind(' ');
  return space == std::string::npos
             ? std::pair<std::string, std::string>{"", path}
             : std::pair<std::string, std::string>{path.substr(0, space), path.substr(space + 1)};
}

// Returns the cases of "PATH WORD" that extend the path, in the syntax of sh.
std::string advancing_cases(const std::vector<CommandSummary>& commands) {
  std::string text;
  for (const CommandSummary& command : commands)
    if (!command.path.empty()) {
      const auto [parent, name] = split_path(command.path);
      text += fmt::format("      '{}:{}') path='{}' ;;\n", parent, name, command.path);
    }
  return text;
}

}  // namespace

std::string bash_completion(const std::vector<CommandSummary>& commands) {
  std::string text = origin;
  text +=
      "_collctl() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} path='' values='' words='' i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case $path:${COMP_WORDS[i]} in\n" +
      advancing_cases(commands) +
      "    esac\n"
      "  done\n"
      "  case $path in\n";
  for (const CommandSummary& command : commands) {
    std::string words, values;
    for (const auto& sub : command.subcommands) words += sub.names.front() + " ";
    for (const auto& option : command.options)
      for (const std::string& name : option.names) {
        words += name + " ";
        if (option.takes_value) values += name + " ";
      }
    text += fmt::format("  '{}') words='{}' values=' {}' ;;\n", command.path, words, values);
  }
  text +=
      "  esac\n"
      "  if [[ $values == *\" $previous \"* ]]; then\n"
      "    compopt -o default\n"
      "  else\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "    [[ ${#COMPREPLY[@]} -gt 0 ]] || compopt -o default\n"
      "  fi\n"
      "}\n"
      "complete -F _collctl collctl\n";
  return text;
}

std::string zsh_completion(const std::vector<CommandSummary>& commands) {
  // _describe reads "word:description" and would need a colon in a word escaped; no word has one.
  const auto list = [](const std::vector<CommandSummary::Word>& words) {
    std::string text;
    for (const auto& word : words)
      for (const std::string& name : word.names) text += " " + quoted(name + ":" + word.what, "'\\''");
    return text;
  };
  std::string text = "#compdef collctl\n";
  text += origin;
  text +=
      "local current=${words[CURRENT]} previous=${words[CURRENT-1]} at='' word\n"
      "local -a subcommands options values\n"
      "for word in ${words[2,CURRENT-1]}; do\n"
      "  path_and_word=\"$at:$word\"\n"
      "  case $path_and_word in\n";
  std::string cases = advancing_cases(commands);
  for (size_t i; (i = cases.find("path=")) != std::string::npos;) cases.replace(i, 5, "at=");
  text += cases +
          "  esac\n"
          "done\n"
          "unset path_and_word\n"
          "case $at in\n";
  for (const CommandSummary& command : commands) {
    std::string values;
    for (const auto& option : command.options)
      if (option.takes_value)
        for (const std::string& name : option.names) values += " " + name;
    text += fmt::format("'{}')\n  subcommands=({})\n  options=({})\n  values=({})\n  ;;\n", command.path,
                        list(command.subcommands), list(command.options), values);
  }
  text +=
      "esac\n"
      "if (( ${values[(Ie)$previous]} )); then\n"
      "  _files\n"
      "elif [[ $current == -* ]]; then\n"
      "  _describe -o option options\n"
      "elif (( $#subcommands )); then\n"
      "  _describe subcommand subcommands || _files\n"
      "else\n"
      "  _files\n"
      "fi\n";
  return text;
}

std::string fish_completion(const std::vector<CommandSummary>& commands) {
  std::string text = origin;
  text +=
      "# Whether the words before the cursor name this subcommand.\n"
      "function __collctl_at\n"
      "  set -l at ''\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    switch \"$at:$word\"\n";
  for (const CommandSummary& command : commands)
    if (!command.path.empty()) {
      const auto [parent, name] = split_path(command.path);
      text += fmt::format("      case '{}:{}'\n        set at '{}'\n", parent, name, command.path);
    }
  text +=
      "    end\n"
      "  end\n"
      "  test \"$at\" = \"$argv[1]\"\n"
      "end\n";
  for (const CommandSummary& command : commands) {
    const std::string condition = fmt::format("complete -c collctl -n \"__collctl_at '{}'\"", command.path);
    for (const auto& sub : command.subcommands)
      text += fmt::format("{} -f -a {} -d {}\n", condition, sub.names.front(), quoted(sub.what, "\\'"));
    for (const auto& option : command.options) {
      text += condition;
      for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      text += fmt::format("{} -d {}\n", option.takes_value ? " -r" : "", quoted(option.what, "\\'"));
    }
  }
  return text;
}

void add_completion(Command& app, Action& action, const CommandLine& line) {
  struct Options {
    std::string shell;
  };
  auto options = std::make_shared<Options>();
  Command* command = app.add_subcommand("completion", "Print the completion script of a shell");
  command->add_option("shell", options->shell, "bash, zsh or fish")->required();
  command->footer(
      examples("  source <(collctl completion bash)                       # in this shell\n"
               "  collctl completion bash > ~/.local/share/bash-completion/completions/collctl\n"
               "An installed libcoll brings these files along."));
  command->callback([options, &action, &line] {
    action = [options, &line] {
      const auto commands = line.summary();
      std::string text;
      if (options->shell == "bash") text = bash_completion(commands);
      else if (options->shell == "zsh") text = zsh_completion(commands);
      else if (options->shell == "fish") text = fish_completion(commands);
      else throw usage("no completion for '" + options->shell + "'; there is one for bash, zsh and fish");
      std::fputs(text.c_str(), stdout);
      return exit_fine;
    };
  });
}

}  // namespace coll::tools
