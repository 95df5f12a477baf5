// SPDX-License-Identifier: BSD-3-Clause
// The messages between rank 0 and the other ranks of a gathering: a header, followed by `bytes` bytes.
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
  uint32_t version, rank, ranks;  // used in a hello only
  uint32_t zero;
  uint64_t bytes;  // number of bytes that follow the header
};
static_assert(sizeof(Frame) == 32);
inline constexpr uint32_t version = 1;

inline Frame frame(Kind kind, size_t bytes) { return {magic, kind, version, 0, 0, 0, bytes}; }

// Checks the hello of a rank, which has no payload. Returns "" or the reason why the sender is no rank of this job.
std::string check_hello(const Frame& hello, uint32_t ranks);

enum class Outcome { done, ended, late };  // ended: the peer has closed the connection; late: the deadline has passed

// Send or receive all bytes on a blocking or non-blocking socket, waiting until the deadline.
Outcome send_all(int socket, const void* data, size_t bytes, Clock::time_point deadline);
Outcome receive_all(int socket, void* data, size_t bytes, Clock::time_point deadline);
// Receives the text of a failure after its header. Never returns an empty text.
std::string receive_text(int socket, const Frame& header, Clock::time_point deadline);

}  // namespace coll::launch
