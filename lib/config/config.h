// SPDX-License-Identifier: BSD-3-Clause
// The value of a variable: from the environment, otherwise from a configuration file. Each process reads the files
// once.
//
// COLL_CONFIG names the file, or is "none". Without it, a process reads ~/.config/libcoll/config (in XDG_CONFIG_HOME
// instead of ~/.config if that is set) and then /etc/libcoll.conf; the first file that sets a variable decides. A line
// is "NAME = value"; a '#' begins a comment at the start of a line or after a blank.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coll::config {

// Returns null if the variable is not set. The string is valid until the environment changes. As thread-safe as
// getenv().
const char* value(const char* name);
// The same; "" if the variable is not set.
std::string text(const char* name);

// The source of value(): "environment", "FILE:LINE", or "" if the variable is not set.
std::string source(const char* name);

// The error in a configuration file, with its line and a fix; "" if there is none. If there is an error, values from
// files are ignored.
const std::string& problem();

// The directories that are searched for model tables: the user's directory, if the user has a home, then the system's.
// collctl calibrate writes to one of them.
std::vector<std::string> table_directories();

// A digest of all COLL_... variables of the environment and of the variables that determine the paths of these files.
uint64_t environment_digest();

struct Misspelt {
  std::string name;
  std::string nearest;  // "" if no variable is similar
};
// Returns the COLL_... variables of the environment that libcoll does not know.
std::vector<Misspelt> misspelt();

// One line of a file.
struct Line {
  std::string name;
  std::string value;
  std::string source;
};
// Parses the text of one file, for value() and for tests. It adds those variables to `lines` that `lines` does not have
// yet. Returns "" or an error message with the line.
std::string parse(std::string_view text, const std::string& file, std::vector<Line>& lines);

}  // namespace coll::config
