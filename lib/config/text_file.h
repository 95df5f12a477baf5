// SPDX-License-Identifier: BSD-3-Clause
// Reading files that a user names.
#pragma once

#include <cstddef>
#include <string>

namespace coll::config {

// Reads a whole file, or a pipe until its end. Returns "" or an error message without the file's name: the file cannot
// be read, is a directory or a device, or is longer than `most_bytes`. Throws only std::bad_alloc. Thread-safe.
std::string read_text_file(const std::string& path, size_t most_bytes, std::string& text);

}  // namespace coll::config
