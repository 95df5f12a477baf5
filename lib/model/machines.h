// SPDX-License-Identifier: BSD-3-Clause
// Finding a table: the machines that the library brings, files, and the one of the running machine.
#pragma once

#include <memory>
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

// How far two machines are from each other: how often cores, sockets, NUMA nodes of a socket and cores below an L3 (without
// one: in a NUMA node) double from one to the other, and half of that for the L2 of a core and its share of the L3. What one
// of them does not know does not count.
double distance(const Fingerprint& a, const Fingerprint& b);

// The built-in table that comes closest when nothing was measured: of those of the processor's family the one at the least
// distance, or of all; always one.
Table builtin_table(const Fingerprint& running);

// The same with all mechanisms, to price with. Kept per process.
std::shared_ptr<const Table> nearest_table(const Fingerprint& running);

// Adds mechanisms that a table lacks: memory is mapped at the speed of shared memory, and where CMA is known, kcoll copies as
// it does, from pinned pages without locking them.
void complete_mechanisms(Table& table);

}  // namespace coll::model
