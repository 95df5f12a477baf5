// SPDX-License-Identifier: BSD-3-Clause
#include "topo/processor.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <cstring>
#endif

namespace coll::topo {

#if defined(__x86_64__)
namespace {

// The CPUID leaf of the deterministic cache parameters: 4 on Intel, 0x8000001D with the same layout on AMD and Hygon; 0
// if the processor has none.
unsigned cache_leaf() {
  unsigned eax, ebx, ecx, edx;
  if (__get_cpuid(0, &eax, &ebx, &ecx, &edx) == 0) return 0;
  char vendor[12];
  std::memcpy(vendor, &ebx, 4);
  std::memcpy(vendor + 4, &edx, 4);
  std::memcpy(vendor + 8, &ecx, 4);
  if (std::memcmp(vendor, "AuthenticAMD", 12) != 0 && std::memcmp(vendor, "HygonGenuine", 12) != 0) return 4;
  constexpr unsigned topology_extensions = 1u << 22;
  if (__get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) == 0 || (ecx & topology_extensions) == 0) return 0;
  return 0x8000001d;
}

}  // namespace

void add_processor_facts(Machine &machine) {
  const unsigned leaf = cache_leaf();
  if (leaf == 0) return;
  for (unsigned index = 0; index < 16; ++index) {
    unsigned eax, ebx, ecx, edx;
    if (__get_cpuid_count(leaf, index, &eax, &ebx, &ecx, &edx) == 0) return;
    const unsigned type = eax & 0x1f, level = (eax >> 5) & 7;
    if (type == 0) return;    // no more caches
    if (type == 2) continue;  // instruction cache
    Cache *cache = level == 1 ? &machine.l1d : level == 2 ? &machine.l2 : level == 3 ? &machine.l3 : nullptr;
    if (cache == nullptr || cache->size_bytes == 0 || cache->inclusive != Inclusion::unknown) continue;
    cache->inclusive = (edx & 2u) != 0 ? Inclusion::yes : Inclusion::no;
  }
}
#else
void add_processor_facts(Machine &) {}
#endif

}  // namespace coll::topo
