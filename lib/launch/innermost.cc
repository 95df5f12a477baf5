// SPDX-License-Identifier: BSD-3-Clause
#include "launch/innermost.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <unistd.h>

#include "transport/process.h"

namespace coll::launch {

namespace {

struct Process {
  bool is_visible = false;
  int parent = 0;
  bool is_of_other_user = false;
  std::string environment;
};

Process look_at(int pid) {
  Process process;
  const std::string folder = "/proc/" + std::to_string(pid);
  std::ifstream status(folder + "/status");
  unsigned user = 0;
  for (std::string line; std::getline(status, line);) {
    process.is_visible |= sscanf(line.c_str(), "PPid: %d", &process.parent) == 1;
    if (sscanf(line.c_str(), "Uid: %*u %u", &user) == 1) process.is_of_other_user = user != geteuid();
  }
  std::ifstream file(folder + "/environ", std::ios::binary);
  process.environment = {std::istreambuf_iterator<char>(file), {}};
  return process;
}

bool has(const std::string& environment, const std::string& setting) {
  const std::string with_end = setting + '\0';
  for (size_t at = environment.find(with_end); at != std::string::npos; at = environment.find(with_end, at + 1))
    if (at == 0 || environment[at - 1] == '\0') return true;
  return false;
}

}  // namespace

Settings settings_of(const std::array<const char*, 2>& variables) {
  Settings settings;
  for (size_t i = 0; i < settings.size(); i++)
    if (const char* value = std::getenv(variables[i]); value != nullptr)
      settings[i] = std::string(variables[i]) + "=" + value;
  return settings;
}

std::optional<size_t> innermost(const std::vector<Settings>& settings, const std::vector<std::string>& environments) {
  for (const std::string& environment : environments)
    for (size_t i = 0; i < settings.size(); i++)
      for (const std::string& setting : settings[i])
        if (!setting.empty() && !has(environment, setting)) return i;
  return std::nullopt;
}

std::optional<size_t> innermost(const std::vector<Settings>& settings) {
  if (settings.size() == 1) return 0;
  constexpr size_t most_ancestors = 64;
  std::vector<std::string> environments;
  // If /proc belongs to another pid namespace, its pids are those of other processes.
  if (!transport::own_namespaces().proc_is_own) return std::nullopt;
  for (int pid = getppid(); pid > 0 && environments.size() < most_ancestors;) {
    Process process = look_at(pid);
    if (!process.is_visible || (process.environment.empty() && !process.is_of_other_user)) break;
    environments.push_back(std::move(process.environment));
    if (environments.back().empty()) break;
    pid = process.parent;
  }
  return innermost(settings, environments);
}

}  // namespace coll::launch
