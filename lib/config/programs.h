// SPDX-License-Identifier: BSD-3-Clause
// COLL_PROGRAMS: selects the programs that an MPI shim serves.
//
// The value is a list of shell patterns, separated by commas and blanks, such as "!vasp_*, !/opt/old/*". A pattern with
// a slash is compared with the program's path, any other with its names. The first pattern that matches decides: with a
// leading '!' the program is not served, otherwise it is. If no pattern matches, the program is served only if every
// pattern begins with '!'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace coll::config {

struct Program {
  std::string path;                // of the executable, with links resolved; "" if unknown
  std::vector<std::string> names;  // of the executable, and argv[0] without its directory

  static Program of_process();
};

bool serves(std::string_view list, const Program& program);

}  // namespace coll::config
