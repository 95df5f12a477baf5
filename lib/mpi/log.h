// SPDX-License-Identifier: BSD-3-Clause
// COLL_LOG: what the shim tells about itself on standard error, when asked.
#pragma once

namespace coll::shim {

// COLL_LOG is "info" or "debug".
bool log_wanted();
// COLL_LOG is "debug".
bool debug_wanted();

// One whole line, "libcoll: " in front, when log_wanted(). Written at once, so that lines of ranks do not mix.
[[gnu::format(printf, 1, 2)]] void log_line(const char *format, ...);

// Such a line whatever COLL_LOG is: why the process ends.
[[gnu::format(printf, 1, 2)]] void fatal_line(const char *format, ...);

// Such a line unless COLL_LOG is "off", and only the first of a process: what the user has to correct.
[[gnu::format(printf, 1, 2)]] void warn_once(const char *format, ...);

}  // namespace coll::shim
