// SPDX-License-Identifier: BSD-3-Clause
#include "launch/guest.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <unistd.h>

#include "launch/frames.h"
#include "launch/host.h"
#include "sync/system_wait.h"

namespace coll::launch {

namespace {

constexpr uint32_t first_wait_us = 500, longest_wait_us = 100'000;

std::string of_other_user(std::optional<unsigned> user) {
  if (!user) return "";
  return " (a process of user " + std::to_string(*user) + " is in its place, and this rank runs as user " +
         std::to_string(geteuid()) + "; run all ranks as one user)";
}

// Tries once to connect to one address. Returns null if rank 0 is not there (yet). Sets `problem` if another try is
// useless, and `stranger` if another user has a socket there.
std::unique_ptr<OwnSocket> reach(const SocketAddress& address, const JobRank& job_rank,
                                 const config::Rendezvous& options, std::optional<unsigned>& stranger,
                                 std::string& problem) {
  auto made = std::make_unique<OwnSocket>(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made->is_open())
    return problem = std::string("cannot make a socket: ") + strerror(errno) +
                     "; allow AF_UNIX sockets in the container's seccomp filter, or raise the limit on open files "
                     "(ulimit -n)",
           nullptr;
  if (!address.fits() || connect(made->get(), address.get(), address.bytes) != 0) return nullptr;
  // This is no final error: any user may have a socket with this name, and rank 0 may be at the other address.
  const OwnSocket::Peer first = made->peer();
  if (!first.known || first.user != geteuid()) return stranger = first.user, nullptr;
  return greet(*made, job_rank, options, problem) ? std::move(made) : nullptr;
}

}  // namespace

bool greet(const OwnSocket& first, const JobRank& job_rank, const config::Rendezvous& options, std::string& problem) {
  Frame hello = frame(Kind::hello, 0), answer{};
  hello.rank = uint32_t(job_rank.rank);
  hello.ranks = uint32_t(job_rank.ranks);
  const Clock::time_point deadline = Clock::now() + 2 * options.limit;
  // Errors are ignored here: rank 0 may have sent a failure before it has read the hello.
  send_all(first.get(), &hello, sizeof hello, deadline);
  const Outcome outcome = receive_all(first.get(), &answer, sizeof answer, deadline);
  if (outcome == Outcome::late)
    problem = "rank 0 of " + job_rank.launcher + " does not answer; see whether it is stopped";
  if (outcome != Outcome::done) return false;
  if (answer.magic == magic && answer.kind == Kind::welcome) return true;
  problem = answer.magic == magic && answer.kind == Kind::failure
                ? receive_text(first.get(), answer, deadline)
                : "rank 0 runs another version of libcoll than this rank; use one version on all ranks";
  return false;
}

std::string visit(const JobRank& job_rank, const config::Rendezvous& options,
                  std::vector<std::unique_ptr<OwnSocket>>& ranks) {
  std::vector<SocketAddress> addresses;
  if (job_rank.path.empty()) addresses.push_back(SocketAddress::abstract(socket_name(job_rank.job)));
  const std::string path = meeting_path(job_rank, options);
  if (!path.empty()) addresses.push_back(SocketAddress::file(path));
  // Waiting does not help, and rank 0 reports the same.
  if (!job_rank.path.empty() && !addresses[0].fits()) return cannot_listen_at(job_rank.path, strerror(ENAMETOOLONG));
  const Clock::time_point deadline = Clock::now() + options.limit;
  std::optional<unsigned> stranger;
  for (uint32_t wait_us = first_wait_us;; wait_us = std::min(2 * wait_us, longest_wait_us)) {
    for (const SocketAddress& address : addresses) {
      std::string problem;
      if (std::unique_ptr<OwnSocket> made = reach(address, job_rank, options, stranger, problem)) {
        ranks.push_back(std::move(made));
        return "";
      }
      if (!problem.empty()) return problem;
    }
    if (Clock::now() >= deadline) break;
    sync::sleep_us(wait_us);
  }
  return "rank 0 of " + job_rank.launcher + " has not come within " + std::to_string(options.limit.count()) + " s" +
         of_other_user(stranger) + meeting_hint(job_rank, options);
}

}  // namespace coll::launch
