// SPDX-License-Identifier: BSD-3-Clause
// hwloc prints messages such as "received invalid information from the operating system" to stderr unless
// HWLOC_HIDE_ERRORS=2 is in the environment before its first message. hwloc has no function to suppress them.
//
// During the lifetime of a Quiet, `environ` points to a copy of the table with that line added. The program's own table
// is not modified, so other threads keep reading valid variables. The destructor restores it, unless another thread has
// replaced the table in between; then hwloc's line stays, which is harmless. If the program or the user has set the
// variable, Quiet does nothing.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <vector>

#include <unistd.h>

namespace coll::topo {

// REQUIRES: only one object exists at a time (the loaders hold a lock).
class Quiet {
 public:
  Quiet() {
    if (std::getenv("HWLOC_HIDE_ERRORS") != nullptr) return;
    mine_ = extended_copy();
    theirs_ = std::atomic_ref<char **>(environ).exchange(mine_);
  }
  ~Quiet() {
    if (mine_ == nullptr) return;
    char **expected = mine_;
    std::atomic_ref<char **>(environ).compare_exchange_strong(expected, theirs_);
  }
  Quiet(const Quiet &) = delete;
  Quiet &operator=(const Quiet &) = delete;

 private:
  // Another thread's getenv() may still read a copy after its use, so copies are never freed. An unchanged environment
  // reuses the last copy. The vector that owns the copies is never destroyed, but stays reachable.
  static char **extended_copy() {
    static char setting[] = "HWLOC_HIDE_ERRORS=2";
    static auto &copies = *new std::vector<std::unique_ptr<std::vector<char *>>>;
    std::vector<char *> table;
    for (char **line = environ; line != nullptr && *line != nullptr; ++line) table.push_back(*line);
    table.push_back(setting);
    table.push_back(nullptr);
    if (copies.empty() || *copies.back() != table)
      copies.push_back(std::make_unique<std::vector<char *>>(std::move(table)));
    return copies.back()->data();
  }

  char **mine_ = nullptr;
  char **theirs_ = nullptr;
};

}  // namespace coll::topo
