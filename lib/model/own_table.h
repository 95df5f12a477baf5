// SPDX-License-Identifier: BSD-3-Clause
// The files of measured tables, and which one a communicator uses.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"
#include "topo/machine.h"

namespace coll::model {

// The name of a machine's file: "intel-xeon-processor-1s1n1l2c-4f2a91c0.json". It depends on processor, counts and
// caches only, so that after a kernel update the file is still found, and find_table() can report what has changed.
std::string table_file_name(const Fingerprint& of);

// The path of this machine's file in the first of `directories` that has one; "" if none has, or if `running` is not
// the running machine.
std::string table_path(const std::vector<std::string>& directories, const topo::Machine& running);

// The result of find_table().
struct Found {
  bool found = false;
  Table table;         // if found
  std::string path;    // of the file, or the name of a built-in machine
  std::string remark;  // why the table cannot be used, or that it was measured on another machine; otherwise ""
};

// `requested` (COLL_TABLE): the name of a built-in machine or a path, which is used for any machine; "none": no table;
// "": the file of table_path(), if it was measured on the running machine. `running` comes from topo::load(). Reads
// files. Thread-safe.
Found find_table(const std::string& requested, const std::vector<std::string>& directories,
                 const topo::Machine& running);

}  // namespace coll::model
