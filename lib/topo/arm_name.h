// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace coll::topo {

// Name of an Arm core, such as "Neoverse-N1", from two numbers as /proc/cpuinfo and hwloc print them: "0x41", "0xd0c".
// Linux prints no name on arm64. A core that is not listed is "Arm implementer 0x41 part 0xd05"; "" if there is no part.
std::string arm_name(std::string_view implementer, std::string_view part);

}  // namespace coll::topo
