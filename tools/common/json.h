// SPDX-License-Identifier: BSD-3-Clause
// JSON of files that a user names.
#pragma once

#include <istream>

#include <nlohmann/json.hpp>

namespace coll::tools {

// Discarded when it is no JSON, or is nested deeper than any file of libcoll: copying and writing JSON takes stack for each
// level.
inline nlohmann::ordered_json parse_json(std::istream& from) {
  using nlohmann::ordered_json;
  constexpr int most_levels = 32;
  bool too_deep = false;
  const auto look = [&too_deep](int level, ordered_json::parse_event_t, ordered_json&) {
    too_deep |= level > most_levels;
    return !too_deep;
  };
  ordered_json read = ordered_json::parse(from, look, false);
  return too_deep ? ordered_json(ordered_json::value_t::discarded) : read;
}

}  // namespace coll::tools
