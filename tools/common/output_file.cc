// SPDX-License-Identifier: BSD-3-Clause
#include "tools/common/output_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "tools/command.h"

namespace coll::tools {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string_view option, const std::string& file, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  throw Failure(fmt::format("cannot write {} {}: {}; {}", option, file, std::strerror(error),
                            is_full ? "free some space, or name a file on another disk"
                                    : "name a file in a directory that you may write to"));
}

// The streams of the C++ library leave errno as the system call set it.
int error_of_stream() { return errno != 0 ? errno : EIO; }

}  // namespace

void check_writable(std::string_view option, const std::string& file, bool must_be_regular) {
  std::error_code ignored;
  const fs::file_status before = fs::status(file, ignored);
  if (must_be_regular && fs::exists(before) && !fs::is_regular_file(before))
    throw Failure(fmt::format("cannot write {} {}: it is not a regular file; name another one", option, file));
  errno = 0;
  const bool writable = std::ofstream(file, std::ios::app).good();
  const int error = error_of_stream();
  if (!writable) fail(option, file, error);
  if (!fs::exists(before)) fs::remove(file, ignored);
}

void write_file(std::string_view option, const std::string& file, std::string_view text) {
  std::error_code ignored;
  const bool is_new = !fs::exists(file, ignored);
  errno = 0;
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (out) return;
  const int error = error_of_stream();
  if (is_new) fs::remove(file, ignored);
  fail(option, file, error);
}

}  // namespace coll::tools
