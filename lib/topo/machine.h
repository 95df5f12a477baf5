// SPDX-License-Identifier: BSD-3-Clause
// A machine as plain data: loaded once per node by one rank, handed to the others as bytes.
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

// The smallest cache of its kind where they differ (a hybrid processor); all zero where there is none.
struct Cache {
  std::uint64_t size_bytes = 0;  // of one instance
  std::uint32_t line_bytes = 0;
  std::uint32_t instances = 0;               // on the machine
  Inclusion inclusive = Inclusion::unknown;  // holds all that the caches above it hold

  bool operator==(const Cache &) const = default;
};

struct Machine {
  // Allowed processing units only, near ones next to each other. Never empty after a load, even a failed one.
  std::vector<Place> pus;
  int packages = 0;
  int numas = 0;  // with processing units; 1 on a machine that tells nothing about NUMA
  int l3s = 0;
  int cores = 0;
  Cache l1d, l2, l3;
  std::string processor;  // the processor's own name, "" when unknown
  std::string source;     // "native", "xml PATH", "synthetic TEXT" or "flat"
  std::string note;       // why the machine is simpler than it should be; "" when it is not

  bool operator==(const Machine &) const = default;
};

// ---- loading --------------------------------------------------------------------------------------------
// All may be called from several threads, write nothing to stderr and leave the environment and the caller's
// binding alone. After an error `machine` is flat_machine() of the CPUs that the caller may use (native) or of
// one (xml, synthetic), with the error as its note, so that a caller may go on with a flat hierarchy.

// The running machine, as hwloc sees it: only processing units that the cgroup allows.
Status load_native(Machine &machine);
// A file that `lstopo --of xml FILE` wrote, on this or another machine.
Status load_xml(const std::string &path, Machine &machine);
// "package:2 numa:4 core:8": counts are per parent, largest first. Words: package (or socket), die, group,
// numa, l3, l2, l1d, core, pu; hwloc's attributes in parentheses are allowed, as in "l3:2(size=32MB)".
Status load_synthetic(std::string_view text, Machine &machine);
// What users write: "" or "native", "synthetic TEXT" or a text with a colon and no slash, "xml PATH" or a path.
Status load(std::string_view text, Machine &machine);
// One socket, one NUMA node, no known caches; one core per given CPU number.
Machine flat_machine(std::span<const int> cpus, std::string note);

// ---- handing over ---------------------------------------------------------------------------------------

std::string serialize(const Machine &machine);
// Accepts only what serialize() of the same library version wrote, whole and unaltered; on error `machine` is
// untouched.
Status parse(std::string_view bytes, Machine &machine);

// ---- placing ranks ----------------------------------------------------------------------------------------

enum class Mapping : std::uint8_t {
  core,  // consecutive cores
  numa,  // round-robin over the NUMA nodes
};
const char *mapping_name(Mapping by);
Status parse_mapping(std::string_view text, Mapping &by);

// More ranks than cores take the cores' further processing units in the same order, then start again.
std::vector<Place> map_ranks(const Machine &machine, int ranks, Mapping by);
// Rank i sits on CPU number cpus[i % cpus.size()]; a CPU that the machine lacks gives an unknown place.
std::vector<Place> map_ranks(const Machine &machine, int ranks, std::span<const int> cpus);
// What is known of a rank that may run on any of these CPUs: every level of which they touch exactly one.
// CPUs that the machine lacks are left out.
Place place_of_cpus(const Machine &machine, std::span<const int> cpus);
// The same for the calling thread's binding. `machine` must describe the running machine.
Place current_place(const Machine &machine);
// CPU numbers that the calling thread is bound to; empty when the system will not tell.
std::vector<int> current_cpus();

// ---- caches -----------------------------------------------------------------------------------------------

// C = c' + p c'' of the adaptive copy rule (YHCCL 4): the last-level caches that these ranks reach, and their
// private L2s where the last level is not inclusive. 0 when the machine does not tell.
std::uint64_t available_cache_bytes(const Machine &machine, std::span<const Place> ranks);

// One line: "2 sockets, 8 NUMA nodes, 16 L3 (8 MiB), 64 cores, 128 PUs".
std::string describe(const Machine &machine);

}  // namespace coll::topo
