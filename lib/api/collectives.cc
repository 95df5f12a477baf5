// SPDX-License-Identifier: BSD-3-Clause
// The collectives on one vector, and requests. Each make_ function checks the arguments and fills a Call.
#include "api/checks.h"
#include "comm/living.h"
#include "comm/operation.h"

#include <coll/shim.h>

using coll::failure;
using namespace coll::api;

namespace {

coll_status make_barrier(coll_comm* comm, Call& call) {
  coll_status status;
  if ((status = check_comm(comm)) != COLL_OK) return status;
  call.collective = Collective::barrier;
  call.signature = signature(*comm, Collective::barrier, 0, 0, 0, 0);
  return COLL_OK;
}

coll_status make_bcast(void* buffer, size_t count, coll_datatype type, int root, coll_comm* comm, Call& call) {
  coll_status status;
  size_t element_bytes = 0;
  if ((status = check_comm(comm)) != COLL_OK || (status = check_root(comm, root)) != COLL_OK ||
      (status = check_vector(count, type, element_bytes)) != COLL_OK ||
      (status = check_buffer("broadcast", buffer, count)) != COLL_OK)
    return status;
  call.collective = Collective::bcast;
  call.send = call.recv = buffer;
  call.count = count * element_bytes;  // a broadcast moves bytes
  call.root = root;
  call.signature = signature(*comm, Collective::bcast, call.count, root, 0, 0);
  return COLL_OK;
}

// For reduce, allreduce, scan and exscan. `root` has a meaning for reduce only.
coll_status make_reduction(Collective collective, const void* send, void* recv, size_t count, coll_datatype type,
                           coll_op op, int root, coll_comm* comm, Call& call) {
  const bool rooted = collective == Collective::reduce;
  coll_status status;
  size_t element_bytes = 0;
  if ((status = check_comm(comm)) != COLL_OK || (rooted && (status = check_root(comm, root)) != COLL_OK) ||
      (status = check_vector(count, type, element_bytes)) != COLL_OK ||
      (status = coll::comm::make_reducer(op, type, call.reducer, call.scaling)) != COLL_OK)
    return status;
  const int rank = comm->comm->rank();
  const bool has_result = rooted ? rank == root : collective != Collective::exscan || rank != 0;
  const bool in_place = send == COLL_IN_PLACE && (has_result || collective == Collective::exscan);
  if (in_place) {
    if ((status = check_buffer("receive", recv, count)) != COLL_OK) return status;
    send = recv;
  } else if ((status = check_buffer("send", send, count)) != COLL_OK ||
             (has_result &&
              ((status = check_buffer("receive", recv, count)) != COLL_OK ||
               (status = check_apart(send, count * element_bytes, recv, count * element_bytes)) != COLL_OK))) {
    return status;
  }
  call.collective = collective;
  call.send = send;
  call.recv = has_result ? recv : nullptr;
  call.count = count;
  call.element_bytes = element_bytes;
  call.root = root;
  set_scaled_input(call);
  call.signature = signature(*comm, collective, count * element_bytes, root, op_of_signature(op, call), type);
  return COLL_OK;
}

// Ends a call on a request that is no longer active: frees the request unless it is persistent, and returns `status`.
coll_status finished(coll_request** request, coll_status status) {
  if ((*request)->request.persistent()) {
    (*request)->request.let_go();
  } else {
    delete *request;
    *request = nullptr;
  }
  return status;
}

}  // namespace

