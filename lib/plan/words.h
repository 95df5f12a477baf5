// SPDX-License-Identifier: BSD-3-Clause
// Steps in words, for people: the verifier's reports and the drawings use the same.
#pragma once

#include <string>

#include "plan/plan.h"

namespace coll::plan {

// "send", "rank 3 view 2 (recv)".
std::string words(const Plan& plan, const Operand& operand, int own);
// "flag 1 of view 0 (send)": the view that it announces.
std::string flag_words(const Plan& plan, uint16_t flag);
// "chunks of 16 KiB, sub-block 2 of 4".
std::string words(const Range& range);
// "copy recv <- rank 1 view 0 (send) [whole vector]". REQUIRES: numbers in range (check.h).
std::string words(const Plan& plan, int rank, const Step& step);
// "16 KiB".
std::string size_words(uint64_t bytes);

}  // namespace coll::plan
