// SPDX-License-Identifier: BSD-3-Clause
// Files that an option of collctl names for output.
#pragma once

#include <string>
#include <string_view>

namespace coll::tools {

// Throws a Failure if `file` cannot be written, before minutes are spent on what it will contain. Changes no file. With
// `must_be_regular` a device or a pipe is refused, too.
void check_writable(std::string_view option, const std::string& file, bool must_be_regular = false);

// Replaces the contents of `file`. On an error it throws a Failure, and removes the file if it is new and incomplete.
void write_file(std::string_view option, const std::string& file, std::string_view text);

}  // namespace coll::tools
