// SPDX-License-Identifier: BSD-3-Clause
// hwloc prints "received invalid information from the operating system" and its like to stderr unless
// HWLOC_HIDE_ERRORS=2 is in the environment when it first has something to say; it offers no call for that.
//
// While a Quiet lives, `environ` points to a copy of the table with that one line added. The program's own
// table is not written, so other threads keep reading valid variables, and it is put back unless another
// thread has replaced it in between (then hwloc's line stays, which harms nobody). A value that the program
// or the user has set is respected, and then nothing is done at all.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <vector>

#include <unistd.h>

namespace coll::topo {

// REQUIRES: one at a time (the loaders hold a lock).
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
  // Another thread's getenv() may still walk a copy after it is out of use, so copies are never freed; the
  // same environment gives the same copy again. The owner is never destroyed either, but stays reachable.
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
