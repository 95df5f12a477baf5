// SPDX-License-Identifier: BSD-3-Clause
// The value of a variable: the environment's, else that of a configuration file, read once per process.
//
// COLL_CONFIG names the file, or says "none". Without it ~/.config/libcoll/config (below XDG_CONFIG_HOME when that is
// set) and then /etc/libcoll.conf are read, and the first that has a variable counts. A line is "NAME = value", a '#'
// begins a comment at the start of a line or after a blank.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coll::config {

// Null when it is set nowhere. Valid as long as the environment is left alone. Thread safe as getenv().
const char* value(const char* name);

// Where value() comes from: "environment", "FILE:LINE", or "".
std::string source(const char* name);

// What is wrong with a configuration file, with its line and the remedy; "" when nothing is. Then no file counts.
const std::string& problem();

// Where tables of measured machines are looked for, the user's directory first; collctl calibrate writes there. Without
// a home only the system's.
std::vector<std::string> table_directories();

// Changes when a variable COLL_... of the environment does, or one that says where those files are.
uint64_t environment_digest();

struct Misspelt {
  std::string name;
  std::string nearest;  // "" when no variable is near
};
// Variables COLL_... of the environment that are not known.
std::vector<Misspelt> misspelt();

// One file's text; for value(), and for tests.
struct Line {
  std::string name;
  std::string value;
  std::string source;
};
// Adds to `lines` what is not in it yet; "" or what is wrong.
std::string parse(std::string_view text, const std::string& file, std::vector<Line>& lines);

}  // namespace coll::config
