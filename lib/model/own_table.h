// SPDX-License-Identifier: BSD-3-Clause
// Where the tables of measured machines are kept, and which one a communicator uses.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"
#include "topo/machine.h"

namespace coll::model {

// The name of a machine's file: "intel-xeon-processor-1s1n2c-4f2a91c0.json". It follows from processor, counts and caches alone, so that a
// table outlives a new kernel as a file, and whoever finds it can say what has changed.
std::string table_file_name(const Fingerprint& of);

// The file of the first of `directories` that has one for this machine, "" when none has. A described machine has none.
std::string table_path(const std::vector<std::string>& directories, const topo::Machine& running);

// What was found, and what there is to say about it.
struct Found {
  bool found = false;
  Table table;         // when found
  std::string path;    // or the name of a built-in machine
  std::string remark;  // "": nothing to say. A table of another machine that was asked for; one that cannot be used
};

// `wish` (COLL_TABLE): a built-in machine's name or a path, used whatever machine it is of; "none": no table; "": that of
// table_path(), only when it was measured on this very machine. `running` as topo::load() gives it. Reads files; thread-safe.
Found find_table(const std::string& wish, const std::vector<std::string>& directories, const topo::Machine& running);

}  // namespace coll::model
