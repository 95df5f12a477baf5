// SPDX-License-Identifier: BSD-3-Clause
// How many processes may copy from one owner at once, and by which way a scatter should go (CMA IV-A.3).
#pragma once

#include "model/formulas.h"

namespace coll::model {

struct Throttle {
  int k = 1;
  Terms terms;
};

// The k of least ceil(p/k) C(gamma_k), from all of 1 ... p, with whole steps. More than the cores of one socket never
// share an owner: beyond them the lock crosses sockets (CMA IV-A.4), which gamma does not tell.
Throttle best_throttle(const Setting& on, double bytes);

// k where ceil(p/k) is taken as p/k and messages are long: sqrt(s beta / (l a)).
double throttle_estimate(const Setting& on);

}  // namespace coll::model