extern "C" {

coll_status coll_barrier(coll_comm* comm) {
  return perform(comm, [&](Call& call) { return make_barrier(comm, call); });
}
coll_status coll_ibarrier(coll_comm* comm, coll_request** request) {
  return begin(false, comm, request, [&](Call& call) { return make_barrier(comm, call); });
}
coll_status coll_barrier_init(coll_comm* comm, coll_request** request) {
  return begin(true, comm, request, [&](Call& call) { return make_barrier(comm, call); });
}

coll_status coll_bcast(void* buffer, size_t count, coll_datatype type, int root, coll_comm* comm) {
  return perform(comm, [&](Call& call) { return make_bcast(buffer, count, type, root, comm, call); });
}
coll_status coll_ibcast(void* buffer, size_t count, coll_datatype type, int root, coll_comm* comm,
                        coll_request** request) {
  return begin(false, comm, request, [&](Call& call) { return make_bcast(buffer, count, type, root, comm, call); });
}
coll_status coll_bcast_init(void* buffer, size_t count, coll_datatype type, int root, coll_comm* comm,
                            coll_request** request) {
  return begin(true, comm, request, [&](Call& call) { return make_bcast(buffer, count, type, root, comm, call); });
}

coll_status coll_reduce(const void* send, void* recv, size_t count, coll_datatype type, coll_op op, int root,
                        coll_comm* comm) {
  return perform(comm, [&](Call& call) {
    return make_reduction(Collective::reduce, send, recv, count, type, op, root, comm, call);
  });
}
coll_status coll_ireduce(const void* send, void* recv, size_t count, coll_datatype type, coll_op op, int root,
                         coll_comm* comm, coll_request** request) {
  return begin(false, comm, request, [&](Call& call) {
    return make_reduction(Collective::reduce, send, recv, count, type, op, root, comm, call);
  });
}
coll_status coll_reduce_init(const void* send, void* recv, size_t count, coll_datatype type, coll_op op, int root,
                             coll_comm* comm, coll_request** request) {
  return begin(true, comm, request, [&](Call& call) {
    return make_reduction(Collective::reduce, send, recv, count, type, op, root, comm, call);
  });
}

coll_status coll_allreduce(const void* send, void* recv, size_t count, coll_datatype type, coll_op op,
                           coll_comm* comm) {
  return perform(comm, [&](Call& call) {
    return make_reduction(Collective::allreduce, send, recv, count, type, op, 0, comm, call);
  });
}
coll_status coll_iallreduce(const void* send, void* recv, size_t count, coll_datatype type, coll_op op, coll_comm* comm,
                            coll_request** request) {
  return begin(false, comm, request, [&](Call& call) {
    return make_reduction(Collective::allreduce, send, recv, count, type, op, 0, comm, call);
  });
}
coll_status coll_allreduce_init(const void* send, void* recv, size_t count, coll_datatype type, coll_op op,
                                coll_comm* comm, coll_request** request) {
  return begin(true, comm, request, [&](Call& call) {
    return make_reduction(Collective::allreduce, send, recv, count, type, op, 0, comm, call);
  });
}

coll_status coll_scan(const void* send, void* recv, size_t count, coll_datatype type, coll_op op, coll_comm* comm) {
  return perform(
      comm, [&](Call& call) { return make_reduction(Collective::scan, send, recv, count, type, op, 0, comm, call); });
}
coll_status coll_iscan(const void* send, void* recv, size_t count, coll_datatype type, coll_op op, coll_comm* comm,
                       coll_request** request) {
  return begin(false, comm, request, [&](Call& call) {
    return make_reduction(Collective::scan, send, recv, count, type, op, 0, comm, call);
  });
}
coll_status coll_scan_init(const void* send, void* recv, size_t count, coll_datatype type, coll_op op, coll_comm* comm,
                           coll_request** request) {
  return begin(true, comm, request, [&](Call& call) {
    return make_reduction(Collective::scan, send, recv, count, type, op, 0, comm, call);
  });
}

coll_status coll_exscan(const void* send, void* recv, size_t count, coll_datatype type, coll_op op, coll_comm* comm) {
  return perform(
      comm, [&](Call& call) { return make_reduction(Collective::exscan, send, recv, count, type, op, 0, comm, call); });
}
coll_status coll_iexscan(const void* send, void* recv, size_t count, coll_datatype type, coll_op op, coll_comm* comm,
                         coll_request** request) {
  return begin(false, comm, request, [&](Call& call) {
    return make_reduction(Collective::exscan, send, recv, count, type, op, 0, comm, call);
  });
}
coll_status coll_exscan_init(const void* send, void* recv, size_t count, coll_datatype type, coll_op op,
                             coll_comm* comm, coll_request** request) {
  return begin(true, comm, request, [&](Call& call) {
    return make_reduction(Collective::exscan, send, recv, count, type, op, 0, comm, call);
  });
}

coll_status coll_start(coll_request* request) {
  if (request == nullptr) return failure(COLL_ERR_ARG, "coll_start: request is NULL");
  if (!request->request.persistent())
    return failure(
        COLL_ERR_STATE,
        "coll_start: the request is not persistent; only requests made by a coll_..._init() function can be started");
  return guarded([&] {
    const auto comm = request->request.comm();
    return comm != nullptr ? comm->start(request->request) : failure(COLL_ERR_STATE, coll::freed_text);
  });
}

coll_status coll_test(coll_request** request, int* done) {
  if (request == nullptr || done == nullptr) return failure(COLL_ERR_ARG, "coll_test: request or done is NULL");
  *done = *request == nullptr;
  if (*done) return COLL_OK;
  return guarded([&] {
    auto& it = (*request)->request;
    bool complete = !it.active();
    const coll_status status = complete ? it.result() : it.comm()->test(it, complete);
    *done = complete;
    return complete ? finished(request, status) : status;
  });
}

coll_status coll_wait(coll_request** request) {
  if (request == nullptr) return failure(COLL_ERR_ARG, "coll_wait: request is NULL");
  if (*request == nullptr) return COLL_OK;
  return guarded([&] {
    auto& it = (*request)->request;
    return finished(request, it.active() ? it.comm()->wait(it) : it.result());
  });
}

coll_status coll_progress(void) {
  return guarded([] {
    coll::comm::progress_living();
    return COLL_OK;
  });
}

void coll_progress_moved(void) { coll::exec::others_moved = true; }

int coll_progress_moves(void) {
  bool moved = false;
  guarded([&] {
    moved = coll::comm::progress_living();
    return COLL_OK;
  });
  return moved ? 1 : 0;
}

coll_status coll_request_free(coll_request* request) {
  if (request == nullptr) return COLL_OK;
  if (request->request.active())
    return failure(COLL_ERR_STATE, "coll_request_free: the request is active; wait for it first");
  delete request;
  return COLL_OK;
}

}  // extern "C"
