// SPDX-License-Identifier: BSD-3-Clause
// The only file that uses hwloc: converts its tree to a Machine.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>

#include <hwloc.h>

#include "config/text_file.h"
#include "topo/arm_name.h"
#include "topo/machine.h"
#include "topo/processor.h"
#include "topo/quiet.h"
#include "topo/source.h"

namespace coll::topo {
namespace {

constexpr std::size_t xml_limit_bytes = 64u << 20;

// Serialises loads, because hwloc has unprotected static variables (verbosity, errors reported once).
std::mutex &hwloc_lock() {
  static std::mutex lock;
  return lock;
}

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

std::string why() { return errno != 0 ? std::strerror(errno) : "no reason given"; }

// Linux on arm64 prints numbers instead of a model.
std::string processor_of(hwloc_obj_t object) {
  const auto info = [object](const char *name) -> std::string_view {
    const char *value = hwloc_obj_get_info_by_name(object, name);
    return value != nullptr ? value : "";
  };
  const std::string_view model = info("CPUModel");
  return model.empty() ? arm_name(info("CPUImplementer"), info("CPUPart")) : std::string(model);
}

// Creates an empty topology that keeps exactly the levels of a Machine.
Topology make() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Topology topology(raw);
  // hwloc must not rebind the caller's thread, and must not spend time on data that a Machine does not contain.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING | HWLOC_TOPOLOGY_FLAG_NO_DISTANCES |
                                    HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS);
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  for (hwloc_obj_type_t type :
       {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_CORE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L1CACHE})
    hwloc_topology_set_type_filter(raw, type, HWLOC_TYPE_FILTER_KEEP_ALL);
  // hwloc attaches NUMA nodes to groups if no other object has the same processing units.
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
  return topology;
}

Inclusion inclusion(hwloc_obj_t cache) {
  const char *value = hwloc_obj_get_info_by_name(cache, "Inclusive");
  if (value == nullptr) return Inclusion::unknown;
  return std::strcmp(value, "1") == 0 ? Inclusion::yes : Inclusion::no;
}

Cache cache_of(hwloc_topology_t topology, hwloc_obj_type_t type) {
  Cache smallest;
  for (hwloc_obj_t it = hwloc_get_next_obj_by_type(topology, type, nullptr); it != nullptr;
       it = hwloc_get_next_obj_by_type(topology, type, it)) {
    ++smallest.instances;
    if (smallest.instances > 1 && it->attr->cache.size >= smallest.size_bytes) continue;
    smallest.size_bytes = it->attr->cache.size;
    smallest.line_bytes = it->attr->cache.linesize;
    smallest.inclusive = inclusion(it);
  }
  // Without sizes, the copy rules cannot use a cache.
  return smallest.size_bytes > 0 ? smallest : Cache{};
}

int ancestor(hwloc_topology_t topology, hwloc_obj_t pu, hwloc_obj_type_t type) {
  const hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(topology, type, pu);
  return found != nullptr ? static_cast<int>(found->logical_index) : -1;
}

// Sets the nearest NUMA node of each processing unit: the node with the fewest processing units, which skips memory
// that belongs to the whole machine or to no processor. If several are equally near, it is the first one (DRAM before
// high-bandwidth memory). Nodes are numbered in the order of the processing units.
void place_numa(hwloc_topology_t topology, Machine &machine) {
  std::vector<hwloc_obj_t> nearest(machine.pus.size(), nullptr);
  std::vector<int> weight(machine.pus.size(), 0);
  for (hwloc_obj_t node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, nullptr); node != nullptr;
       node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) {
    const int width = hwloc_bitmap_weight(node->cpuset);
    for (std::size_t i = 0; i < machine.pus.size(); ++i) {
      if (hwloc_bitmap_isset(node->cpuset, static_cast<unsigned>(machine.pus[i].pu)) == 0) continue;
      if (nearest[i] != nullptr && width >= weight[i]) continue;
      nearest[i] = node;
      weight[i] = width;
    }
  }
  std::vector<hwloc_obj_t> seen;
  for (std::size_t i = 0; i < machine.pus.size(); ++i) {
    if (nearest[i] == nullptr) continue;  // no allowed node contains it
    const auto index = std::ranges::find(seen, nearest[i]) - seen.begin();
    if (index == std::ssize(seen)) seen.push_back(nearest[i]);
    machine.pus[i].numa = static_cast<int>(index);
  }
  if (seen.empty())
    for (Place &pu : machine.pus) pu.numa = 0;
  machine.numas = std::max(static_cast<int>(seen.size()), 1);
}

