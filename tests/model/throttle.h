// SPDX-License-Identifier: BSD-3-Clause
// How many processes may copy from one owner concurrently, and with which algorithm a scatter should run (CMA IV-A.3).
#pragma once

#include <algorithm>
#include <cmath>

#include "model/formulas.h"

namespace coll::model {

struct Throttle {
  int k = 1;
  Terms terms;
};

// Returns the k of least ceil(p/k) C(gamma_k), over all k from 1 to p. k never exceeds the cores of one socket: beyond
// them the lock crosses sockets (CMA IV-A.4), which gamma does not include.
inline Throttle best_throttle(const Setting& on, double bytes) {
  const Fingerprint& of = on.table().fingerprint;
  const int most = std::min(on.ranks(), std::max(of.cores / std::max(of.sockets, 1), 1));
  Throttle best;
  for (int k = 1; k <= most; ++k) {
    const Terms terms = scatter_throttled_read(on, bytes, {.k = k});
    if (k == 1 || terms.total_us() < best.terms.total_us()) best = {k, terms};
  }
  return best;
}

// Returns k if ceil(p/k) is approximated by p/k and messages are long: sqrt(s beta / (l a)).
inline double throttle_estimate(const Setting& on) {
  const Access& of = on.access();
  const double page_us = of.page_bytes / bytes_per_us(of.bandwidth_gbs[on.farthest()]);
  return std::sqrt(page_us / (of.page_us * of.gamma.quadratic));
}

}  // namespace coll::model
