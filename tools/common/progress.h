// SPDX-License-Identifier: BSD-3-Clause
// A bar on stderr while long work lasts; nothing at all where stderr is no terminal.
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
  // Takes the bar away, before something else is written.
  void clear();

 private:
  uint64_t total_;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point begin_, last_{};
};

}  // namespace coll::tools
