// SPDX-License-Identifier: BSD-3-Clause
// Places ranks on a machine: by a rule, by a list of CPUs, or by their affinity.
#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include <sched.h>

#include "topo/machine.h"

namespace coll::topo {
namespace {

using Core = std::vector<Place>;  // its processing units

// The cores in the machine's order, in which near cores are adjacent.
std::vector<Core> cores_of(const Machine &machine) {
  std::vector<Core> cores;
  std::map<int, std::size_t> index;
  for (const Place &pu : machine.pus) {
    const auto [it, added] = index.try_emplace(pu.core, cores.size());
    if (added) cores.emplace_back();
    cores[it->second].push_back(pu);
  }
  return cores;
}

// Round-robin order: the first core of every NUMA node, then the second core of every node that has one, ...
std::vector<Core> deal_over_numas(const std::vector<Core> &cores) {
  std::map<int, std::vector<Core>> by_numa;
  for (const Core &core : cores) by_numa[core.front().numa].push_back(core);
  std::vector<Core> dealt;
  for (std::size_t turn = 0; dealt.size() < cores.size(); ++turn)
    for (const auto &[numa, its_cores] : by_numa)
      if (turn < its_cores.size()) dealt.push_back(its_cores[turn]);
  return dealt;
}

}  // namespace

const char *mapping_name(Mapping by) { return by == Mapping::core ? "core" : "numa"; }

Status parse_mapping(std::string_view text, Mapping &by) {
  for (Mapping candidate : {Mapping::core, Mapping::numa}) {
    if (text == mapping_name(candidate)) {
      by = candidate;
      return {};
    }
  }
  return Status::error("unknown mapping '" + std::string(text) + "'; write core or numa");
}

std::vector<Place> map_ranks(const Machine &machine, int ranks, Mapping by) {
  std::vector<Core> cores = cores_of(machine);
  if (cores.empty()) return std::vector<Place>(static_cast<std::size_t>(ranks));
  if (by == Mapping::numa) cores = deal_over_numas(cores);
  std::vector<Place> places;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
    const Core &core = cores[rank % cores.size()];
    places.push_back(core[rank / cores.size() % core.size()]);
  }
  return places;
}

std::vector<Place> map_ranks(const Machine &machine, int ranks, std::span<const int> cpus) {
  std::vector<Place> places(static_cast<std::size_t>(ranks));
  for (std::size_t rank = 0; rank < places.size() && !cpus.empty(); ++rank)
    places[rank] = place_of_cpus(machine, cpus.subspan(rank % cpus.size(), 1));
  return places;
}

Place place_of_cpus(const Machine &machine, std::span<const int> cpus) {
  std::vector<int> sorted(cpus.begin(), cpus.end());
  std::ranges::sort(sorted);
  Place common;
  bool first = true;
  for (const Place &pu : machine.pus) {
    if (!std::ranges::binary_search(sorted, pu.pu)) continue;
    if (first) {
      common = pu;
      first = false;
      continue;
    }
    for (int Place::*level : {&Place::package, &Place::numa, &Place::l3, &Place::l2, &Place::core, &Place::pu})
      if (common.*level != pu.*level) common.*level = -1;
  }
  return common;
}

Place current_place(const Machine &machine) { return place_of_cpus(machine, current_cpus()); }

std::vector<int> current_cpus() {
  // The kernel rejects a mask that is smaller than its own, whose size depends on the machine.
  for (int limit = 1024; limit <= 1 << 20; limit *= 2) {
    cpu_set_t *set = CPU_ALLOC(limit);
    if (set == nullptr) return {};
    const std::size_t size_bytes = CPU_ALLOC_SIZE(limit);
    const int error = sched_getaffinity(0, size_bytes, set) == 0 ? 0 : errno;
    std::vector<int> cpus;
    for (int cpu = 0; error == 0 && cpu < limit; ++cpu)
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size_bytes, set)) cpus.push_back(cpu);
    CPU_FREE(set);
    if (error != EINVAL) return cpus;
  }
  return {};
}

std::uint64_t available_cache_bytes(const Machine &machine, std::span<const Place> ranks) {
  // The number of caches of one kind that the ranks use. A rank with an unknown place may use a further one, up to all.
  const auto reached = [&](int Place::*level, std::uint32_t instances) {
    std::set<int> known;
    std::uint64_t open = 0;
    for (const Place &place : ranks) {
      if (place.*level >= 0) known.insert(place.*level);
      else ++open;
    }
    return std::min<std::uint64_t>(known.size() + open, instances);
  };
  std::uint64_t bytes = reached(&Place::l3, machine.l3.instances) * machine.l3.size_bytes;
  if (machine.l3.inclusive != Inclusion::yes || bytes == 0)
    bytes += reached(&Place::l2, machine.l2.instances) * machine.l2.size_bytes;
  return bytes;
}

}  // namespace coll::topo
