// SPDX-License-Identifier: BSD-3-Clause
#include "topo/machine.h"

#include <cctype>

namespace coll::topo {
namespace {

std::string counted(int count, const char *one, const char *many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string size_text(std::uint64_t bytes) {
  if (bytes >= 1u << 20 && bytes % (1u << 20) == 0) return std::to_string(bytes >> 20) + " MiB";
  return std::to_string(bytes >> 10) + " KiB";
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Whether the first word has the form TYPE:COUNT. A path may contain a colon, too, but rarely in this form.
bool looks_synthetic(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon + 1 >= text.size()) return false;
  const std::string_view type = text.substr(0, colon);
  return type.find_first_of("/. ") == std::string_view::npos &&
         std::isdigit(static_cast<unsigned char>(text[colon + 1])) != 0;
}

}  // namespace

Status load(std::string_view text, Machine &machine) {
  text = trim(text);
  if (text.empty() || text == "native") return load_native(machine);
  if (text.starts_with("synthetic ")) return load_synthetic(text.substr(10), machine);
  if (text.starts_with("xml ")) return load_xml(std::string(trim(text.substr(4))), machine);
  if (looks_synthetic(text)) return load_synthetic(text, machine);
  return load_xml(std::string(text), machine);
}

Machine flat_machine(std::span<const int> cpus, std::string note) {
  Machine machine;
  machine.source = "flat";
  machine.note = std::move(note);
  for (int cpu : cpus) machine.pus.push_back({.package = 0, .numa = 0, .core = machine.cores++, .pu = cpu});
  machine.packages = machine.numas = 1;
  return machine;
}

std::string describe(const Machine &machine) {
  std::string text =
      counted(machine.packages, "socket", "sockets") + ", " + counted(machine.numas, "NUMA node", "NUMA nodes") + ", ";
  if (machine.l3s > 0) {
    text += std::to_string(machine.l3s) + " L3";
    if (machine.l3.size_bytes > 0) text += " (" + size_text(machine.l3.size_bytes) + ")";
    text += ", ";
  }
  text += counted(machine.cores, "core", "cores") + ", " + counted(static_cast<int>(machine.pus.size()), "PU", "PUs");
  if (!machine.note.empty()) text += " (" + machine.note + ")";
  return text;
}

}  // namespace coll::topo
