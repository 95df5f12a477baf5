// SPDX-License-Identifier: BSD-3-Clause
// Steps in words, for human readers: the verifier's reports and the drawings use them.
#pragma once

#include <string>

#include "plan/plan.h"

namespace coll::plan {

// Describes an operand: "send", "rank 3 view 2 (recv)".
std::string words(const Plan& plan, const Operand& operand, int own);
// Describes a flag with the view that it announces: "flag 1 of view 0 (send)".
std::string flag_words(const Plan& plan, uint16_t flag);
// Describes a range: "chunks of 16 KiB, sub-block 2 of 4".
std::string words(const Range& range);
// Describes a step: "copy recv <- rank 1 view 0 (send) [whole vector]". REQUIRES: numbers in range (check.h).
std::string words(const Plan& plan, int rank, const Step& step);
// "16 KiB".
std::string size_words(uint64_t bytes);

}  // namespace coll::plan
