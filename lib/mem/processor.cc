// SPDX-License-Identifier: BSD-3-Clause
#include "mem/processor.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace coll::mem {

namespace {

// Zen 3, Zen 4, and Xeons with AVX-512. A Zen 4 copies a few kilobytes that another core has just written half as fast
// with `rep movsb`.
constexpr Processor usual = {.rep_movsb_load_min_bytes = (size_t(32) << 10) + 1,
                             .rep_movsb_store_min_bytes = (size_t(16) << 10) + 1,
                             .rep_movsb_no_rfo_min_bytes = Processor::never,
                             .inline_max_bytes_symmetric = 1023,
                             .inline_max_bytes_rooted = 2047};
// Zen 5. For staged data of 16 KiB to 4 MiB, `rep movsb` is 1.1 to 1.25 times as fast as non-temporal stores between
// cores on two L3s, and 1.05 to 1.2 times as fast as vectors on one L3. Payloads of 2 to 4 KiB next to the flag are 1.2
// to 1.7 times as fast as in a new place each time, on two L3s.
constexpr Processor zen5 = {.rep_movsb_load_min_bytes = (size_t(16) << 10) + 1,
                            .rep_movsb_store_min_bytes = size_t(6) << 10,
                            .rep_movsb_no_rfo_min_bytes = size_t(2) << 10,
                            .inline_max_bytes_symmetric = 4096,
                            .inline_max_bytes_rooted = 4096};

// Together they cover every rule and every L2 size that a decision of the library depends on, and the one processor
// family for which small broadcasts are chosen differently.
constexpr Profile all[] = {{"zen3", "AMD EPYC", size_t(512) << 10, usual},
                           {"zen4", "AMD EPYC", size_t(1) << 20, usual},
                           {"zen5", "AMD EPYC", size_t(1) << 20, zen5},
                           {"xeon", "Intel(R) Xeon(R) Processor", size_t(2) << 20, usual},
                           {"neoverse", "Neoverse-N1", size_t(1) << 20, usual}};

// Reads only the environment, because it runs before main(), in every process that loads the library. Returns "" if the
// variable is not set.
std::string_view wish() {
  const char* value = std::getenv("COLL_CPU");
  return value == nullptr ? "" : value;
}

// Null if there is none of that name.
const Profile* find(std::string_view name) {
  const auto* at = std::ranges::find(all, name, &Profile::name);
  return at == std::end(all) ? nullptr : at;
}

#if defined(__x86_64__)
bool is_zen5_or_later() {
  unsigned eax, ebx, ecx, edx;
  if (__get_cpuid(0, &eax, &ebx, &ecx, &edx) == 0 || ebx != signature_AMD_ebx || ecx != signature_AMD_ecx) return false;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return false;
  const unsigned family = (eax >> 8 & 0xf) + (eax >> 20 & 0xff);
  return family >= 0x1a;
}
#else
bool is_zen5_or_later() { return false; }
#endif

}  // namespace

std::span<const Profile> profiles() { return all; }

const Profile* const detail::forced = find(wish());
const Processor detail::running = detail::forced != nullptr ? detail::forced->rules : is_zen5_or_later() ? zen5 : usual;

std::atomic<size_t> detail::rep_movsb_load{detail::running.rep_movsb_load_min_bytes},
    detail::rep_movsb_store{detail::running.rep_movsb_store_min_bytes};

void use_measured_rep_movsb(size_t load_min_bytes, size_t store_min_bytes) {
  if (detail::forced != nullptr) return;
  detail::rep_movsb_load.store(load_min_bytes, std::memory_order_relaxed);
  detail::rep_movsb_store.store(store_min_bytes, std::memory_order_relaxed);
}

std::string forced_profile_error() {
  if (wish().empty() || find(wish()) != nullptr) return "";
  std::string names;
  for (const Profile& profile : all) names += (names.empty() ? "" : ", ") + std::string(profile.name);
  return "COLL_CPU='" + std::string(wish()) + "' is not a known processor; use one of " + names + ", or unset it";
}

void apply_forced_profile(std::string& model, uint64_t& l2_bytes) {
  if (detail::forced == nullptr) return;
  model = detail::forced->model;
  l2_bytes = detail::forced->l2_bytes;
}

}  // namespace coll::mem
