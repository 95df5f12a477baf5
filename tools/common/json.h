// SPDX-License-Identifier: BSD-3-Clause
// JSON of files that a user names.
#pragma once

#include <istream>
#include <iterator>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace coll::tools {

// Brackets in strings do not count. Of text that is no JSON any answer will do.
inline bool nests_deeper_than(int levels, std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (in_string && c == '\\') i++;
    else if (c == '"') in_string = !in_string;
    else if (!in_string && (c == '[' || c == '{') && ++depth > levels) return true;
    else if (!in_string && (c == ']' || c == '}')) depth--;
  }
  return false;
}

// Discarded when it is no JSON, or is nested deeper than any file of libcoll: copying and writing JSON takes stack for each
// level. The library's callback could look at the level as well, but makes its parser quadratic in an array's length.
inline nlohmann::ordered_json parse_json(std::istream& from) {
  using nlohmann::ordered_json;
  const std::string text{std::istreambuf_iterator<char>(from), {}};
  return nests_deeper_than(32, text) ? ordered_json(ordered_json::value_t::discarded)
                                     : ordered_json::parse(text, nullptr, false);
}

}  // namespace coll::tools
