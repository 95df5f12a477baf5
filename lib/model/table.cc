// SPDX-License-Identifier: BSD-3-Clause
#include "model/table.h"

#include <cmath>

namespace coll::model {

const char* name(Mechanism mechanism) {
  switch (mechanism) {
    case Mechanism::cma: return "cma";
    case Mechanism::kcoll_first_touch: return "kcoll_first_touch";
    case Mechanism::kcoll_pinned: return "kcoll_pinned";
    case Mechanism::mapped: return "mapped";
    case Mechanism::shared_memory: return "shared_memory";
  }
  return "?";
}

CacheRates rates_at(const Table& table, double bytes) {
  const std::vector<CacheRates>& of = table.caches;
  size_t above = 0;
  while (above < of.size() && of[above].bytes < bytes) ++above;
  if (above == 0) return of.front();
  if (above == of.size()) return of.back();
  const CacheRates &low = of[above - 1], &high = of[above];
  const double share = std::log(bytes / low.bytes) / std::log(high.bytes / low.bytes);
  // Times per byte are interpolated, not rates.
  const auto between = [&](double CacheRates::*rate) {
    return low.*rate <= 0 || high.*rate <= 0 ? 0 : 1 / ((1 - share) / (low.*rate) + share / (high.*rate));
  };
  return {bytes,
          between(&CacheRates::load_gbs),
          between(&CacheRates::store_gbs),
          between(&CacheRates::fetch_gbs),
          between(&CacheRates::take_gbs),
          between(&CacheRates::combine_gbs),
          between(&CacheRates::combine_fetch_gbs),
          between(&CacheRates::kernel_gbs)};
}

double take_gbs(const Table& table, double bytes) {
  // Consecutive calls use consecutive slots, so a rank stores to the same lines again after this many bytes.
  constexpr double slots_in_turn_bytes = 1 << 20;
  if (bytes < short_store_bytes && table.short_take_gbs > 0) return table.short_take_gbs;
  return rates_at(table, slots_in_turn_bytes).take_gbs;
}

uint64_t available_cache_bytes(const Table& table, int ranks) {
  const Fingerprint& of = table.fingerprint;
  const uint64_t shared = of.l3_bytes * uint64_t(of.l3s), own = of.l2_bytes * uint64_t(ranks);
  return of.l3_inclusive && shared != 0 ? shared : shared + own;
}

}  // namespace coll::model