Status convert(hwloc_topology_t topology, Machine &machine) {
  const int packages = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
  const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  for (hwloc_obj_t pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, nullptr); pu != nullptr;
       pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) {
    Place place;
    place.package = packages > 0 ? ancestor(topology, pu, HWLOC_OBJ_PACKAGE) : 0;
    place.l3 = ancestor(topology, pu, HWLOC_OBJ_L3CACHE);
    place.l2 = ancestor(topology, pu, HWLOC_OBJ_L2CACHE);
    place.core = cores > 0 ? ancestor(topology, pu, HWLOC_OBJ_CORE) : static_cast<int>(pu->logical_index);
    place.pu = static_cast<int>(pu->os_index);
    machine.pus.push_back(place);
  }
  if (machine.pus.empty()) return Status::error("hwloc found no processing unit that may be used");
  machine.packages = std::max(packages, 1);
  machine.cores = cores > 0 ? cores : static_cast<int>(machine.pus.size());
  machine.l3s = std::max(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_L3CACHE), 0);
  place_numa(topology, machine);
  machine.l1d = cache_of(topology, HWLOC_OBJ_L1CACHE);
  machine.l2 = cache_of(topology, HWLOC_OBJ_L2CACHE);
  machine.l3 = cache_of(topology, HWLOC_OBJ_L3CACHE);
  const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  const hwloc_obj_t named = package != nullptr ? package : hwloc_get_root_obj(topology);
  machine.processor = processor_of(named);
  return {};
}

// Sets a flat machine, with which the caller can continue, and returns the error.
Status give_up(Machine &machine, std::vector<int> cpus, std::string what) {
  if (cpus.empty()) cpus.push_back(0);
  machine = flat_machine(cpus, what);
  return Status::error(std::move(what));
}

Status read_file(const std::string &path, std::string &text) {
  const std::string why = config::read_text_file(path, xml_limit_bytes, text);
  if (!why.empty()) return Status::error(why);
  return text.empty() ? Status::error("the file is empty") : Status();
}

}  // namespace

Status load_native(Machine &machine) {
  Machine made;
  made.source = "native";
  {
    const std::lock_guard guard(hwloc_lock());
    const Quiet quiet;
    errno = 0;
    const Topology topology = make();
    if (topology == nullptr || hwloc_topology_load(topology.get()) != 0)
      return give_up(machine, current_cpus(),
                     "hwloc cannot read this machine: " + why() +
                         "; describe it with an XML file or a text such as \"package:1 numa:1 core:8\"");
    if (Status status = convert(topology.get(), made); !status.ok())
      return give_up(machine, current_cpus(), status.text());
    if (hwloc_topology_is_thissystem(topology.get()) == 0)
      made.note = "HWLOC_XMLFILE or HWLOC_SYNTHETIC in the environment replaces this machine's topology";
  }
  // hwloc would have to rebind the thread to read this from each processor.
  if (made.note.empty()) add_processor_facts(made);
  machine = std::move(made);
  return {};
}

Status load_xml(const std::string &path, Machine &machine) {
  const std::string name = "topology file '" + path + "'";
  std::string text;
  if (Status status = read_file(path, text); !status.ok())
    return give_up(machine, {}, name + ": " + status.text() + "; give a file that 'lstopo --of xml FILE' wrote");
  const std::string hint = "; write it again with 'lstopo --of xml FILE'";
  std::string checked;
  if (Status status = check_xml(text, checked); !status.ok())
    return give_up(machine, {}, name + ": " + status.text() + hint);

  Machine made;
  made.source = "xml " + path;
  const std::lock_guard guard(hwloc_lock());
  const Quiet quiet;
  errno = 0;
  const Topology topology = make();
  if (topology == nullptr ||
      hwloc_topology_set_xmlbuffer(topology.get(), checked.c_str(), static_cast<int>(checked.size() + 1)) != 0 ||
      hwloc_topology_load(topology.get()) != 0)
    return give_up(machine, {},
                   name + ": hwloc cannot use it (" + why() + "): it is damaged or of another version" + hint);
  if (Status status = convert(topology.get(), made); !status.ok())
    return give_up(machine, {}, name + ": " + status.text() + hint);
  machine = std::move(made);
  return {};
}

Status load_synthetic(std::string_view text, Machine &machine) {
  std::string hwloc_text;
  if (Status status = check_synthetic(text, hwloc_text); !status.ok()) return give_up(machine, {}, status.text());

  Machine made;
  made.source = "synthetic " + std::string(text);
  const std::lock_guard guard(hwloc_lock());
  const Quiet quiet;
  errno = 0;
  const Topology topology = make();
  if (topology == nullptr || hwloc_topology_set_synthetic(topology.get(), hwloc_text.c_str()) != 0 ||
      hwloc_topology_load(topology.get()) != 0)
    return give_up(machine, {},
                   "synthetic topology: hwloc cannot use '" + std::string(text) + "' (" + why() +
                       "); check the attributes in parentheses, as in \"l3:2(size=32MB)\"");
  if (Status status = convert(topology.get(), made); !status.ok()) return give_up(machine, {}, status.text());
  machine = std::move(made);
  return {};
}

}  // namespace coll::topo
