// SPDX-License-Identifier: BSD-3-Clause
// Reads variables of the environment that launchers set, and composes messages about them.
#pragma once

#include <optional>
#include <string>

#include "launch/job_rank.h"

namespace coll::launch {

// The value; "" if the variable is not set.
std::string text_of(const char* variable);
// The value as a number below 2^31; nullopt if it is not set or has anything but digits.
std::optional<int> number_of(const char* variable);

// Sets rank and ranks from two variables. Returns false unless both are numbers and the rank is below the size.
bool read_rank(const char* rank_variable, const char* size_variable, JobRank& job_rank);

// "LAUNCHER has started 4 ranks", the beginning of most messages.
std::string started(const JobRank& job_rank);
// The suggested action if the launcher's variables are not sufficient.
extern const char* const explicit_hint;
// Sets the problem of a process whose job has ranks on other nodes. `here`: number of ranks on this node; 0: not known.
void note_several_nodes(JobRank& job_rank, int here);

}  // namespace coll::launch
