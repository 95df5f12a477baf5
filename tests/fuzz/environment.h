// SPDX-License-Identifier: BSD-3-Clause
// An environment as fuzzer input: a line "NAME=value" for each variable.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace coll::fuzz {

// Sets those of `names` that the input names, and unsets the others.
inline void set_environment(std::string_view input, std::span<const char* const> names) {
  for (const char* name : names) unsetenv(name);
  while (!input.empty()) {
    const size_t end = std::min(input.find('\n'), input.size());
    const std::string line(input.substr(0, end));
    input.remove_prefix(std::min(end + 1, input.size()));
    const size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = line.substr(0, equals);
    for (const char* known : names)
      if (name == known) setenv(known, line.c_str() + equals + 1, 1);
  }
}

}  // namespace coll::fuzz
