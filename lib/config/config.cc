// SPDX-License-Identifier: BSD-3-Clause
#include "config/config.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "config/digest.h"
#include "config/text_file.h"
#include "config/variables.h"

namespace coll::config {
namespace {

std::string_view trimmed(std::string_view text) {
  const char* blanks = " \t\r";
  size_t begin = text.find_first_not_of(blanks);
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

std::string_view without_comment(std::string_view line) {
  for (size_t i = 0; i < line.size(); i++)
    if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) return line.substr(0, i);
  return line;
}

// The directory of the user's configuration; "" if neither XDG_CONFIG_HOME nor HOME is an absolute path.
std::string user_directory() {
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config != nullptr && *config == '/') return config;
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.config" : "";
}

constexpr size_t longest_bytes = size_t(1) << 20;

struct Files {
  std::vector<Line> lines;
  std::string problem;

  Files() {
    const char* wish = std::getenv("COLL_CONFIG");
    if (wish != nullptr && std::strcmp(wish, "none") != 0 && *wish != 0) {
      read(wish, true);
    } else if (wish == nullptr) {
      if (std::string home = user_directory(); !home.empty()) read(home + "/libcoll/config", false);
      if (problem.empty()) read("/etc/libcoll.conf", false);
    }
    if (!problem.empty()) lines.clear();
  }

 private:
  void read(const std::string& file, bool must_exist) {
    if (access(file.c_str(), R_OK) != 0) {
      if (must_exist) problem = "COLL_CONFIG: cannot read '" + file + "': " + std::strerror(errno);
      return;
    }
    std::string text;
    const std::string why = read_text_file(file, longest_bytes, text);
    if (why.empty()) problem = parse(text, file, lines);
    else problem = (must_exist ? "COLL_CONFIG: cannot read '" : "cannot read '") + file + "': " + why;
  }
};

const Files& files() {
  static const Files* read = new Files;  // never destroyed: exit handlers may still read values
  return *read;
}

const Line* in_files(std::string_view name) {
  auto at = std::ranges::find(files().lines, name, &Line::name);
  return at == files().lines.end() ? nullptr : &*at;
}

}  // namespace

std::string parse(std::string_view text, const std::string& file, std::vector<Line>& lines) {
  const size_t older = lines.size();
  for (int number = 1; !text.empty(); number++) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(without_comment(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const std::string where = file + ":" + std::to_string(number);
    size_t equals = line.find('=');
    if (equals == std::string_view::npos)
      return where + ": '" + std::string(line) + "' is not of the form NAME = value";
    std::string name(trimmed(line.substr(0, equals)));
    const Variable* variable = find(name);
    if (variable == nullptr) {
      std::string near = nearest(name);
      return where + ": '" + name + "' is not a variable of libcoll; " +
             (near.empty() ? "`collctl info --env` lists them" : "did you mean " + near + "?");
    }
    if (!variable->in_file) return where + ": " + name + " can be set in the environment only";
    auto same = std::ranges::find(lines, name, &Line::name);
    if (same != lines.end() && size_t(same - lines.begin()) >= older)
      return where + ": " + name + " was set before, at " + same->source;
    if (same == lines.end()) lines.push_back({name, std::string(trimmed(line.substr(equals + 1))), where});
  }
  return "";
}

const char* value(const char* name) {
  if (const char* set = std::getenv(name)) return set;
  const Line* line = in_files(name);
  return line == nullptr ? nullptr : line->value.c_str();
}

std::string text(const char* name) {
  const char* const set = value(name);
  return set == nullptr ? "" : set;
}

std::string source(const char* name) {
  if (std::getenv(name) != nullptr) return "environment";
  const Line* line = in_files(name);
  return line == nullptr ? "" : line->source;
}

std::vector<std::string> table_directories() {
  std::vector<std::string> directories;
  if (std::string home = user_directory(); !home.empty()) directories.push_back(home + "/libcoll/tables");
  directories.push_back("/etc/libcoll/tables");
  return directories;
}

const std::string& problem() { return files().problem; }

uint64_t environment_digest() {
  uint64_t all = digest_of_nothing;
  // The atomic load is needed because another thread may replace the table; see topo/quiet.h.
  for (char** line = std::atomic_ref<char**>(environ).load(); line != nullptr && *line != nullptr; line++) {
    const std::string_view text = *line;
    const bool counts = text.starts_with("COLL_") || text.starts_with("HOME=") || text.starts_with("XDG_CONFIG_HOME=");
    if (counts) all = digest(text, digest("\n", all));
  }
  return all;
}

std::vector<Misspelt> misspelt() {
  std::vector<Misspelt> wrong;
  for (char** line = environ; line != nullptr && *line != nullptr; line++) {
    std::string_view text = *line;
    std::string name(text.substr(0, std::min(text.find('='), text.size())));
    if (name.starts_with("COLL_") && find(name) == nullptr) wrong.push_back({name, nearest(name)});
  }
  return wrong;
}

}  // namespace coll::config
