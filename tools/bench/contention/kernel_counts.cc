// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/contention/kernel_counts.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace coll::tools {

std::unique_ptr<EventCounter> EventCounter::open(const char* event, std::string& problem) {
  const std::string path = fmt::format("/sys/kernel/tracing/events/{}/id", event);
  uint64_t id = 0;
  std::ifstream file(path);
  if (!(file >> id)) {
    problem = fmt::format(
        "cannot read {}; run as root, with tracefs mounted (mount -t tracefs tracefs /sys/kernel/tracing)", path);
    return nullptr;
  }
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.size = sizeof attributes;
  attributes.config = id;
  const int descriptor = int(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (descriptor < 0) {
    problem = fmt::format("perf_event_open: {}; run as root, outside of containers", std::strerror(errno));
    return nullptr;
  }
  return std::unique_ptr<EventCounter>(new EventCounter(descriptor));
}

EventCounter::~EventCounter() { close(descriptor_); }

uint64_t EventCounter::count() const {
  uint64_t count = 0;
  return read(descriptor_, &count, sizeof count) == ssize_t(sizeof count) ? count : 0;
}

uint64_t pages_pinned() {
  // Reading this file makes the kernel add up the counts of all processors.
  std::ifstream("/proc/sys/vm/stat_refresh").get();
  std::ifstream file("/proc/vmstat");
  std::string name;
  for (uint64_t value = 0; file >> name >> value;)
    if (name == "nr_foll_pin_acquired") return value;
  return 0;
}

}  // namespace coll::tools
