// SPDX-License-Identifier: BSD-3-Clause
#include "transport/process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace coll::transport {

namespace {

Token token;

void draw_token() { token = fresh_token(); }

int64_t now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

// The beginning of a file of /proc; empty when it cannot be read. No memory is allocated: a rank that waits in the middle
// of an operation calls this.
struct ProcFile {
  char text[512] = "";
  bool opened = false;

  // The format has one %d, for the number.
  ProcFile(const char* format, int number) {
    char path[48];
    snprintf(path, sizeof path, format, number);
    take(path);
  }
  explicit ProcFile(const char* path) { take(path); }

 private:
  void take(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    opened = true;
    const ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    text[std::max<ssize_t>(length, 0)] = 0;
  }
};

// Whether a signal is ending the process, from the flags of its first thread, or it is a zombie. False where /proc does
// not tell.
bool is_being_killed(int pid) {
  constexpr unsigned long signaled = 0x400;  // PF_SIGNALED of the kernel, the same since its first versions
  const ProcFile stat("/proc/%d/stat", pid);
  // The name in parentheses may hold anything: what is looked for are the first and the seventh word behind it.
  const char* behind = strrchr(stat.text, ')');
  char state = 0;
  unsigned long flags = 0;
  return behind != nullptr && sscanf(behind + 1, " %c %*d %*d %*d %*d %*d %lu", &state, &flags) == 2 &&
         (state == 'Z' || state == 'X' || (flags & signaled) != 0);
}

// Whether the descriptor is still that of the process: a program may close descriptors that it did not open, and get the
// same number for a file of its own. -1 in place of the number: the process has ended.
bool is_of_process(int descriptor, int pid) {
  const ProcFile info("/proc/self/fdinfo/%d", descriptor);
  if (!info.opened) return !ProcFile("/proc/self/stat").opened && fcntl(descriptor, F_GETFD) >= 0;
  const char* line = strstr(info.text, "\nPid:");
  int found = 0;
  return line != nullptr && sscanf(line, "\nPid: %d", &found) == 1 && (found == pid || found == -1);
}

}  // namespace

Token fresh_token() {
  Token fresh;
  if (getrandom(fresh.words.data(), sizeof fresh.words, GRND_NONBLOCK) == ssize_t(sizeof fresh.words)) return fresh;
  // Early in a boot without entropy: uniqueness is enough for correctness.
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  fresh.words = {uint64_t(now.tv_sec) << 32 ^ uint64_t(now.tv_nsec), uint64_t(getpid())};
  return fresh;
}

const Token& own_token() {
  static const bool once = [] {
    draw_token();
    pthread_atfork(nullptr, nullptr, draw_token);
    return true;
  }();
  (void)once;
  return token;
}

std::string node_identity() {
  const ProcFile boot("/proc/sys/kernel/random/boot_id");
  struct stat space {};
  stat("/proc/self/ns/pid", &space);
  return std::string(boot.text, strcspn(boot.text, "\n")) + "/" + std::to_string(space.st_ino);
}

Life::Life(int pid) : pid_(pid), descriptor_(int(syscall(SYS_pidfd_open, pid, 0))), last_look_ms_(now_ms()) {}

Life::~Life() {
  if (const int descriptor = descriptor_; descriptor >= 0 && is_of_process(descriptor, pid_)) close(descriptor);
}

bool Life::ended() const {
  if (pid_ < 0) return false;
  if (const int descriptor = descriptor_.load(std::memory_order_relaxed); descriptor >= 0) {
    pollfd waiting{descriptor, POLLIN, 0};
    if (poll(&waiting, 1, 0) != 1) return false;
    if ((waiting.revents & POLLIN) != 0 && is_of_process(descriptor, pid_)) return true;
    descriptor_.store(-1, std::memory_order_relaxed);  // the program has closed it, or uses its number
  }
  return kill(pid_, 0) != 0 && errno == ESRCH;
}

bool Life::doomed() const {
  if (ended()) return true;
  static std::atomic<int64_t> last_of_any_ms = 0;
  const int64_t now = now_ms();
  if (pid_ < 0 || now - last_look_ms_.load(std::memory_order_relaxed) < doomed_look_ms ||
      now - last_of_any_ms.load(std::memory_order_relaxed) < any_look_ms)
    return false;
  last_look_ms_.store(now, std::memory_order_relaxed);
  last_of_any_ms.store(now, std::memory_order_relaxed);
  return is_being_killed(pid_);
}

}  // namespace coll::transport
