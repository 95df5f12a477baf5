// SPDX-License-Identifier: BSD-3-Clause
// Checks descriptions before hwloc reads them: hwloc returns EINVAL for every error, and its parsers do not validate
// their input enough for files from users.
#pragma once

#include <string>
#include <string_view>

#include "topo/status.h"

namespace coll::topo {

// Checks the words, counts and order of a synthetic description and translates it to hwloc's words.
Status check_synthetic(std::string_view text, std::string &hwloc_text);

// Checks that the text is one complete document of hwloc 2 or 3 whose objects are consistent, and writes a copy with
// the parts that a Machine needs (no devices, distances or user data).
Status check_xml(std::string_view text, std::string &hwloc_text);

}  // namespace coll::topo
