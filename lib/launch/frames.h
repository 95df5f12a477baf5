// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a gathering send each other: a header, and as many bytes as it says.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace coll::launch {

using Clock = std::chrono::steady_clock;

enum class Kind : uint32_t { hello = 1, welcome, data, failure };

inline constexpr uint32_t magic = 0x6c636f6c;  // "lcol"
inline constexpr size_t longest_failure = 1024;

struct Frame {
  uint32_t magic;
  Kind kind;
  uint32_t version, rank, ranks;  // of a hello
  uint32_t zero;
  uint64_t bytes;  // that follow
};
static_assert(sizeof(Frame) == 32);
inline constexpr uint32_t version = 1;

inline Frame frame(Kind kind, size_t bytes) { return {magic, kind, version, 0, 0, 0, bytes}; }

// What a rank says of itself; nothing follows it. "" or why it cannot be a rank of `ranks`.
std::string check_hello(const Frame& hello, uint32_t ranks);

enum class Outcome { done, ended, late };  // ended: the other end has closed the connection

// On a blocking or non-blocking socket, until the deadline.
Outcome send_all(int socket, const void* data, size_t bytes, Clock::time_point deadline);
Outcome receive_all(int socket, void* data, size_t bytes, Clock::time_point deadline);
// The text of a failure whose header has been received; never empty.
std::string receive_text(int socket, const Frame& header, Clock::time_point deadline);

}  // namespace coll::launch
