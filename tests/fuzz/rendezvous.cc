// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "launch/frames.h"
#include "launch/gathering.h"
#include "launch/guest.h"

namespace {

using namespace coll::launch;

JobRank place_of(int rank) {
  static const std::string job = "fuzz/" + std::to_string(getpid());
  JobRank place;
  place.launcher = "the fuzzer";
  place.rank = rank;
  place.ranks = 2;
  place.job = job;
  return place;
}

// Sends everything, then closes the connection.
void send_and_shut(int socket, const uint8_t* data, size_t bytes) {
  (void)!send(socket, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(socket, SHUT_WR);
}

// Rank 0 meets rank 1 although an unrelated connection comes first.
void host_meets_stranger(const uint8_t* data, size_t bytes) {
  const coll::config::Rendezvous options{std::chrono::seconds(1), ""};
  std::string problem;
  int all[2] = {};
  std::thread host([&] {
    std::string why;
    const int mine = 7;
    int gathered[2] = {};
    const auto gathering = Gathering::meet(place_of(0), options, why);
    if (gathering != nullptr && gathering->allgather(&mine, gathered, sizeof mine, why) && gathered[0] != 7) abort();
  });
  const SocketAddress address = SocketAddress::abstract(socket_name(place_of(0).job));
  OwnSocket stranger(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  while (connect(stranger.get(), address.get(), address.bytes) != 0) std::this_thread::yield();
  send_and_shut(stranger.get(), data, bytes);
  const int mine = 8;
  const auto gathering = Gathering::meet(place_of(1), options, problem);
  const bool met = gathering != nullptr && gathering->allgather(&mine, all, sizeof mine, problem);
  host.join();
  // Only a connection that claims to be rank 1 can block it.
  Frame hello{};
  if (bytes >= sizeof hello) std::copy_n(data, sizeof hello, reinterpret_cast<uint8_t*>(&hello));
  const bool is_rank_1 = check_hello(hello, 2).empty();
  if (!is_rank_1 && (!met || all[0] != 7 || all[1] != 8)) abort();
}

// A rank connects to something that is not rank 0.
void guest_meets_stranger(const uint8_t* data, size_t bytes) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  OwnSocket first(ends[0]), stranger(ends[1]);
  send_and_shut(stranger.get(), data, bytes);
  std::string problem;
  greet(first, place_of(1), {std::chrono::seconds(1), ""}, problem);
}

// A welcomed rank gets the input instead of the data of the others.
void guest_gathers(const uint8_t* data, size_t bytes) {
  const SocketAddress address = SocketAddress::abstract(socket_name(place_of(0).job));
  OwnSocket listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (bind(listening.get(), address.get(), address.bytes) != 0 || listen(listening.get(), 1) != 0) abort();
  std::thread guest([] {
    std::string why;
    const int mine = 8;
    int gathered[2] = {};
    const auto gathering = Gathering::meet(place_of(1), {std::chrono::seconds(1), ""}, why);
    if (gathering == nullptr) abort();
    if (!gathering->allgather(&mine, gathered, sizeof mine, why) && why.empty()) abort();
  });
  int accepted = -1;
  do accepted = accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC);
  while (accepted < 0 && errno == EINTR);  // libFuzzer's alarm
  OwnSocket first(accepted);
  const Frame welcome = frame(Kind::welcome, 0);
  if (send(first.get(), &welcome, sizeof welcome, MSG_NOSIGNAL) != sizeof welcome) abort();
  send_and_shut(first.get(), data, bytes);
  guest.join();
}

// Rank 0 gets the input from a rank that has identified itself correctly.
void host_gathers(const uint8_t* data, size_t bytes) {
  std::thread host([] {
    std::string why;
    const int mine = 7;
    int gathered[2] = {};
    const auto gathering = Gathering::meet(place_of(0), {std::chrono::seconds(1), ""}, why);
    const bool all = gathering != nullptr && gathering->allgather(&mine, gathered, sizeof mine, why);
    if (all ? gathered[0] != 7 : why.empty()) abort();
  });
  const SocketAddress address = SocketAddress::abstract(socket_name(place_of(0).job));
  OwnSocket peer(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  while (connect(peer.get(), address.get(), address.bytes) != 0) std::this_thread::yield();
  Frame hello = frame(Kind::hello, 0);
  hello.rank = 1, hello.ranks = 2;
  if (send(peer.get(), &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) abort();
  send_and_shut(peer.get(), data, bytes);
  host.join();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  if (bytes == 0) return 0;
  if (data[0] == 'h') host_meets_stranger(data + 1, bytes - 1);
  if (data[0] == 'g') guest_meets_stranger(data + 1, bytes - 1);
  if (data[0] == 'd') guest_gathers(data + 1, bytes - 1);
  if (data[0] == 'c') host_gathers(data + 1, bytes - 1);
  return 0;
}
