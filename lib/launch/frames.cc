// SPDX-License-Identifier: BSD-3-Clause
#include "launch/frames.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>

namespace coll::launch {

namespace {

// Waits until the socket is ready. Returns false if the deadline passes first.
bool ready(int socket, short events, Clock::time_point deadline) {
  constexpr long longest_ms = 60'000;
  for (;;) {
    const long left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd polled{socket, events, 0};
    const int found = poll(&polled, 1, int(std::clamp(left + 1, 0L, longest_ms)));
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return true;  // the following call on the socket reports the error
    if (Clock::now() >= deadline) return false;
  }
}

}  // namespace

std::string check_hello(const Frame& hello, uint32_t ranks) {
  if (hello.magic != magic || hello.kind != Kind::hello || hello.bytes != 0 || hello.version != version)
    return "it runs another version of libcoll than rank 0; use one version on all ranks";
  if (hello.ranks != ranks || hello.rank == 0 || hello.rank >= ranks)
    return "it is rank " + std::to_string(hello.rank) + " of " + std::to_string(hello.ranks) +
           " by its variables, and rank 0 is one of " + std::to_string(ranks) +
           " ranks; start the ranks of a job by one command";
  return "";
}

Outcome send_all(int socket, const void* data, size_t bytes, Clock::time_point deadline) {
  for (const char* at = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t sent = send(socket, at, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      at += sent;
      bytes -= size_t(sent);
    } else if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      return Outcome::ended;
    } else if (!ready(socket, POLLOUT, deadline)) {
      return Outcome::late;
    }
  }
  return Outcome::done;
}

Outcome receive_all(int socket, void* data, size_t bytes, Clock::time_point deadline) {
  for (char* at = static_cast<char*>(data); bytes > 0;) {
    const ssize_t got = recv(socket, at, bytes, MSG_DONTWAIT);
    if (got > 0) {
      at += got;
      bytes -= size_t(got);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      return Outcome::ended;
    } else if (!ready(socket, POLLIN, deadline)) {
      return Outcome::late;
    }
  }
  return Outcome::done;
}

std::string receive_text(int socket, const Frame& header, Clock::time_point deadline) {
  std::string text(std::min<uint64_t>(header.bytes, longest_failure), ' ');
  const bool is_whole = receive_all(socket, text.data(), text.size(), deadline) == Outcome::done;
  return is_whole && !text.empty() ? text : "rank 0 has given up";
}

}  // namespace coll::launch
