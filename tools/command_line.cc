// SPDX-License-Identifier: BSD-3-Clause
#include "tools/command_line.h"

#include <cmath>
#include <cstdlib>
#include <type_traits>

#include <CLI/CLI.hpp>

namespace coll::tools {

namespace {

// Formats --help. CLI11's own format differs between its versions, and 2.6 breaks the lines of examples.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const override {
    const auto listed = [](bool positional) {
      return [positional](const CLI::Option* option) {
        return !option->get_group().empty() && option->get_positional() == positional;
      };
    };
    const auto positionals = app->get_options(listed(true)), options = app->get_options(listed(false));
    const auto subcommands = app->get_subcommands([](const CLI::App*) { return true; });
    std::string text = app->get_description() + "\nUsage: " + name + " [OPTIONS]";
    for (const CLI::Option* option : positionals) text += " " + make_option_usage(option);
    if (!subcommands.empty()) text += app->get_require_subcommand_min() > 0 ? " SUBCOMMAND" : " [SUBCOMMAND]";
    text += "\n";
    if (!positionals.empty()) text += "\nPositionals:\n";
    for (const CLI::Option* option : positionals) text += row(option->get_name(true, false), option);
    text += "\nOptions:\n";
    for (const CLI::Option* option : options) text += row(option->get_name(false, true), option);
    if (!subcommands.empty()) text += "\nSubcommands:\n";
    for (const CLI::App* sub : subcommands) text += row(sub->get_name(), sub->get_description());
    return text + "\n" + app->get_footer() + "\n";
  }

 private:
  std::string row(const std::string& name, const CLI::Option* option) const {
    return row(name + make_option_opts(option), option->get_description());
  }
  // The second column begins at column_width_, on a line of its own if the first one is too long.
  std::string row(const std::string& first, const std::string& second) const {
    std::string text = "  " + first;
    if (!second.empty())
      text += text.size() < column_width_ ? std::string(column_width_ - text.size(), ' ') : "\n" + margin();
    for (const char c : second) text += c == '\n' ? "\n" + margin() : std::string(1, c);
    return text + "\n";
  }
  std::string margin() const { return std::string(column_width_, ' '); }
};

}  // namespace

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

Option* Option::file() {
  inner_->check([](const std::string& name) { return name.empty() ? "the name of the file is empty" : std::string(); });
  return option_text("FILE");
}

Option* Option::at_least_zero() {
  inner_->check([](const std::string& text) {
    // A text that is not a number is refused later, when it is converted.
    return text.starts_with('-') ? "Value " + text + " must not be negative" : std::string();
  });
  return this;
}

Command* Command::add_subcommand(const std::string& name, const std::string& what) {
  return &subcommands_.emplace_back(inner_->add_subcommand(name, what));
}

Command* Command::add_alternative(const std::string& name, const std::string& what) {
  Command* sub = add_subcommand(name, what);
  // Otherwise CLI11 would read the subcommand's name as the value of a required positional argument.
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
  CLI::Option* option = inner_->add_option(names, value, what);
  if constexpr (std::is_same_v<Value, double>)
    option->check([](const std::string& text) {
      // A text that is not a number is refused later, when it is converted.
      return std::isfinite(std::strtod(text.c_str(), nullptr)) ? "" : "Value " + text + " must be a finite number";
    });
  return &options_.emplace_back(option);
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
  auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(28);
  formatter->label("REQUIRED", "(required)");
  app_->formatter(formatter);
}

CommandLine::~CommandLine() = default;

void CommandLine::version(const std::string& text) { app_->set_version_flag("--version", text); }

std::string CommandLine::help() const { return app_->help(); }

namespace {

void summarize(const CLI::App* app, const std::string& path, std::vector<CommandSummary>& all) {
  CommandSummary summary{.path = path};
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_group().empty() || option->get_positional()) continue;
    CommandSummary::Word word{.what = option->get_description(), .takes_value = option->get_items_expected_max() > 0};
    for (const std::string& name : option->get_snames()) word.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) word.names.push_back("--" + name);
    summary.options.push_back(std::move(word));
  }
  const auto subcommands = app->get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* sub : subcommands)
    summary.subcommands.push_back({.names = {sub->get_name()}, .what = sub->get_description()});
  all.push_back(std::move(summary));
  for (const CLI::App* sub : subcommands)
    summarize(sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), all);
}

}  // namespace

std::vector<CommandSummary> CommandLine::summary() const {
  std::vector<CommandSummary> all;
  summarize(app_.get(), "", all);
  return all;
}

std::string CommandLine::place() const {
  std::string place = app_->get_name();
  for (const CLI::App* at = app_.get(); !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    place += " " + at->get_name();
  }
  return place;
}

std::string CommandLine::unknown_subcommand() const {
  // CLI11 reports a missing subcommand before it looks at the unknown word.
  const std::vector<std::string> words = app_->remaining();
  return app_->get_subcommands().empty() && !words.empty() ? words.front() : "";
}

CommandLine::Parsed CommandLine::parse(const std::vector<std::string>& arguments) {
  try {
    // CLI11 reads the vector from its end.
    app_->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success& success) {
    app_->exit(success);
    return {true, ""};
  } catch (const CLI::ParseError& error) { return {false, error.what()}; }
  return {};
}

}  // namespace coll::tools
