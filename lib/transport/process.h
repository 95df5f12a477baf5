// SPDX-License-Identifier: BSD-3-Clause
// Who this process is to its peers, and whether theirs still live.
#pragma once

#include <array>
#include <atomic>
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

// Between two looks of this process at whether one peer is doomed, and at whether any is: a look asks /proc, which takes
// a hundred microseconds.
inline constexpr int64_t doomed_look_ms = 100, any_look_ms = 50;

// A handle on another process that tells when it has ended, also while it is a zombie (when the program has closed the
// handle's descriptor, doomed() tells that). Thread safe.
class Life {
 public:
  Life() = default;
  explicit Life(int pid);
  ~Life();
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;
  // None of its threads runs any more.
  bool ended() const;
  // The same, or a signal is ending it: its threads run none of its program's code any more, or stop in a moment, but
  // the kernel may need seconds to take back the memory of a large process, or minutes to write its core, before it has
  // ended. Looks for that now and then only: false may be old.
  bool doomed() const;

 private:
  int pid_ = -1;
  mutable std::atomic<int> descriptor_ = -1;  // -1: there is none, or the program has closed it
  mutable std::atomic<int64_t> last_look_ms_ = 0;
};

}  // namespace coll::transport
