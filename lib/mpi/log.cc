// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/log.h"

#include <coll/shim.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace coll::shim {
namespace {

bool level_is(const char *level) {
  const char *wanted = coll_setting("COLL_LOG");
  return wanted != nullptr && std::strcmp(wanted, level) == 0;
}

void write_line(const char *format, va_list arguments) {
  char line[1024];
  int length = std::snprintf(line, sizeof line, "libcoll: ");
  length += std::vsnprintf(line + length, sizeof line - static_cast<std::size_t>(length), format, arguments);
  length = std::min(length, static_cast<int>(sizeof line) - 2);
  line[length++] = '\n';
  // Best effort: the program must not fail because standard error is closed.
  if (write(STDERR_FILENO, line, static_cast<std::size_t>(length)) < 0) return;
}

}  // namespace

bool debug_wanted() {
  static const bool wanted = level_is("debug");
  return wanted;
}

bool log_wanted() {
  static const bool wanted = level_is("info") || debug_wanted();
  return wanted;
}

void log_line(const char *format, ...) {
  if (!log_wanted()) return;
  va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
}

void fatal_line(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
}

void warn_once(const char *format, ...) {
  static std::atomic<bool> warned{false};
  if (level_is("off") || warned.exchange(true)) return;
  va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
}

}  // namespace coll::shim
