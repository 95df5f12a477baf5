// SPDX-License-Identifier: BSD-3-Clause
// Finds tables: those of the built-in machines, files, and the one of the running machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/table.h"
#include "topo/status.h"

namespace coll::model {

// Names of the built-in machines, ascending: "arm-n1", "broadwell", "default" ...
std::vector<std::string> machine_names();

// Reads the table of a built-in machine by its name, or a file by its path (a text with a slash, or that ends in
// .json). It need not be the table of the running machine. Thread-safe.
topo::Status find_machine(const std::string& name_or_path, Table& table);

// Reads the table in `path` if it was measured on the machine that `running` identifies; otherwise the error names the
// first difference.
topo::Status read_own_table(const std::string& path, const Fingerprint& running, Table& table);

// The difference of two machines: the sum of |log2| of the ratios of their cores, sockets, NUMA nodes per socket and
// cores per L3 (per NUMA node without an L3), plus half of it for the L2 and for a core's share of the L3. Unknown
// values are left out.
double distance(const Fingerprint& a, const Fingerprint& b);

// The built-in table to use without measurements: the nearest table of the processor's family, or else of all families.
Table builtin_table(const Fingerprint& running);

// builtin_table() completed with all mechanisms, for prices. Cached per process. Thread-safe.
std::shared_ptr<const Table> nearest_table(const Fingerprint& running);

// Adds the mechanisms that a table lacks: mapped memory is as fast as shared memory. If the table has CMA, kcoll is as
// fast as CMA, and with pinned pages it locks none.
void complete_mechanisms(Table& table);

}  // namespace coll::model
