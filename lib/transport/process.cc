// SPDX-License-Identifier: BSD-3-Clause
#include "transport/process.h"

#include <cerrno>
#include <csignal>
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
  char boot[64] = "";
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    ssize_t length = read(fd, boot, sizeof boot - 1);
    close(fd);
    boot[length > 0 ? length : 0] = 0;
    boot[strcspn(boot, "\n")] = 0;
  }
  struct stat space {};
  stat("/proc/self/ns/pid", &space);
  return std::string(boot) + "/" + std::to_string(space.st_ino);
}

Life::Life(int pid) : pid_(pid), descriptor_(int(syscall(SYS_pidfd_open, pid, 0))) {}

Life::~Life() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool Life::ended() const {
  if (pid_ < 0) return false;
  if (descriptor_ < 0) return kill(pid_, 0) != 0 && errno == ESRCH;
  pollfd waiting{descriptor_, POLLIN, 0};
  return poll(&waiting, 1, 0) == 1 && (waiting.revents & POLLIN) != 0;
}

}  // namespace coll::transport
