// SPDX-License-Identifier: BSD-3-Clause
// The bootstrap of ranks that a launcher has started: an allgather of bytes by sockets, through rank 0.
//
// Rank 0 listens at names that follow from the job: an abstract one, for the ranks in its network namespace, and a file in
// a directory, for those that share that directory. Every other rank tries both until rank 0 is there, and says which rank
// it is. When all have come, rank 0 stops to listen and welcomes them; then it collects and passes on what they exchange.
//
// Invariants
//  1. No rank is welcomed before rank 0 has closed its listening sockets. So whatever a rank does next, with the same
//     name, meets a new gathering.
//  2. A connection that ends is a rank that has ended or given up. Rank 0 tells the others which one it was, so all fail
//     with the same sentence.
//  3. Both ends check that the other one runs as their own user.
//  4. Every wait has an end: rank 0 waits for the others, and they for rank 0, as long as the time limit says. Ranks that
//     have reached rank 0 leave the judgement to it and wait twice as long.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "launch/own_socket.h"
#include "launch/place.h"

namespace coll::launch {

struct MeetingOptions {
  std::chrono::seconds limit;
  std::string directory;  // where rank 0 makes the file; "": nowhere
};
// By COLL_RENDEZVOUS_TIMEOUT and COLL_RENDEZVOUS_DIR; "" or what is wrong with a value.
std::string read_options(MeetingOptions& options);

class Gathering {
 public:
  // Meets the other ranks. Null, with a reason and a remedy, when they do not all come in time.
  // REQUIRES: the place was asked for, and has no problem.
  static std::unique_ptr<Gathering> meet(const Place& place, const MeetingOptions& options, std::string& problem);

  // False, with a reason, when a rank has ended, given up, or sends another number of bytes.
  bool allgather(const void* send, void* recv, size_t bytes, std::string& problem);

 private:
  Gathering(const Place& place, std::chrono::seconds limit) : place_(place), limit_(limit) {}
  bool collect(const void* send, char* recv, size_t bytes, std::string& problem);

  const Place place_;
  const std::chrono::seconds limit_;
  std::vector<std::unique_ptr<OwnSocket>> ranks_;  // of rank 0: to each other rank, 0 left out; of others: to rank 0
};

}  // namespace coll::launch
