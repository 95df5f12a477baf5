// SPDX-License-Identifier: BSD-3-Clause
// Tables as JSON. Schema "libcoll-machine", version 1; every key is explained in machines/README.md. A key that
// is unknown, given twice or of the wrong kind is refused, with its line.
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
// What parse_table() reads back, with every number in full.
std::string write_table(const Table& table);
// The part of it that says what ranks share.
nlohmann::ordered_json links_as_json(const Links& links);

}  // namespace coll::model
