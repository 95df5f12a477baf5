// SPDX-License-Identifier: BSD-3-Clause
// COLL_RANK, COLL_SIZE and COLL_RENDEZVOUS: a user's script sets them for launchers that libcoll does not know.
#include "launch/job_rank.h"
#include "launch/variables.h"

namespace coll::launch {

namespace {

bool find_variables(JobRank& job_rank) {
  const std::string name = text_of("COLL_RENDEZVOUS");
  if (text_of("COLL_RANK").empty() && text_of("COLL_SIZE").empty() && name.empty()) return false;
  job_rank.launcher = "the script that sets COLL_RANK";
  std::string missing;
  for (const char* variable : {"COLL_RANK", "COLL_SIZE", "COLL_RENDEZVOUS"})
    if (text_of(variable).empty()) missing += (missing.empty() ? "" : " and ") + std::string(variable);
  if (missing.empty() && !read_rank("COLL_RANK", "COLL_SIZE", job_rank)) {
    job_rank.problem = "COLL_RANK='" + text_of("COLL_RANK") + "' and COLL_SIZE='" + text_of("COLL_SIZE") +
                       "' are no rank and number of ranks; set COLL_RANK to a number from 0 to COLL_SIZE - 1";
    return true;
  }
  if (!missing.empty()) {
    job_rank.problem = "COLL_RANK, COLL_SIZE and COLL_RENDEZVOUS belong together, and " + missing +
                       (missing.find(' ') == std::string::npos ? " is" : " are") + " not set; " + explicit_hint;
    return true;
  }
  if (name.starts_with("/")) job_rank.path = name;
  else job_rank.job = "explicit/" + name;
  return true;
}

}  // namespace

const Launcher variables_of_libcoll{{"COLL_RANK", "COLL_RENDEZVOUS"}, find_variables, nullptr};

}  // namespace coll::launch
