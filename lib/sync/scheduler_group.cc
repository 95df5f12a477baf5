// SPDX-License-Identifier: BSD-3-Clause
#include "sync/scheduler_group.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>

namespace coll::sync {

namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "hierarchy:controllers:path". The unified hierarchy names no controllers, and whether cpu is one of its own is not
// checked: one group may then be taken for two.
bool divides_the_core(const std::string& line) {
  size_t begin = line.find(':'), end = line.find(':', begin + 1);
  if (begin == std::string::npos || end == std::string::npos) return false;
  std::string controllers = "," + line.substr(begin + 1, end - begin - 1) + ",";
  return controllers == ",," || controllers.find(",cpu,") != std::string::npos;
}

}  // namespace

uint64_t scheduler_group() {
  std::string group;
  if (first_line("/proc/sys/kernel/sched_autogroup_enabled") == "1") group = first_line("/proc/self/autogroup");
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (divides_the_core(line)) group += '\n' + line;
  // Those paths begin at the root of the process's cgroup namespace.
  std::error_code ignored;
  group += '\n' + std::filesystem::read_symlink("/proc/self/ns/cgroup", ignored).string();
  return std::hash<std::string>()(group);
}

}  // namespace coll::sync
