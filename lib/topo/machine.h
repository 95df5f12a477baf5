// SPDX-License-Identifier: BSD-3-Clause
// A machine as plain data: one rank per node loads it and sends it to the other ranks as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topo/place.h"
#include "topo/status.h"

namespace coll::topo {

enum class Inclusion : std::uint8_t { unknown, no, yes };

// The caches of one kind. If they differ (hybrid processors), this is the smallest one; all zero if there is none.
struct Cache {
  std::uint64_t size_bytes = 0;  // of one instance
  std::uint32_t line_bytes = 0;
  std::uint32_t instances = 0;               // on the machine
  Inclusion inclusive = Inclusion::unknown;  // contains all lines of the caches closer to the core

  bool operator==(const Cache &) const = default;
};

struct Machine {
  // The allowed processing units, ordered so that near ones are adjacent. Never empty after a load, even a failed one.
  std::vector<Place> pus;
  int packages = 0;
  int numas = 0;  // with processing units; 1 if the machine reports no NUMA nodes
  int l3s = 0;
  int cores = 0;
  Cache l1d, l2, l3;
  std::string processor;  // the processor's model name, "" if unknown
  std::string source;     // "native", "xml PATH", "synthetic TEXT" or "flat"
  std::string note;       // why the description is incomplete; "" if it is complete

  bool operator==(const Machine &) const = default;
};

// ---- loading --------------------------------------------------------------------------------------------
// These functions are thread-safe, write nothing to stderr, and change neither the environment nor the caller's
// binding. After an error, `machine` is flat_machine() of the CPUs that the caller may use (native) or of one CPU (xml,
// synthetic), with the error as its note, so that the caller can continue with a flat hierarchy.

// Loads the running machine through hwloc, with only those processing units that the cgroup allows.
Status load_native(Machine &machine);
// Loads a file that `lstopo --of xml FILE` wrote, on this or another machine.
Status load_xml(const std::string &path, Machine &machine);
// Loads a description such as "package:2 numa:4 core:8": counts are per parent, largest first. Words: package (or
// socket), die, group, numa, l3, l2, l1d, core, pu; hwloc's attributes in parentheses are allowed, as in
// "l3:2(size=32MB)".
Status load_synthetic(std::string_view text, Machine &machine);
// Loads the value of a setting: "" or "native"; "synthetic TEXT", or a text whose first word is TYPE:COUNT; "xml PATH"
// or a path.
Status load(std::string_view text, Machine &machine);
// Returns a machine with one socket, one NUMA node, no known caches, and one core per given CPU number.
Machine flat_machine(std::span<const int> cpus, std::string note);

// ---- serialisation --------------------------------------------------------------------------------------

std::string serialize(const Machine &machine);
// Accepts only the complete, unmodified output of serialize() of the same library version. On error `machine` is
// unchanged.
Status parse(std::string_view bytes, Machine &machine);

// ---- placing ranks ----------------------------------------------------------------------------------------

enum class Mapping : std::uint8_t {
  core,  // consecutive cores
  numa,  // round-robin over the NUMA nodes
};
const char *mapping_name(Mapping by);
Status parse_mapping(std::string_view text, Mapping &by);

// Once every core has a rank, further ranks use the next processing units of the cores in the same order, then start
// again.
std::vector<Place> map_ranks(const Machine &machine, int ranks, Mapping by);
// Rank i is on CPU number cpus[i % cpus.size()]; if the machine lacks that CPU, its place is unknown.
std::vector<Place> map_ranks(const Machine &machine, int ranks, std::span<const int> cpus);
// The place of a rank that may run on any of these CPUs: a level is known if all CPUs are in the same domain of it, and
// -1 otherwise. CPUs that the machine lacks are ignored.
Place place_of_cpus(const Machine &machine, std::span<const int> cpus);
// The same for the calling thread's affinity. REQUIRES: `machine` describes the running machine.
Place current_place(const Machine &machine);
// The CPU numbers in the calling thread's affinity mask; empty if the system does not return it.
std::vector<int> current_cpus();

// ---- caches -----------------------------------------------------------------------------------------------

// C = c' + p c'' of the adaptive copy rule (YHCCL 4): the total size of the L3s that these ranks use, plus their L2s
// unless the L3 is inclusive. 0 if the machine reports no cache sizes.
std::uint64_t available_cache_bytes(const Machine &machine, std::span<const Place> ranks);

// One line: "2 sockets, 8 NUMA nodes, 16 L3 (8 MiB), 64 cores, 128 PUs".
std::string describe(const Machine &machine);

}  // namespace coll::topo
