// SPDX-License-Identifier: BSD-3-Clause
#include "model/throttle.h"

#include <algorithm>
#include <cmath>

namespace coll::model {

Throttle best_throttle(const Setting& on, double bytes) {
  const Fingerprint& of = on.table().fingerprint;
  const int most = std::min(on.ranks(), std::max(of.cores / std::max(of.sockets, 1), 1));
  Throttle best;
  for (int k = 1; k <= most; ++k) {
    const Terms terms = scatter_throttled_read(on, bytes, {.k = k});
    if (k == 1 || terms.total_us() < best.terms.total_us()) best = {k, terms};
  }
  return best;
}

double throttle_estimate(const Setting& on) {
  const Access& of = on.access();
  const double page_us = of.page_bytes / bytes_per_us(of.bandwidth_gbs[on.far()]);
  return std::sqrt(page_us / (of.page_us * of.gamma.quadratic));
}

}  // namespace coll::model
