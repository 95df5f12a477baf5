// SPDX-License-Identifier: BSD-3-Clause
// Starts the ranks of a job on this node: the meeting that coll_comm_create_from_launcher() expects, and processes that
// end with collctl.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "api/launcher.h"

namespace coll::tools {

// Zeroed memory in a memfd that child processes inherit, also through exec(). Throws Failure.
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

// The memfd at which the ranks of one job meet. Processes that are started during its lifetime inherit it.
class Meeting {
 public:
  explicit Meeting(int ranks);

  int ranks() const { return ranks_; }
  // Sets COLL_LAUNCH for the calling process, which becomes this rank.
  void become(int rank) const;
  // Marks a rank as ended: ranks that wait for it in the meeting, now or later, fail.
  void abandon(int rank);

 private:
  int ranks_;
  InheritedMemory memory_;
};

// Returns the processors on which this process may run.
std::vector<int> allowed_cpus();
// Binds the calling process to one processor. Returns false if the system refuses.
bool pin_to(int cpu);

// Forks, and returns 0 in the child. The kernel kills the child when the calling thread ends.
pid_t fork_rank();

// Returns "exit status 3" or "signal 11 (Segmentation fault)".
std::string ending_text(int wait_status);
// Returns the status that a shell reports: the exit status, or 128 + the signal.
int ending_status(int wait_status);

using Environment = std::vector<std::pair<std::string, std::string>>;

// Runs `body` in `ranks` forked processes with the given environment. Each is bound to a processor of its own if there
// are enough. If one ends with a status other than 0, or the time limit expires, the others are killed. Calls
// `meanwhile` periodically in the parent. Returns "" or an error.
std::string run_ranks(int ranks, const Environment& environment, int seconds, const std::function<int(int rank)>& body,
                      const std::function<void()>& meanwhile = {});

}  // namespace coll::tools
