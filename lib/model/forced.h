// SPDX-License-Identifier: BSD-3-Clause
// Algorithms that a user asks for, by size: "flat_read@4K;hierarchical:chunk=64K".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/choose.h"

namespace coll::model {

// "64K" or "65536"; K, M and G allowed. 0 when it is no size.
size_t parse_size(const std::string& text);

// One range; it begins where the one before it ends. Sizes are as Question::bytes.
struct Forced {
  size_t up_to_bytes = SIZE_MAX;
  Choice choice;                  // algorithm null: "latency", the executor's hand-written path
  bool chunk = false, k = false;  // were given
};

// One or several ranges separated by ';', each a choice as parse_choice() reads it, or "latency", with "@SIZE" behind it: up to and with
// SIZE (K, M and G allowed). Sizes ascend; the last one may be left out and then has no end. Beyond a last range that has one
// the library chooses. "" or what is wrong.
std::string parse_forced(plan::Collective collective, const std::string& text, std::vector<Forced>& ranges);

// "fused:chunk=131072,depth=2": with the parameters that the algorithm reads, as parse_choice() reads it back; "latency" where the
// algorithm is null.
std::string setting_text(const Choice& choice);

// The range that a call falls into; null where the library chooses. Pieces of unknown lengths fall into a range without end.
const Forced* find_forced(const std::vector<Forced>& ranges, const Question& question);

}  // namespace coll::model
