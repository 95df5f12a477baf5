// SPDX-License-Identifier: BSD-3-Clause
#include "tools/common/launch.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <new>

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/command.h"
#include "topo/machine.h"
#include "transport/shared_file.h"

namespace coll::tools {

namespace {

const char* fix_of(int error) {
  if (error == EPERM || error == ENOSYS) return "allow memfd_create in the container's seccomp filter";
  return "raise the limits on memory, descriptors or file size (ulimit -v, -n, -f)";
}

}  // namespace

InheritedMemory::InheritedMemory(const char* name, size_t bytes) : bytes_(bytes), descriptor_(memfd_create(name, 0)) {
  int error = descriptor_ < 0 ? errno : transport::set_length(descriptor_, bytes);
  if (error == 0) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (data_ == MAP_FAILED) error = errno;
  }
  if (error == 0) return;
  if (descriptor_ >= 0) close(descriptor_);
  throw Failure(
      fmt::format("cannot create the shared memory of the ranks: {}; {}", std::strerror(error), fix_of(error)));
}

InheritedMemory::~InheritedMemory() {
  munmap(data_, bytes_);
  close(descriptor_);
}

Meeting::Meeting(int ranks) : ranks_(ranks), memory_("coll-meeting", launcher::meeting_bytes(ranks)) {
  new (memory_.data()) launcher::Meeting{0, 0, uint32_t(ranks), 0};
}

void Meeting::become(int rank) const {
  setenv(launcher::variable, fmt::format("{}/{}/{}", rank, ranks_, memory_.descriptor()).c_str(), 1);
}

void Meeting::abandon(int rank) {
  auto& meeting = *static_cast<launcher::Meeting*>(memory_.data());
  meeting.ended_rank = uint32_t(rank);
  meeting.generation |= launcher::abandoned;
  launcher::wake_all(meeting);
}

std::vector<int> allowed_cpus() { return topo::current_cpus(); }

bool pin_to(int cpu) {
  const int most = 1 << 16;
  cpu_set_t* set = CPU_ALLOC(most);
  if (set == nullptr) return false;
  const size_t bytes = CPU_ALLOC_SIZE(most);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(size_t(cpu), bytes, set);
  bool done = sched_setaffinity(0, bytes, set) == 0;
  CPU_FREE(set);
  return done;
}

pid_t fork_rank() {
  pid_t parent = getpid();
  std::fflush(nullptr);
  pid_t child = fork();
  if (child < 0)
    throw Failure(fmt::format("cannot start a process: {}; raise ulimit -u or use fewer ranks", std::strerror(errno)));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(128 + SIGKILL);  // the parent ended before prctl()
  }
  return child;
}

std::string ending_text(int wait_status) {
  if (WIFSIGNALED(wait_status))
    return fmt::format("signal {} ({})", WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
  return fmt::format("exit status {}", WEXITSTATUS(wait_status));
}

int ending_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

namespace {

// The ranks' processes. The destructor kills and reaps those that have not ended.
class Children {
 public:
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    for (pid_t pid : pids_)
      if (pid > 0) kill(pid, SIGKILL);
    for (pid_t pid : pids_)
      if (pid > 0) waitpid(pid, nullptr, 0);
    for (const pollfd& end : ends_)
      if (end.fd >= 0) close(end.fd);
  }

  void add(pid_t pid) {
    pids_.push_back(pid);
    // Before Linux 5.3 this is -1, which poll() ignores: an exit is then noticed at the next poll timeout.
    ends_.push_back({int(syscall(SYS_pidfd_open, pid, 0)), POLLIN, 0});
  }
  // Returns a rank that has ended and its status as of waitpid(); -1 if none has ended.
  int ended(int* status) {
    for (size_t rank = 0; rank < pids_.size(); ++rank)
      if (pids_[rank] > 0 && waitpid(pids_[rank], status, WNOHANG) > 0) {
        pids_[rank] = 0;
        if (ends_[rank].fd >= 0) close(ends_[rank].fd);
        ends_[rank].fd = -1;
        return int(rank);
      }
    return -1;
  }
  // Waits until a process ends or the time has elapsed.
  void await_end(int milliseconds) { poll(ends_.data(), nfds_t(ends_.size()), milliseconds); }

 private:
  std::vector<pid_t> pids_;   // 0: has ended
  std::vector<pollfd> ends_;  // pidfds, readable once the process has ended
};

// The polling interval is long, because the parent runs on a core of one of the ranks.
constexpr int look_ms = 50;

}  // namespace

std::string run_ranks(int ranks, const Environment& environment, int seconds, const std::function<int(int rank)>& body,
                      const std::function<void()>& meanwhile) {
  Meeting meeting(ranks);
  std::vector<int> cpus = allowed_cpus();
  Children children;
  for (int rank = 0; rank < ranks; ++rank) {
    pid_t child = fork_rank();
    if (child == 0) {
      if (cpus.size() >= size_t(ranks)) pin_to(cpus[size_t(rank)]);
      for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
      meeting.become(rank);
      int status = body(rank);
      std::fflush(nullptr);
      _exit(status);
    }
    children.add(child);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (int left = ranks; left > 0;) {
    int status = 0;
    if (const int ended = children.ended(&status); ended >= 0) {
      --left;
      if (status != 0) return fmt::format("rank {} ended with {}", ended, ending_text(status));
      continue;
    }
    if (meanwhile) meanwhile();
    if (seconds > 0 && std::chrono::steady_clock::now() > deadline)
      return fmt::format("the ranks did not finish within {} s", seconds);
    children.await_end(look_ms);
  }
  if (meanwhile) meanwhile();
  return "";
}

}  // namespace coll::tools
