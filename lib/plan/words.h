// SPDX-License-Identifier: BSD-3-Clause
// Steps in words, for people: the verifier's reports and the drawings use the same.
#pragma once

#include <string>

#include "plan/plan.h"

namespace coll::plan {

// "send", "view 2 of rank 3 (recv)".
std::string words(const Plan& plan, const Operand& operand, int own);
// "flag 1 (announces view 0, send)".
std::string flag_words(const Plan& plan, uint16_t flag);
// "block 2 of 4, chunks of 16 KiB".
std::string words(const Range& range);
// "copy recv <- view 0 of rank 1 (send), whole vector". Safe for any step of a checked plan.
std::string words(const Plan& plan, int rank, const Step& step);
// "16 KiB".
std::string size_words(uint64_t bytes);

}  // namespace coll::plan
