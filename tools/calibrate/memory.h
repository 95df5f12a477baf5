// SPDX-License-Identifier: BSD-3-Clause
// The memory of the processes that calibration measures, and the ways to access that of another process.
#pragma once

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tools/bench/contention/access.h"
#include "tools/common/shared_memory.h"
#include "transport/shared_file.h"

namespace coll::tools {

// Constructed before the processes are forked; each of them then calls begin(). "own" names memory of the calling
// process.
class Workplace {
 public:
  static constexpr int flag_lines = 64;
  struct alignas(128) Line {  // prefetchers fetch lines in pairs
    std::atomic<uint64_t> value;
  };

  // Every process has `bytes` of private and as much of shared memory. One more process, which sleeps during all probes
  // (RoundsTask::with_one_at_rest), has rest_bytes() of each.
  Workplace(int processes, size_t bytes);

  // Allocates, touches and announces the memory of this process. Returns "" or an error. REQUIRED by own() and
  // kcoll_problem() in this process, by place() and access() in that of their argument, too.
  std::string begin(int process);

  int processes() const { return processes_; }
  int at_rest() const { return processes_; }
  static size_t rest_bytes() { return 1024 * transport::page_bytes(); }

  char* own() const { return source_->data(); }
  const std::string& kcoll_problem() const { return source_->kcoll_problem(); }
  // Shared memory of any process.
  char* shared(int process) const { return shared_.data() + size_t(process) * bytes_; }
  // Flag lines that process `of` writes.
  Line* lines(int of) const { return reinterpret_cast<Line*>(lines_.data()) + size_t(of) * flag_lines; }
  const Place& place(int process) const { return reinterpret_cast<const Place*>(places_.data())[process]; }
  // Opens the access at the first call; valid as long as this object. Returns null and the reason in `problem` if that
  // fails.
  Access* access(CopyPath path, int process, std::string& problem);
  // The domain of kcoll that all processes join.
  const transport::Token& kcoll_domain() const { return key_; }
  // A buffer of one huge page, which the library has seen used repeatedly. Null if there is no memory.
  const char* long_buffer();
  // A buffer of few_bytes, which stays in the L1 cache.
  char* few() { return few_; }
  static constexpr size_t few_bytes = 4096;

 private:
  int processes_;
  size_t bytes_;
  SharedMemory shared_, lines_, places_;
  transport::Token key_;
  std::unique_ptr<Source> source_;
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> long_buffer_;
  struct Opened {
    CopyPath path;
    int process;
    std::unique_ptr<Access> access;
    std::string problem;
  };
  std::vector<Opened> opened_;
  alignas(64) char few_[few_bytes] = {};
};

// ---- memory that is measured --------------------------------------------------------------------------------------

// Modifies every line, so that all of them are dirty in the caller's cache.
void rewrite(char* memory, size_t bytes);

}  // namespace coll::tools
