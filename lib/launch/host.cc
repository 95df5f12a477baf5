// SPDX-License-Identifier: BSD-3-Clause
#include "launch/host.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/frames.h"

namespace coll::launch {

namespace {

using Sockets = std::vector<std::unique_ptr<OwnSocket>>;
constexpr int longest_poll_ms = 500;

std::unique_ptr<OwnSocket> make_socket() {
  return std::make_unique<OwnSocket>(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Returns a socket that listens at the address. Returns null and sets errno on failure.
std::unique_ptr<OwnSocket> listen_at(const SocketAddress& address, int ranks) {
  auto made = make_socket();
  if (!address.fits()) return errno = ENAMETOOLONG, nullptr;
  // bind() creates the file with the mode that the socket has at that time.
  if (!made->is_open() || fchmod(made->get(), S_IRUSR | S_IWUSR) != 0 ||
      bind(made->get(), address.get(), address.bytes) != 0 || listen(made->get(), ranks) != 0)
    return nullptr;
  return made;
}

// The socket file in the directory that ranks share. It replaces a file that a killed rank 0 has left.
class ListeningFile {
 public:
  ListeningFile(std::string path, int ranks) : path_(std::move(path)) {
    if (path_.empty()) return;
    const SocketAddress address = SocketAddress::file(path_);
    socket_ = listen_at(address, ranks);
    if (socket_ == nullptr && errno == EADDRINUSE && is_left_over(path_, address) && unlink(path_.c_str()) == 0)
      socket_ = listen_at(address, ranks);
    if (socket_ == nullptr) reason_ = strerror(errno);
  }
  ~ListeningFile() { close(); }
  ListeningFile(const ListeningFile&) = delete;
  ListeningFile& operator=(const ListeningFile&) = delete;

  OwnSocket* socket() { return socket_.get(); }
  // A child after fork() does not remove the file: its copy of the socket is closed.
  void close() {
    if (socket_ != nullptr && socket_->is_open()) unlink(path_.c_str());
    socket_ = nullptr;
  }
  const std::string& reason() const { return reason_; }

 private:
  // Whether the file is a socket of this user that no process has open. Any other file is kept.
  static bool is_left_over(const std::string& path, const SocketAddress& address) {
    struct stat file {};
    if (lstat(path.c_str(), &file) != 0 || !S_ISSOCK(file.st_mode) || file.st_uid != geteuid()) return false;
    auto asking = make_socket();
    return connect(asking->get(), address.get(), address.bytes) != 0 && errno == ECONNREFUSED;
  }

  std::string path_, reason_;
  std::unique_ptr<OwnSocket> socket_;
};

// The connections to ranks that have sent their hello, and those without a hello yet.
class Arrivals {
 public:
  Arrivals(const JobRank& job_rank, Sockets& ranks)
      : job_rank_(job_rank), ranks_(ranks), missing_(size_t(job_rank.ranks) - 1) {
    ranks_.resize(size_t(job_rank.ranks));
  }

  size_t missing() const { return missing_; }

  // Accepts the waiting connections. Returns "" or an error message if the process has reached a limit. Connections of
  // other users are closed at once: they must not use up the descriptors, nor keep rank 0 here.
  std::string accept_all(OwnSocket& listening) {
    const size_t most_at_once = 2 * ranks_.size();
    for (size_t n = 0; n < most_at_once; n++) {
      auto made = std::make_unique<OwnSocket>(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (made->is_open() && is_of_other_user(*made))
        refuse(*made, "rank 0 runs as user " + std::to_string(geteuid()) + "; run all ranks as one user");
      else if (made->is_open()) unknown_.push_back(std::move(made));
      else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
        return "rank 0 of " + job_rank_.launcher +
               " needs one descriptor for each other rank while they meet: " + strerror(errno) +
               "; raise the limit on open files (ulimit -n)";
      else return "";
    }
    return "";
  }

  // Closes all connections, and tells these ranks, and those that come until the deadline, the problem. It needs one
  // descriptor at a time.
  void turn_away(OwnSocket& listening, const std::string& problem, Clock::time_point deadline) {
    size_t left = ranks_.size() - 1;
    const auto refuse_one = [&](const OwnSocket& socket) {
      refuse(socket, problem);
      left -= left > 0;  // an unknown connection need not be a rank's
    };
    for (Sockets* sockets : {&unknown_, &ranks_})
      for (std::unique_ptr<OwnSocket>& socket : *sockets) {
        if (socket == nullptr) continue;
        refuse_one(*socket);
        socket = nullptr;
      }
    unknown_.clear();
    while (left > 0 && Clock::now() < deadline) {
      await({&listening}, longest_poll_ms);
      const OwnSocket made(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (made.is_open()) refuse_one(made);
      else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) return;
    }
  }

  // Reads the hellos that have arrived. A hello is so short that it arrives in one piece.
  void look_at_hellos() {
    for (std::unique_ptr<OwnSocket>& socket : unknown_) {
      Frame hello{};
      const ssize_t got = recv(socket->get(), &hello, sizeof hello, MSG_DONTWAIT);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (got == 0) {
        socket.reset();
        continue;
      }
      std::string problem =
          got == ssize_t(sizeof hello) ? check_hello(hello, uint32_t(job_rank_.ranks)) : "it says no rank";
      if (problem.empty() && ranks_[hello.rank] != nullptr)
        problem = "rank " + std::to_string(hello.rank) + " of " + job_rank_.launcher + " is another process (" +
                  std::to_string(ranks_[hello.rank]->peer().pid) +
                  "); start a further program with a `collctl run` of its own";
      if (problem.empty()) {
        ranks_[hello.rank] = std::move(socket);
        missing_--;
      } else {
        refuse(*socket, problem);
        socket.reset();
      }
    }
    std::erase(unknown_, nullptr);
  }

  // Returns a rank that had connected and has exited; 0: none.
  size_t ended() const {
    for (size_t r = 1; r < ranks_.size(); r++) {
      char byte = 0;
      if (ranks_[r] == nullptr) continue;
      const ssize_t got = recv(ranks_[r]->get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
      if (got == 0 || (got < 0 && errno == ECONNRESET)) return r;
    }
    return 0;
  }

  void await(const std::vector<OwnSocket*>& listening, int at_most_ms) const {
    std::vector<pollfd> polled;
    for (const OwnSocket* socket : listening) polled.push_back({socket->get(), POLLIN, 0});
    for (const Sockets* sockets : {&unknown_, static_cast<const Sockets*>(&ranks_)})
      for (const std::unique_ptr<OwnSocket>& socket : *sockets)
        if (socket != nullptr) polled.push_back({socket->get(), POLLIN, 0});
    poll(polled.data(), nfds_t(polled.size()), at_most_ms);
  }

  std::string missing_ranks() const {
    std::string text;
    size_t named = 0;
    for (size_t r = 1; r < ranks_.size() && named < most_named; r++)
      if (ranks_[r] == nullptr) text += (named++ == 0 ? "" : ", ") + std::to_string(r);
    if (missing_ > named) text += " and " + std::to_string(missing_ - named) + " more";
    return (missing_ == 1 ? "rank " : "ranks ") + text + " of " + job_rank_.launcher +
           (missing_ == 1 ? " has" : " have") + " not come";
  }

 private:
  static constexpr size_t most_named = 8;

  static bool is_of_other_user(const OwnSocket& socket) {
    const OwnSocket::Peer peer = socket.peer();
    return !peer.known || peer.user != geteuid();
  }

  static void refuse(const OwnSocket& socket, const std::string& problem) {
    const Frame header = frame(Kind::failure, std::min(problem.size(), longest_failure));
    if (send_all(socket.get(), &header, sizeof header, Clock::now()) == Outcome::done)
      send_all(socket.get(), problem.data(), header.bytes, Clock::now());
  }

  const JobRank& job_rank_;
  Sockets& ranks_;
  Sockets unknown_;
  size_t missing_;
};

}  // namespace

std::string meeting_path(const JobRank& job_rank, const config::Rendezvous& options) {
  if (!job_rank.path.empty()) return job_rank.path;
  return options.directory.empty() ? "" : options.directory + "/" + socket_name(job_rank.job);
}

std::string cannot_listen_at(const std::string& path, const std::string& reason) {
  return "COLL_RENDEZVOUS=" + path + ": " + reason + "; name a file in a directory that all ranks share";
}

std::string meeting_hint(const JobRank& job_rank, const config::Rendezvous& options) {
  const std::string file = meeting_path(job_rank, options);
  return "; every rank must call coll_comm_create_from_launcher(). Ranks in containers with networks of their own meet "
         "in "
         "a directory that all of them share (" +
         (job_rank.path.empty() ? "COLL_RENDEZVOUS_DIR, here " + options.directory : "here " + file) +
         "): bind one into every container";
}

std::string host(const JobRank& job_rank, const config::Rendezvous& options, Sockets& ranks) {
  constexpr std::chrono::seconds for_late_ranks(10);  // to learn that rank 0 gives up, instead of waiting for it
  std::vector<OwnSocket*> listening;
  std::unique_ptr<OwnSocket> abstract;
  if (job_rank.path.empty()) {
    abstract = listen_at(SocketAddress::abstract(socket_name(job_rank.job)), job_rank.ranks);
    if (abstract == nullptr)
      return "rank 0 of " + job_rank.launcher + " cannot listen for the others: " + strerror(errno) +
             (errno == EADDRINUSE
                  ? "; another process, perhaps of another user, has the name of this job"
                  : "; allow AF_UNIX sockets in the container's seccomp filter, or raise the limit on open files "
                    "(ulimit -n)");
    listening.push_back(abstract.get());
  }
  ListeningFile file(meeting_path(job_rank, options), job_rank.ranks);
  if (file.socket() != nullptr) listening.push_back(file.socket());
  else if (!job_rank.path.empty()) return cannot_listen_at(job_rank.path, file.reason());
  const Clock::time_point deadline = Clock::now() + options.limit;
  Arrivals arrivals(job_rank, ranks);
  while (arrivals.missing() > 0) {
    arrivals.await(listening, longest_poll_ms);
    for (OwnSocket* socket : listening)
      if (const std::string problem = arrivals.accept_all(*socket); !problem.empty()) {
        if (abstract != nullptr) file.close();  // its descriptor serves to tell the others
        arrivals.turn_away(*listening[0], problem, std::min(deadline, Clock::now() + for_late_ranks));
        return problem;
      }
    arrivals.look_at_hellos();
    if (const size_t ended = arrivals.ended(); ended != 0)
      return "rank " + std::to_string(ended) + " of " + job_rank.launcher + " has ended before all ranks had come";
    if (arrivals.missing() > 0 && Clock::now() >= deadline)
      return arrivals.missing_ranks() + " within " + std::to_string(options.limit.count()) + " s" +
             meeting_hint(job_rank, options);
  }
  return "";
}

}  // namespace coll::launch
