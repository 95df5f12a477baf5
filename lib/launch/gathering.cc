// SPDX-License-Identifier: BSD-3-Clause
#include "launch/gathering.h"

#include <algorithm>
#include <cstring>

#include "launch/frames.h"
#include "launch/guest.h"
#include "launch/host.h"
#include "launch/variables.h"
#include "transport/process.h"

namespace coll::launch {

namespace {

// Rank 0 sends the failure to all connected ranks, so that all report the same text. It ignores ranks that have exited.
void send_failure(std::vector<std::unique_ptr<OwnSocket>>& ranks, const std::string& text) {
  const Frame header = frame(Kind::failure, std::min(text.size(), longest_failure));
  for (const std::unique_ptr<OwnSocket>& rank : ranks) {
    if (rank == nullptr) continue;
    const Clock::time_point soon = Clock::now() + std::chrono::seconds(1);
    if (send_all(rank->get(), &header, sizeof header, soon) == Outcome::done)
      send_all(rank->get(), text.data(), header.bytes, soon);
  }
}

std::string late(const std::string& who, std::chrono::seconds limit) {
  return who + " does not answer within " + std::to_string(limit.count()) +
         " s, although it lives; see whether it is stopped";
}

}  // namespace

std::unique_ptr<Gathering> Gathering::meet(const JobRank& job_rank, const config::Rendezvous& options,
                                           std::string& problem) {
  // Before any memory is allocated for the ranks: a wrong variable may give any number.
  if (job_rank.ranks > transport::most_ranks) {
    problem = started(job_rank) + ", more than the limit of " + std::to_string(transport::most_ranks) +
              " ranks per communicator; see the variable of the launcher that gives their number";
    return nullptr;
  }
  std::unique_ptr<Gathering> made(new Gathering(job_rank, options.limit));
  problem = job_rank.rank == 0 ? host(job_rank, options, made->ranks_) : visit(job_rank, options, made->ranks_);
  if (!problem.empty()) {
    if (job_rank.rank == 0) send_failure(made->ranks_, problem);
    return nullptr;
  }
  // Errors are ignored here: the first exchange detects a rank that has exited.
  const Frame welcome = frame(Kind::welcome, 0);
  for (size_t r = 1; job_rank.rank == 0 && r < made->ranks_.size(); r++)
    send_all(made->ranks_[r]->get(), &welcome, sizeof welcome, Clock::now() + options.limit);
  return made;
}

// REQUIRES: rank 0. Receives the bytes of all other ranks.
bool Gathering::collect(const void* send, char* recv, size_t bytes, std::string& problem) {
  const Clock::time_point deadline = Clock::now() + limit_;
  memcpy(recv, send, bytes);
  for (size_t r = 1; r < ranks_.size(); r++) {
    const std::string who = "rank " + std::to_string(r) + " of " + job_rank_.launcher;
    Frame header{};
    Outcome outcome = receive_all(ranks_[r]->get(), &header, sizeof header, deadline);
    if (outcome == Outcome::done && (header.magic != magic || header.kind != Kind::data || header.bytes != bytes))
      return problem = who + " runs another version of libcoll than rank 0; use one version on all ranks", false;
    if (outcome == Outcome::done) outcome = receive_all(ranks_[r]->get(), recv + r * bytes, bytes, deadline);
    if (outcome == Outcome::ended)
      return problem = who + " has ended or given up while the communicator was created", false;
    if (outcome == Outcome::late) return problem = late(who, limit_), false;
  }
  return true;
}

bool Gathering::allgather(const void* send, void* recv, size_t bytes, std::string& problem) {
  const size_t all = bytes * size_t(job_rank_.ranks);
  const Frame header = frame(Kind::data, job_rank_.rank == 0 ? all : bytes);
  if (job_rank_.rank == 0) {
    if (!collect(send, static_cast<char*>(recv), bytes, problem)) return send_failure(ranks_, problem), false;
    const Clock::time_point deadline = Clock::now() + limit_;
    // Errors are ignored here: the next exchange or the life mark shows that a rank has exited.
    for (size_t r = 1; r < ranks_.size(); r++)
      if (send_all(ranks_[r]->get(), &header, sizeof header, deadline) == Outcome::done)
        send_all(ranks_[r]->get(), recv, all, deadline);
    return true;
  }
  const int first = ranks_[0]->get();
  const Clock::time_point deadline = Clock::now() + 2 * limit_;
  Frame answer{};
  // Errors are ignored here: receiving the answer shows whether rank 0 has exited or has sent a failure.
  if (send_all(first, &header, sizeof header, deadline) == Outcome::done) send_all(first, send, bytes, deadline);
  Outcome outcome = receive_all(first, &answer, sizeof answer, deadline);
  const std::string who = "rank 0 of " + job_rank_.launcher;
  if (outcome == Outcome::done && answer.magic == magic && answer.kind == Kind::failure)
    return problem = receive_text(first, answer, deadline), false;
  if (outcome == Outcome::done && (answer.magic != magic || answer.kind != Kind::data || answer.bytes != all))
    return problem = who + " runs another version of libcoll than this rank; use one version on all ranks", false;
  if (outcome == Outcome::done) outcome = receive_all(first, recv, all, deadline);
  if (outcome == Outcome::done) return true;
  problem = outcome == Outcome::late ? late(who, 2 * limit_)
                                     : who + " has ended or given up while the communicator was created";
  return false;
}

}  // namespace coll::launch
