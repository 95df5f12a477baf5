// SPDX-License-Identifier: BSD-3-Clause
// hwloc prints "received invalid information from the operating system" and its like to stderr unless
// HWLOC_HIDE_ERRORS=2 is in the environment when the process first needs to know; it offers no call for that.
//
// While a Quiet lives, `environ` points to a copy of the table with that one line added. The program's own
// table is not written, so other threads keep reading valid variables, and it is put back unless another
// thread has replaced it in between (then hwloc's line stays, which harms nobody). A value that the program
// or the user has set is respected, and then nothing is done at all.
#pragma once

#include <atomic>
#include <cstdlib>
#include <vector>

#include <unistd.h>

namespace coll::topo {

// REQUIRES: one at a time (the loaders hold a lock).
class Quiet {
 public:
  Quiet() {
    if (std::getenv(name) != nullptr) return;
    // Never freed: another thread's getenv() or putenv() may still look at it. hwloc reads the variable once
    // per process, so one copy is all there ever is.
    static std::atomic<bool> done{false};
    if (done.exchange(true)) return;
    auto *table = new std::vector<char *>;
    for (char **line = environ; line != nullptr && *line != nullptr; ++line) table->push_back(*line);
    static char setting[] = "HWLOC_HIDE_ERRORS=2";
    table->push_back(setting);
    table->push_back(nullptr);
    mine_ = table->data();
    theirs_ = std::atomic_ref<char **>(environ).exchange(mine_);
    kept() = table;
  }
  ~Quiet() {
    if (mine_ == nullptr) return;
    char **expected = mine_;
    std::atomic_ref<char **>(environ).compare_exchange_strong(expected, theirs_);
  }
  Quiet(const Quiet &) = delete;
  Quiet &operator=(const Quiet &) = delete;

 private:
  static constexpr const char *name = "HWLOC_HIDE_ERRORS";
  // Keeps the copy reachable, so that leak checkers see it for what it is.
  static std::vector<char *> *&kept() {
    static std::vector<char *> *table = nullptr;
    return table;
  }
  char **mine_ = nullptr;
  char **theirs_ = nullptr;
};

}  // namespace coll::topo
