// SPDX-License-Identifier: BSD-3-Clause
// The identity of this process for its peers, and what the system reports about another one.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace coll::transport {

// The limit of ranks of a communicator (coll.h). A launcher's variables with a larger number are wrong.
inline constexpr int most_ranks = 4096;

// Unguessable and unique to one life of one process: a child after fork() has another.
struct Token {
  std::array<uint64_t, 2> words{};
  friend bool operator==(const Token&, const Token&) = default;
};

const Token& own_token();
// Returns another token, for any other secret.
Token fresh_token();

// The id of the machine's boot: equal for processes that run under one kernel.
std::string node_identity();

// The kernel's number of this process's namespace of a kind: "user", "pid", "net", "time". 0: unknown.
uint32_t namespace_number(const char* kind);

// The namespaces of a process; 0: unknown.
struct Namespaces {
  uint32_t user = 0, pid = 0, net = 0;
  bool proc_is_own = false;  // /proc numbers processes as the process's own pid namespace does
};

// The namespaces of this process at the first call: it can leave them later only while it has one thread.
Namespaces own_namespaces();
// Whether a pid means the same process to both.
bool share_pids(const Namespaces& a, const Namespaces& b);
// Whether namespaces let each of the two open what /proc shows of the other.
bool share_proc(const Namespaces& a, const Namespaces& b);

// What /proc/PID/stat reports about a process.
struct ProcessStat {
  bool known = false;  // false: /proc cannot be read, or there is no such process
  char state = 0;      // of the first thread
  unsigned long flags = 0;
  long threads = 0;
  uint64_t start = 0;  // in clock ticks, by the time namespace of the reader
  uint64_t stack = 0;  // where the stack of the program begins; 0: hidden from the reader
};

// `process` is a number of this process's pid namespace, which is unknown where /proc is that of another namespace, or
// "self". Allocates no memory: a rank that waits in the middle of an operation calls this.
ProcessStat stat_of(const char* process);

}  // namespace coll::transport
