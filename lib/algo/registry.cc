// SPDX-License-Identifier: BSD-3-Clause
#include "algo/registry.h"

#include "algo/families.h"

namespace coll::algo {

std::span<const Algorithm> algorithms() {
  // A new family adds its line here.
  static const std::vector<Algorithm> all = [] {
    std::vector<Algorithm> joined;
    for (auto family : {barrier_family(), bcast_family(), allreduce_family(), reductions_family(), scan_family(),
                        scatter_family(), gather_family(), allgather_family(), alltoall_family()})
      joined.insert(joined.end(), family.begin(), family.end());
    return joined;
  }();
  return all;
}

const Algorithm* find(plan::Collective collective, std::string_view name) {
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.collective == collective && algorithm.name == name) return &algorithm;
  return nullptr;
}

}  // namespace coll::algo
