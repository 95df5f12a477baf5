// SPDX-License-Identifier: BSD-3-Clause
// Finding a table: the machines that the library brings, files, and the one of the running machine.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"
#include "topo/status.h"

namespace coll::model {

// Names of the built-in machines, ascending: "arm-n1", "broadwell", "default" ...
std::vector<std::string> machine_names();

// A built-in machine by its name, or a file by its path (what contains a slash or ends in .json). Whoever names a machine
// has asked for it: it need not be the running one. Thread-safe.
topo::Status find_machine(const std::string& name_or_path, Table& table);

// The table in `path`, only if it was measured on the machine that `running` tells; else a sentence that says in what the
// two differ.
topo::Status read_own_table(const std::string& path, const Fingerprint& running, Table& table);

// The built-in table that comes closest when nothing was measured, by the family of the processor; always one.
Table builtin_table(const Fingerprint& running);

}  // namespace coll::model
