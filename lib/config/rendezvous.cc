// SPDX-License-Identifier: BSD-3-Clause
#include "config/rendezvous.h"

#include <charconv>

#include "config/config.h"

namespace coll::config {

namespace {

constexpr int usual_limit_s = 300, longest_limit_s = 86'400;
constexpr size_t longest_directory = 60;  // so that the path of a socket in it fits sockaddr_un
constexpr const char* usual_directory = "/dev/shm";

}  // namespace

std::string read_rendezvous(Rendezvous& rendezvous) {
  rendezvous = {std::chrono::seconds(usual_limit_s), text("COLL_RENDEZVOUS_DIR")};
  if (rendezvous.directory.empty()) rendezvous.directory = usual_directory;
  if (rendezvous.directory.size() > longest_directory)
    return "COLL_RENDEZVOUS_DIR='" + rendezvous.directory + "' is longer than " + std::to_string(longest_directory) +
           " characters; name it by a shorter path, such as a symbolic link";
  const std::string limit = text("COLL_RENDEZVOUS_TIMEOUT");
  if (limit.empty()) return "";
  int seconds = 0;
  const char* const end = limit.data() + limit.size();
  const auto [behind, error] = std::from_chars(limit.data(), end, seconds);
  if (error != std::errc() || behind != end || seconds < 1 || seconds > longest_limit_s)
    return "COLL_RENDEZVOUS_TIMEOUT='" + limit + "' is no number of seconds from 1 to " +
           std::to_string(longest_limit_s);
  rendezvous.limit = std::chrono::seconds(seconds);
  return "";
}

}  // namespace coll::config
