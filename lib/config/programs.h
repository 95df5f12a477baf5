// SPDX-License-Identifier: BSD-3-Clause
// COLL_PROGRAMS: which programs an MPI shim serves, and which it leaves alone.
//
// A list of shell patterns, separated by commas and blanks, such as "!vasp_*, !/opt/old/*". A pattern with a slash is
// compared with the program's path, another one with its name; '!' in front leaves those alone that match. The first that
// matches decides. Where none does, a program is served if every pattern begins with '!', and left alone otherwise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace coll::config {

struct Program {
  std::string path;                // of its file, links resolved; "" when it is not known
  std::vector<std::string> names;  // of its file, and the one it was started by

  static Program of_process();
};

bool serves(std::string_view list, const Program& program);

}  // namespace coll::config
