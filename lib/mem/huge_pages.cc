// SPDX-License-Identifier: BSD-3-Clause
#include "mem/huge_pages.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace coll::mem {

namespace {

constexpr int collapse = 25;  // MADV_COLLAPSE, which older headers lack
constexpr int most_tries = 4;

// Not with madvise(): UCX, which MPI libraries load, interposes that.
int advise_collapse(uintptr_t address, size_t bytes) {
  int error = 0;
  // EAGAIN: reclaim or compaction has isolated a page just now.
  for (int tries = 0; tries < most_tries; tries++) {
    error = syscall(SYS_madvise, address, bytes, collapse) == 0 ? 0 : errno;
    if (error != EAGAIN) break;
  }
  return error;
}

bool ask_system() {
  const std::string directory = "/sys/kernel/mm/transparent_hugepage/";
  std::ifstream enabled_file(directory + "enabled"), bytes_file(directory + "hpage_pmd_size");
  std::string enabled;
  size_t bytes = 0;
  std::getline(enabled_file, enabled);
  bytes_file >> bytes;
  return !enabled.empty() && enabled.find("[never]") == std::string::npos && bytes == huge_page_bytes &&
         advise_collapse(0, 0) == 0;
}

std::atomic<bool> none_left{false};

// How often pages were used, indexed by their numbers: an entry has the number in the upper bytes and the uses modulo
// `period` in the lowest byte. Pages that share an entry overwrite each other; it takes 8 GiB of buffers for that.
constexpr uint64_t period = 256;
constinit std::array<std::atomic<uint64_t>, 4096> counts{};

// Counts one more use of a page. Returns its uses modulo `period`.
int count(uintptr_t page) {
  std::atomic<uint64_t>& place = counts[page % counts.size()];
  const uint64_t counted = place.load(std::memory_order_relaxed);
  const uint64_t uses = counted / period == page ? (counted + 1) % period : 1;
  place.store(page * period + uses, std::memory_order_relaxed);
  return int(uses);
}

}  // namespace

bool HugePages::are_to_be_had() {
  static const bool found = ask_system();
  return found;
}

void HugePages::use_long(const void* memory, size_t bytes) {
  if (memory == nullptr || !are_to_be_had() || none_left.load(std::memory_order_relaxed)) return;
  const uintptr_t begin = uintptr_t(memory), end = begin + bytes;
  for (uintptr_t page = begin / huge_page_bytes; page <= (end - 1) / huge_page_bytes; page++) {
    const uintptr_t first = page * huge_page_bytes;
    if (std::min(end, first + huge_page_bytes) - std::max(begin, first) < least_bytes) continue;
    if (count(page) != uses) continue;
    // The kernel also returns ENOMEM for memory that is not mapped.
    const bool whole = begin <= first && end - first >= huge_page_bytes;
    if (advise_collapse(first, huge_page_bytes) == ENOMEM && whole) none_left.store(true, std::memory_order_relaxed);
  }
}

}  // namespace coll::mem
