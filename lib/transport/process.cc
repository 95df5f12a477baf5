// SPDX-License-Identifier: BSD-3-Clause
#include "transport/process.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sync/clock.h"

namespace coll::transport {

namespace {

Token token;
// The result of own_namespaces(), once known: the user and the pid namespace; the network namespace and two bits.
constexpr uint64_t are_known = 1, proc_is_theirs = 2;
std::atomic<uint64_t> users_and_pids = 0, net_and_bits = 0;

// Called when a process begins to use the library, and in a child after fork().
void begin_life() {
  token = fresh_token();
  net_and_bits = 0;
}

// The beginning of a file of /proc; empty if it cannot be read.
struct ProcFile {
  char text[512] = "";

  explicit ProcFile(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    const ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    text[std::max<ssize_t>(length, 0)] = 0;
  }
};

bool proc_is_own() {
  char self[16] = "";
  return readlink("/proc/self", self, sizeof self - 1) > 0 && atoi(self) == getpid();
}

}  // namespace

Token fresh_token() {
  Token fresh;
  if (getrandom(fresh.words.data(), sizeof fresh.words, GRND_NONBLOCK) == ssize_t(sizeof fresh.words)) return fresh;
  // Early in a boot without entropy: uniqueness is enough for correctness.
  fresh.words = {uint64_t(sync::now_ns()), uint64_t(getpid())};
  return fresh;
}

const Token& own_token() {
  static const bool once = [] {
    begin_life();
    pthread_atfork(nullptr, nullptr, begin_life);
    return true;
  }();
  (void)once;
  return token;
}

std::string node_identity() {
  const ProcFile boot("/proc/sys/kernel/random/boot_id");
  return std::string(boot.text, strcspn(boot.text, "\n"));
}

uint32_t namespace_number(const char* kind) {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/ns/%s", kind);
  struct stat space {};
  return stat(path, &space) == 0 ? uint32_t(space.st_ino) : 0;
}

// Threads that call it at the same time store the same values.
Namespaces own_namespaces() {
  own_token();
  if (net_and_bits.load(std::memory_order_acquire) == 0) {
    users_and_pids.store(uint64_t(namespace_number("user")) << 32 | namespace_number("pid"), std::memory_order_relaxed);
    net_and_bits.store(uint64_t(namespace_number("net")) << 32 | (proc_is_own() ? proc_is_theirs : 0) | are_known,
                       std::memory_order_release);
  }
  const uint64_t first = users_and_pids.load(std::memory_order_relaxed),
                 second = net_and_bits.load(std::memory_order_relaxed);
  return {uint32_t(first >> 32), uint32_t(first), uint32_t(second >> 32), (second & proc_is_theirs) != 0};
}

bool share_pids(const Namespaces& a, const Namespaces& b) { return a.pid != 0 && a.pid == b.pid; }

bool share_proc(const Namespaces& a, const Namespaces& b) {
  return share_pids(a, b) && a.user != 0 && a.user == b.user && a.proc_is_own && b.proc_is_own;
}

ProcessStat stat_of(const char* process) {
  if (strcmp(process, "self") != 0 && !proc_is_own()) return {};
  char path[32];
  snprintf(path, sizeof path, "/proc/%s/stat", process);
  const ProcFile file(path);
  // The name in parentheses may contain anything. The words behind it are numbered from 3 in proc(5).
  const char* behind = strrchr(file.text, ')');
  ProcessStat stat;
  unsigned long long start = 0, stack = 0;
  stat.known = behind != nullptr &&
               sscanf(behind + 1,
                      " %c %*s %*s %*s %*s %*s %lu %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %*s %llu %*s %*s %*s "
                      "%*s %*s %llu",
                      &stat.state, &stat.flags, &stat.threads, &start, &stack) == 5;
  stat.start = start;
  stat.stack = stack;
  return stat;
}

}  // namespace coll::transport
