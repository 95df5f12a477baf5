// SPDX-License-Identifier: BSD-3-Clause
// The rules that the library brings: the files of rules/, compiled in.
#pragma once

#include <span>

#include "tune/rules.h"

namespace coll::tune {

struct RulesText {
  const char *name, *text;  // "zen5.rules"
};
// In the order in which they are asked.
extern const std::span<const RulesText> rules_texts;

// Read once per process. Thread-safe. A test proves that all files can be read.
const Book& shipped();

}  // namespace coll::tune
