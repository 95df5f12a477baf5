// SPDX-License-Identifier: BSD-3-Clause
// COLL_LOG: messages of the shim on standard error.
#pragma once

namespace coll::shim {

// Whether COLL_LOG is "info" or "debug".
bool log_wanted();
// Whether COLL_LOG is "debug".
bool debug_wanted();

// Prints one line with the prefix "libcoll: " if log_wanted(). It is one write, so lines of several ranks do not mix.
[[gnu::format(printf, 1, 2)]] void log_line(const char *format, ...);

// Prints a line regardless of COLL_LOG: why the process ends.
[[gnu::format(printf, 1, 2)]] void fatal_line(const char *format, ...);

// Prints a line unless COLL_LOG is "off", but only the first one of a process: what the user has to correct.
[[gnu::format(printf, 1, 2)]] void warn_once(const char *format, ...);

}  // namespace coll::shim
