// SPDX-License-Identifier: BSD-3-Clause
// Data access volume of reductions (YHCCL Tables 1 to 3, SAS; "fused" is this project's): bytes loaded and stored by all
// ranks together, in multiples of the vector. p ranks, m sockets, branching degree k. REQUIRES: p >= 2.
#pragma once

namespace coll::model::volume {

struct Volume {
  // Negative where the algorithm does not make that collective.
  double reduce_scatter, allreduce, reduce;
};

Volume ring(int p);
// Recursive halving and doubling; the text's last term is printed 1/log p and is 1/p.
Volume rabenseifner(int p);
Volume dpml(int p);
Volume rg(int p, int k);
Volume movement_avoiding(int p);
Volume movement_avoiding_socket(int p, int m);
Volume mapped_partitioned(int p);  // SAS
Volume fused(int p);

}  // namespace coll::model::volume
