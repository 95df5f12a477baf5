// SPDX-License-Identifier: BSD-3-Clause
// Sets an environment variable in a test and restores its previous value.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace coll::test {

// Sets `name` for the scope; null unsets it.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* found = std::getenv(name)) before_ = found;
    set(value);
  }
  ~Environment() { set(before_ ? before_->c_str() : nullptr); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  void set(const char* value) const { value != nullptr ? setenv(name_, value, 1) : unsetenv(name_); }

  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace coll::test
