// SPDX-License-Identifier: BSD-3-Clause
// The built-in rules: the files of rules/, compiled into the library.
#pragma once

#include <span>

#include "tune/rules.h"

namespace coll::tune {

struct RulesText {
  const char *name, *text;  // "zen5.rules"
};
// In the order in which they are searched.
extern const std::span<const RulesText> rules_texts;

// Parsed once per process. Thread-safe. A test checks that all files can be parsed.
const Book& shipped();

}  // namespace coll::tune
