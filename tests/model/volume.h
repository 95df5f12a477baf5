// SPDX-License-Identifier: BSD-3-Clause
// Data access volume of reductions (YHCCL Tables 1 to 3, SAS; "fused" is this project's): bytes loaded and stored by all
// ranks together, in multiples of the vector. p ranks, m sockets, branching degree k. REQUIRES: p >= 2.
#pragma once

namespace coll::model::volume {

struct Volume {
  // Negative if the algorithm does not implement the collective.
  double reduce_scatter, allreduce, reduce;
};

inline Volume ring(int p) { return {5.0 * (p - 1), 7.0 * (p - 1), -1}; }

// Recursive halving and doubling; the paper prints its last term as 1/log p, but it is 1/p.
inline Volume rabenseifner(int p) {
  double halves = 0;
  for (double part = 0.5; part >= 1.0 / p; part /= 2) halves += part;
  return {5 * p * halves, 7 * p * halves, -1};
}

inline Volume dpml(int p) { return {5.0 * p - 1, 7.0 * p - 1, 5.0 * p + 1}; }

inline Volume rg(int p, int k) {
  // 5k/(k+1) for the first level, 3k/(k+1)^i for the later ones, down to one group.
  double sum = 0, factor = 5, groups = 1;
  while (groups < p) {
    groups *= k + 1;
    sum += factor * k / (groups < p ? groups : p);
    factor = 3;
  }
  return {-1, p * (sum + 2), p * sum};
}

inline Volume movement_avoiding(int p) { return {3.0 * p - 1, 5.0 * p - 1, 3.0 * p + 1}; }

inline Volume movement_avoiding_socket(int p, int m) {
  return {3.0 * p + 2 * m - 3, 5.0 * p + 2 * m - 3, 3.0 * p + 2 * m - 1};
}

// SAS.
inline Volume mapped_partitioned(int p) { return {-1, 5.0 * (p - 1), -1}; }

inline Volume fused(int p) { return {p + 1.0, 3.0 * p - 1, p + 1.0}; }

}  // namespace coll::model::volume
