// SPDX-License-Identifier: BSD-3-Clause
// The bootstrap of ranks that a launcher has started: an allgather of bytes over sockets, through rank 0.
//
// Rank 0 listens at two names that are derived from the job: an abstract name for ranks in its network namespace, and a
// file for ranks that share its directory. Every other rank tries both until rank 0 listens, connects, and sends its
// rank. Once all are connected, rank 0 closes its listening sockets and sends each rank a welcome. For each exchange it
// then collects the bytes of all ranks and sends all of them to every rank.
//
// Invariants
//  1. Rank 0 welcomes no rank before it has closed its listening sockets. So when a rank later connects to the same
//     name, it reaches a new gathering.
//  2. If a connection closes, its rank has exited or given up. Rank 0 sends the others the number of that rank, so all
//     fail with the same message.
//  3. Both ends check that the process at the other end has the same user.
//  4. Every wait is bounded: rank 0 waits for the others, and they wait for rank 0, at most the time limit. Ranks that
//     are connected to rank 0 wait twice as long, so that rank 0 is the one that detects and reports a late rank.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "config/rendezvous.h"
#include "launch/job_rank.h"
#include "launch/own_socket.h"

namespace coll::launch {

class Gathering {
 public:
  // Connects to the other ranks. Returns null and sets `problem`, which includes a fix, if they do not all connect in
  // time. REQUIRES: Launcher::ask() has completed `job_rank`, which has no problem.
  static std::unique_ptr<Gathering> meet(const JobRank& job_rank, const config::Rendezvous& options,
                                         std::string& problem);

  // Returns false and sets `problem` if a rank has exited, has given up, or sends a different number of bytes.
  bool allgather(const void* send, void* recv, size_t bytes, std::string& problem);

 private:
  Gathering(const JobRank& job_rank, std::chrono::seconds limit) : job_rank_(job_rank), limit_(limit) {}
  bool collect(const void* send, char* recv, size_t bytes, std::string& problem);

  const JobRank job_rank_;
  const std::chrono::seconds limit_;
  std::vector<std::unique_ptr<OwnSocket>> ranks_;  // on rank 0: [ranks], null for itself; on others: rank 0 only
};

}  // namespace coll::launch
