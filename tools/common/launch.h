// SPDX-License-Identifier: BSD-3-Clause
// Starting the ranks of a job on this node: the meeting that coll_comm_create_from_launcher() expects, and processes
// that do not outlive collctl.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "api/launcher.h"

namespace coll::tools {

// Zeroed memory of a file without a name, which every process has that is started while it lives, also after exec. Throws
// Failure.
class InheritedMemory {
 public:
  InheritedMemory(const char* name, size_t bytes);
  ~InheritedMemory();
  InheritedMemory(const InheritedMemory&) = delete;
  InheritedMemory& operator=(const InheritedMemory&) = delete;

  void* data() const { return data_; }
  int descriptor() const { return descriptor_; }

 private:
  size_t bytes_;
  int descriptor_;
  void* data_ = nullptr;
};

// The memfd at which the ranks of one job meet. Inherited by every process that is started while it lives.
class Meeting {
 public:
  explicit Meeting(int ranks);

  int ranks() const { return ranks_; }
  // Sets COLL_LAUNCH of the calling process, a rank to be.
  void become(int rank) const;
  // The rank has ended and comes no more: ranks that wait for it, now or later, fail instead.
  void abandon(int rank);

 private:
  int ranks_;
  InheritedMemory memory_;
};

// The processor numbers that this process may use.
std::vector<int> allowed_cpus();
// Binds the calling process to one processor; false when the system refuses.
bool pin_to(int cpu);

// Forks. The child is killed when the calling thread's process ends, whatever ends it; it returns 0 here.
pid_t fork_rank();

// "exit status 3", "signal 11 (Segmentation fault)".
std::string ending_text(int wait_status);
// What a shell reports for it: the exit status, or 128 + the signal.
int ending_status(int wait_status);

using Environment = std::vector<std::pair<std::string, std::string>>;

// Runs `body` in `ranks` forked processes, each bound to a processor of its own when there are enough, with the
// environment set before. The first one that ends with another status than 0 or takes too long ends the others.
// "" or what went wrong.
std::string run_ranks(int ranks, const Environment& environment, int seconds, const std::function<int(int rank)>& body,
                      const std::function<void()>& meanwhile = {});

}  // namespace coll::tools
