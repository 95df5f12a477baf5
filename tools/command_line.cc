// SPDX-License-Identifier: BSD-3-Clause
#include "tools/command_line.h"

#include <CLI/CLI.hpp>

namespace coll::tools {

Option* Option::required() {
  inner_->required();
  return this;
}

Option* Option::option_text(const std::string& text) {
  inner_->option_text(text);
  return this;
}

Option* Option::delimiter(char character) {
  inner_->delimiter(character);
  return this;
}

Option* Option::hidden() {
  inner_->group("");
  return this;
}
Option* Option::excludes(Option* other) {
  inner_->excludes(other->inner_);
  return this;
}

Option* Option::range(int least, int most) {
  inner_->check(CLI::Range(least, most));
  return this;
}

Option* Option::range(double least, double most) {
  inner_->check(CLI::Range(least, most));
  return this;
}

Option* Option::at_least_zero() {
  inner_->check([](const std::string& text) {
    // What is no number at all is refused where the value is converted.
    return text.starts_with('-') ? "Value " + text + " must not be negative" : std::string();
  });
  return this;
}

Command* Command::add_subcommand(const std::string& name, const std::string& what) {
  return &subcommands_.emplace_back(inner_->add_subcommand(name, what));
}

Command* Command::add_alternative(const std::string& name, const std::string& what) {
  Command* sub = add_subcommand(name, what);
  // CLI11 would take the subcommand's name for a required positional argument.
  for (CLI::Option* option : inner_->get_options())
    if (option->get_positional() && option->get_required()) unless_alternative_.push_back(option->required(false));
  inner_->parse_complete_callback([this] {
    if (!inner_->get_subcommands().empty()) return;
    for (const CLI::Option* option : unless_alternative_)
      if (option->count() == 0) throw CLI::RequiredError(option->get_name());
  });
  sub->inner_->preparse_callback([inner = inner_](size_t) {
    for (CLI::Option* option : inner->get_options()) option->required(false);
    inner->callback([] {});
  });
  return sub;
}

Command* Command::get_subcommand(const std::string& name) {
  for (Command& sub : subcommands_)
    if (sub.inner_->get_name() == name) return &sub;
  return nullptr;
}

void Command::require_subcommand() { inner_->require_subcommand(1); }

template <typename Value>
Option* Command::add_option(const std::string& names, Value& value, const std::string& what) {
  return &options_.emplace_back(inner_->add_option(names, value, what));
}

template Option* Command::add_option(const std::string&, int&, const std::string&);
template Option* Command::add_option(const std::string&, uint64_t&, const std::string&);
template Option* Command::add_option(const std::string&, double&, const std::string&);
template Option* Command::add_option(const std::string&, std::string&, const std::string&);
template Option* Command::add_option(const std::string&, std::vector<std::string>&, const std::string&);

Option* Command::add_flag(const std::string& names, bool& value, const std::string& what) {
  return &options_.emplace_back(inner_->add_flag(names, value, what));
}

void Command::footer(const std::string& text) { inner_->footer(text); }

void Command::callback(std::function<void()> run) { inner_->callback(std::move(run)); }

CommandLine::CommandLine(const std::string& program, const std::string& what)
    : app_(std::make_unique<CLI::App>(what, program)), command_(app_.get()) {
  app_->require_subcommand(1);
  app_->get_formatter()->column_width(28);
  app_->get_formatter()->label("REQUIRED", "(required)");
}

CommandLine::~CommandLine() = default;

void CommandLine::version(const std::string& text) { app_->set_version_flag("--version", text); }

std::string CommandLine::help() const { return app_->help(); }

std::string CommandLine::place() const {
  std::string place = app_->get_name();
  for (const CLI::App* at = app_.get(); !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    place += " " + at->get_name();
  }
  return place;
}

std::string CommandLine::unknown_subcommand() const {
  // CLI11 misses a subcommand before it looks at what there is instead.
  const std::vector<std::string> words = app_->remaining();
  return app_->get_subcommands().empty() && !words.empty() ? words.front() : "";
}

CommandLine::Parsed CommandLine::parse(const std::vector<std::string>& arguments) {
  try {
    // CLI11 takes them from the back.
    app_->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success& success) {
    app_->exit(success);
    return {true, ""};
  } catch (const CLI::ParseError& error) { return {false, error.what()}; }
  return {};
}

}  // namespace coll::tools
