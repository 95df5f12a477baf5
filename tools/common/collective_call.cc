// SPDX-License-Identifier: BSD-3-Clause
#include "tools/common/collective_call.h"

namespace coll::tools {

using plan::Collective;

coll_status perform(const CollectiveCall& of, coll_comm* comm) {
  switch (of.collective) {
    case Collective::barrier: return coll_barrier(comm);
    case Collective::bcast: return coll_bcast(of.out, of.count, of.type, of.root, comm);
    case Collective::reduce: return coll_reduce(of.in, of.out, of.count, of.type, of.op, of.root, comm);
    case Collective::allreduce: return coll_allreduce(of.in, of.out, of.count, of.type, of.op, comm);
    case Collective::scatter: return coll_scatter(of.in, of.out, of.count, of.type, of.root, comm);
    case Collective::gather: return coll_gather(of.in, of.out, of.count, of.type, of.root, comm);
    case Collective::allgather: return coll_allgather(of.in, of.out, of.count, of.type, comm);
    case Collective::alltoall: return coll_alltoall(of.in, of.out, of.count, of.type, comm);
    case Collective::reduce_scatter: return coll_reduce_scatter_block(of.in, of.out, of.count, of.type, of.op, comm);
    case Collective::scan: return coll_scan(of.in, of.out, of.count, of.type, of.op, comm);
    case Collective::exscan: return coll_exscan(of.in, of.out, of.count, of.type, of.op, comm);
  }
  return COLL_ERR_ARG;
}

}  // namespace coll::tools
