// SPDX-License-Identifier: BSD-3-Clause
#include "tools/common/kernel_settings.h"

#include <cstdlib>
#include <fstream>

#include <sys/resource.h>
#include <sys/utsname.h>

namespace coll::tools {
namespace {

// "": there is no such file.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Returns the word in brackets: "always [madvise] never" -> "madvise".
std::string selected_word(const std::string& line) {
  const size_t begin = line.find('['), end = line.find(']');
  return begin == std::string::npos || end == std::string::npos ? "" : line.substr(begin + 1, end - begin - 1);
}

uint64_t limit(rlim_t value) { return value == RLIM_INFINITY ? unlimited : uint64_t(value); }

}  // namespace

KernelSettings kernel_settings() {
  utsname system{};
  uname(&system);
  rlimit memlock{};
  getrlimit(RLIMIT_MEMLOCK, &memlock);
  const std::string scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
  const std::string huge = "/sys/kernel/mm/transparent_hugepage/";
  return {.release = system.release,
          .ptrace_scope = scope.empty() ? -1 : std::atoi(scope.c_str()),
          .memlock_bytes = limit(memlock.rlim_cur),
          .memlock_most_bytes = limit(memlock.rlim_max),
          .huge_pages = selected_word(first_line(huge + "enabled")),
          .shared_huge_pages = selected_word(first_line(huge + "shmem_enabled")),
          .reserved_huge_pages = std::atoi(first_line("/proc/sys/vm/nr_hugepages").c_str())};
}

}  // namespace coll::tools
