// SPDX-License-Identifier: BSD-3-Clause
// The memory of the processes that calibrate times, and how each sees the others'.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tools/bench/contention/access.h"
#include "tools/common/shared_memory.h"

namespace coll::tools {

// Made before the processes are forked; begin() is called in each. Everything named "own" is the calling process's.
class Workplace {
 public:
  static constexpr int flag_lines = 64;
  struct alignas(128) Line {
    std::atomic<uint64_t> value;
  };

  // `bytes` of private and as much of shared memory for each process; the last one, at rest, has less.
  Workplace(int processes, size_t bytes);

  std::string begin(int process);

  int processes() const { return processes_; }
  int at_rest() const { return processes_; }
  static constexpr size_t rest_bytes = size_t(4) << 20;

  char* own() const { return source_->data(); }
  const std::string& kcoll_problem() const { return source_->kcoll_problem(); }
  // Shared memory of any process.
  char* shared(int process) const { return shared_.data() + size_t(process) * bytes_; }
  // Flag lines that process `of` writes.
  Line* lines(int of) const { return reinterpret_cast<Line*>(lines_.data()) + size_t(of) * flag_lines; }
  const Place& place(int process) const { return reinterpret_cast<const Place*>(places_.data())[process]; }
  // Opened when first asked for. Null and why.
  Access* access(CopyPath way, int process, std::string& problem);
  // The domain of kcoll that all processes join.
  const transport::Token& kcoll_domain() const { return key_; }
  // Where a few lines stay in the first-level cache.
  char* few() { return few_; }
  static constexpr size_t few_bytes = 4096;

 private:
  int processes_;
  size_t bytes_;
  SharedMemory shared_, lines_, places_;
  transport::Token key_;
  std::unique_ptr<Source> source_;
  struct Opened {
    CopyPath way;
    int process;
    std::unique_ptr<Access> access;
    std::string problem;
  };
  std::vector<Opened> opened_;
  alignas(64) char few_[few_bytes] = {};
};

// ---- what is timed of memory -------------------------------------------------------------------------------------

// Makes all lines the caller's own, changed.
void rewrite(char* memory, size_t bytes);

}  // namespace coll::tools
