// SPDX-License-Identifier: BSD-3-Clause
// Settings of the running kernel, and limits of this process, that decide how fast and by which paths ranks exchange data.
#pragma once

#include <cstdint>
#include <string>

namespace coll::tools {

inline constexpr uint64_t unlimited = UINT64_MAX;

struct KernelSettings {
  std::string release;
  int ptrace_scope = -1;                                               // -1: the kernel has no Yama
  uint64_t memlock_bytes = unlimited, memlock_most_bytes = unlimited;  // soft limit, hard limit
  std::string huge_pages, shared_huge_pages;  // the selected words of transparent_hugepage; "": not supported
  int reserved_huge_pages = 0;
};

KernelSettings kernel_settings();

}  // namespace coll::tools
