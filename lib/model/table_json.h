// SPDX-License-Identifier: BSD-3-Clause
// Tables as JSON: schema "libcoll-machine", version 1; machines/README.md explains every key. A key that is unknown,
// given twice or of the wrong type is an error that names its line.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "model/table.h"
#include "topo/status.h"

namespace coll::model {

inline constexpr int table_version = 1;

// `source` names the text in messages. On error `table` is untouched. Thread-safe.
topo::Status parse_table(std::string_view text, const std::string& source, Table& table);
topo::Status read_table(const std::string& path, Table& table);
// Returns a text that parse_table() reads back without loss.
std::string write_table(const Table& table);
// The object "links" of that text.
nlohmann::ordered_json links_as_json(const Links& links);

}  // namespace coll::model
