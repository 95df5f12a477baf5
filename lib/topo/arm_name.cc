// SPDX-License-Identifier: BSD-3-Clause
#include "topo/arm_name.h"

namespace coll::topo {

namespace {

// Cores of servers. The numbers are those of Linux, arch/arm64/include/asm/cputype.h; the names those of lscpu, by which
// lib/model/machines/families.txt finds a table.
constexpr struct {
  std::string_view implementer, part, name;
} cores[] = {
    {"0x41", "0xd08", "Cortex-A72"},  {"0x41", "0xd0c", "Neoverse-N1"},  {"0x41", "0xd49", "Neoverse-N2"},
    {"0x41", "0xd8e", "Neoverse-N3"}, {"0x41", "0xd40", "Neoverse-V1"},  {"0x41", "0xd4f", "Neoverse-V2"},
    {"0x41", "0xd84", "Neoverse-V3"}, {"0x41", "0xd4a", "Neoverse-E1"},  {"0x43", "0x0af", "ThunderX2-99xx"},
    {"0x46", "0x001", "A64FX"},       {"0x48", "0xd01", "TaiShan-v110"}, {"0x48", "0xd02", "TaiShan-v120"},
    {"0xc0", "0xac3", "Ampere-1"},    {"0xc0", "0xac4", "Ampere-1a"},
};

}  // namespace

std::string arm_name(std::string_view implementer, std::string_view part) {
  if (implementer.empty() || part.empty()) return "";
  for (const auto& core : cores)
    if (core.implementer == implementer && core.part == part) return std::string(core.name);
  return "Arm implementer " + std::string(implementer) + " part " + std::string(part);
}

}  // namespace coll::topo
