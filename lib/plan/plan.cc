// SPDX-License-Identifier: BSD-3-Clause
#include "plan/plan.h"

namespace coll::plan {

const char* name(Collective collective) {
  switch (collective) {
    case Collective::barrier: return "barrier";
    case Collective::bcast: return "bcast";
    case Collective::reduce: return "reduce";
    case Collective::allreduce: return "allreduce";
  }
  return "?";
}

}  // namespace coll::plan
