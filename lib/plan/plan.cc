// SPDX-License-Identifier: BSD-3-Clause
#include "plan/plan.h"

namespace coll::plan {

const char* name(Collective collective) {
  switch (collective) {
    case Collective::barrier: return "barrier";
    case Collective::bcast: return "bcast";
    case Collective::reduce: return "reduce";
    case Collective::allreduce: return "allreduce";
    case Collective::scatter: return "scatter";
    case Collective::gather: return "gather";
    case Collective::allgather: return "allgather";
    case Collective::alltoall: return "alltoall";
    case Collective::reduce_scatter: return "reduce_scatter";
    case Collective::scan: return "scan";
    case Collective::exscan: return "exscan";
  }
  return "?";
}

}  // namespace coll::plan
