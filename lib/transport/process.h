// SPDX-License-Identifier: BSD-3-Clause
// Who this process is to its peers, and whether theirs still live.
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

// A handle on another process that tells when it has ended, also while it is a zombie.
class Life {
 public:
  Life() = default;
  explicit Life(int pid);
  ~Life();
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;
  bool ended() const;

 private:
  int pid_ = -1;
  int descriptor_ = -1;
};

}  // namespace coll::transport
