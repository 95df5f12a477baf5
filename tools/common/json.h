// SPDX-License-Identifier: BSD-3-Clause
// Reads JSON files that a user names.
#pragma once

#include <istream>
#include <iterator>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace coll::tools {

// Brackets in strings do not count. The result is arbitrary if the text is not JSON.
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

// The result is discarded if the text is not JSON or is nested more deeply than any file of libcoll: copying and
// writing JSON uses stack for each level. The parser's callback could check the depth, too, but makes parsing quadratic
// in the length of an array.
inline nlohmann::ordered_json parse_json(std::istream& from) {
  using nlohmann::ordered_json;
  const std::string text{std::istreambuf_iterator<char>(from), {}};
  return nests_deeper_than(32, text) ? ordered_json(ordered_json::value_t::discarded)
                                     : ordered_json::parse(text, nullptr, false);
}

}  // namespace coll::tools
