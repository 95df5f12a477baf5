// SPDX-License-Identifier: BSD-3-Clause
// Checks of descriptions before hwloc sees them. hwloc answers EINVAL to everything, and its readers trust
// their input more than a file from a user deserves.
#pragma once

#include <string>
#include <string_view>

#include "topo/status.h"

namespace coll::topo {

// Checks the words, counts and order of a synthetic description and writes it in hwloc's own words.
Status check_synthetic(std::string_view text, std::string &hwloc_text);

// Checks that the text is one complete document of hwloc 2 or 3 whose objects fit together, and writes a copy of the
// parts that a Machine is made of (no devices, distances or user data).
Status check_xml(std::string_view text, std::string &hwloc_text);

}  // namespace coll::topo
