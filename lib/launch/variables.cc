// SPDX-License-Identifier: BSD-3-Clause
#include "launch/variables.h"

#include <charconv>
#include <cstdlib>

namespace coll::launch {

const char* const explicit_hint =
    "set COLL_RANK, COLL_SIZE and COLL_RENDEZVOUS (a name that all ranks of the job share, and no other job), or start "
    "the program with `collctl run -n N program`";

std::string text_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

std::optional<int> number_of(const char* variable) {
  const std::string text = text_of(variable);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

bool read_rank(const char* rank_variable, const char* size_variable, JobRank& job_rank) {
  const std::optional<int> rank = number_of(rank_variable), ranks = number_of(size_variable);
  if (!rank || !ranks || *rank >= *ranks) return false;
  job_rank.rank = *rank;
  job_rank.ranks = *ranks;
  return true;
}

std::string started(const JobRank& job_rank) {
  return job_rank.launcher + " has started " + std::to_string(job_rank.ranks) +
         (job_rank.ranks == 1 ? " rank" : " ranks");
}

void note_several_nodes(JobRank& job_rank, int here) {
  job_rank.several_nodes = true;
  job_rank.problem =
      started(job_rank) + " on several nodes" + (here > 0 ? ", " + std::to_string(here) + " of them on this one" : "") +
      "; libcoll works inside one node: create one communicator per node with coll_comm_create(), or write "
      "the program in MPI, because under an MPI program the shim serves several nodes";
}

}  // namespace coll::launch
