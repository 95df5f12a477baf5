// SPDX-License-Identifier: BSD-3-Clause
// Facts that a communicator measures or detects at run time, given by the user instead (--assume).
#pragma once

#include <optional>
#include <string>

#include "tools/command_line.h"

namespace coll::tools {

struct Assumed {
  // Time of CMA over that of staging, for a copy of 256 KiB. tune::no_copy: CMA does not work. Empty: take the ratio
  // from the table.
  std::optional<double> cma_times;
  bool huge_pages = false;        // long buffers are in huge pages
  bool shared_heap = false;       // COLL_HEAP=shared: buffers of tune::shared_heap_min_bytes or more can be mapped
  bool in_place = false;          // peers access all buffers in place: kcoll_map, or ranks that are threads
  bool scheduler_groups = false;  // oversubscribed ranks are in different scheduler groups
};

// Adds --assume, whose text parse_assumed() parses.
void add_assume_option(Command& sub, std::string& text);

// Parses "cma=1.5,huge-pages"; "" assumes nothing. Throws usage() if an item is unknown or if two items contradict each
// other.
Assumed parse_assumed(const std::string& text);

}  // namespace coll::tools
