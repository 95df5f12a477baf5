// SPDX-License-Identifier: BSD-3-Clause
#include "model/table.h"

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

uint64_t available_cache_bytes(const Table& table, int ranks) {
  const Fingerprint& of = table.fingerprint;
  const uint64_t shared = of.l3_bytes * uint64_t(of.l3s), own = of.l2_bytes * uint64_t(ranks);
  return of.l3_inclusive && shared != 0 ? shared : shared + own;
}

}  // namespace coll::model
