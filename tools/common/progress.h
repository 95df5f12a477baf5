// SPDX-License-Identifier: BSD-3-Clause
// A progress bar on stderr; it prints nothing if stderr is not a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace coll::tools {

class Progress {
 public:
  explicit Progress(uint64_t total);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Draws at most ten times a second.
  void show(uint64_t done, const std::string& what);
  // Removes the bar, so that something else can be printed.
  void clear();

 private:
  uint64_t total_;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point begin_, last_{};
};

}  // namespace coll::tools
