// SPDX-License-Identifier: BSD-3-Clause
#include "config/programs.h"

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace coll::config {
namespace {

bool fits(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

bool fits(const std::string& pattern, const Program& program) {
  if (pattern.find('/') != std::string::npos) return fits(pattern, program.path);
  return std::ranges::any_of(program.names, [&](const std::string& name) { return fits(pattern, name); });
}

}  // namespace

Program Program::of_process() {
  Program program;
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length > 0) {
    program.path.assign(path, size_t(length));
    program.names.push_back(program.path.substr(program.path.rfind('/') + 1));
  }
  program.names.emplace_back(program_invocation_short_name);
  return program;
}

bool serves(std::string_view list, const Program& program) {
  constexpr std::string_view separators = ", \t";
  bool served = true;
  for (size_t begin = list.find_first_not_of(separators); begin != std::string_view::npos;) {
    const size_t end = std::min(list.find_first_of(separators, begin), list.size());
    const bool leaves = list[begin] == '!';
    const std::string pattern(list.substr(begin + leaves, end - begin - leaves));
    if (fits(pattern, program)) return !leaves;
    if (!leaves) served = false;
    begin = list.find_first_not_of(separators, end);
  }
  return served;
}

}  // namespace coll::config
