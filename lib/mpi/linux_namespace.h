// SPDX-License-Identifier: BSD-3-Clause
// Namespaces of Linux, by which containers differ.
#pragma once

#include <cstdint>
#include <sys/stat.h>

namespace coll::shim {

// The number of a namespace of this process, such as "/proc/self/ns/pid": processes in it have the same one; 0 if it is
// not known.
inline std::uint64_t namespace_number(const char *path) {
  struct stat file;
  return stat(path, &file) == 0 ? file.st_ino : 0;
}

}  // namespace coll::shim
