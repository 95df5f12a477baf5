// SPDX-License-Identifier: BSD-3-Clause
// Who this process is to its peers, and what the system tells of another one.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace coll::transport {

// Unguessable and unique to one life of one process: a child after fork() has another.
struct Token {
  std::array<uint64_t, 2> words{};
  friend bool operator==(const Token&, const Token&) = default;
};

const Token& own_token();
// Another one, for any other secret.
Token fresh_token();

// The machine's boot and the process-id namespace: equal for processes that can reach each other by pid.
std::string node_identity();

// What /proc/PID/stat tells of a process.
struct ProcessStat {
  bool known = false;  // false: /proc cannot be read, or there is no such process
  char state = 0;      // of the first thread
  unsigned long flags = 0;
  long threads = 0;
  uint64_t start = 0;  // in clock ticks, by the time namespace of the reader
  uint64_t stack = 0;  // where the stack of the program begins; 0: hidden from the reader
};

// `process` is a number, or "self". Allocates no memory: a rank that waits in the middle of an operation calls this.
ProcessStat stat_of(const char* process);

}  // namespace coll::transport
