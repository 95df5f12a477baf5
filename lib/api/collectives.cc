// SPDX-License-Identifier: BSD-3-Clause
// The collectives: each is checked into a Call, which runs at once, in the background, or again and again.
#include "api/handles.h"
#include "comm/operation.h"
#include "mem/types.h"

using coll::failure;
using coll::api::guarded;
using coll::comm::Call;
using coll::comm::Request;
using coll::plan::Collective;

namespace {

uint64_t signature(Collective collective, size_t bytes, int root, coll_op op, coll_datatype type) {
  uint64_t h = 0xcbf29ce484222325u;
  for (uint64_t part : {uint64_t(collective), uint64_t(bytes), uint64_t(root), uint64_t(op), uint64_t(type)})
    h = (h ^ part) * 0x100000001b3u, h ^= h >> 29;
  return h;
}

coll_status check_root(const coll_comm* comm, int root) {
  if (root >= 0 && root < comm->comm->ranks()) return COLL_OK;
  return failure(COLL_ERR_ROOT,
                 "root " + std::to_string(root) + " is not a rank of 0.." + std::to_string(comm->comm->ranks() - 1));
}

coll_status check_comm(const coll_comm* comm) {
  return comm != nullptr ? COLL_OK : failure(COLL_ERR_ARG, "the communicator is NULL");
}

// Bytes of a vector; COUNT when they do not fit the address space.
coll_status check_vector(size_t count, coll_datatype type, size_t& element_bytes) {
  element_bytes = coll::mem::datatype_size(type);
  if (element_bytes == 0) return failure(COLL_ERR_TYPE, "datatype " + std::to_string(type) + " is unknown");
  if (count > size_t(PTRDIFF_MAX) / element_bytes)
    return failure(COLL_ERR_COUNT, std::to_string(count) + " elements of " + std::to_string(element_bytes) +
                                       " bytes exceed the address space");
  return COLL_OK;
}

coll_status check_buffer(const char* which, const void* buffer, size_t count) {
  if (count == 0 || (buffer != nullptr && buffer != COLL_IN_PLACE)) return COLL_OK;
  return failure(COLL_ERR_BUFFER, std::string("the ") + which + " buffer is " +
                                      (buffer == nullptr ? "NULL" : "COLL_IN_PLACE, which is not allowed here"));
}

coll_status check_apart(const void* send, const void* recv, size_t bytes) {
  auto a = uintptr_t(send), b = uintptr_t(recv);
  if (bytes == 0 || a + bytes <= b || b + bytes <= a) return COLL_OK;
  return failure(COLL_ERR_BUFFER, "send and receive buffer overlap; use COLL_IN_PLACE to reduce in place");
}

coll_status make_barrier(coll_comm* comm, Call& call) {
  call.collective = Collective::barrier;
  call.signature = signature(Collective::barrier, 0, 0, 0, 0);
  return check_comm(comm);
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
  call.signature = signature(Collective::bcast, call.count, root, 0, 0);
  return COLL_OK;
}

// Reductions: `everywhere` for allreduce, else to `root`.
coll_status make_reduction(bool everywhere, const void* send, void* recv, size_t count, coll_datatype type, coll_op op,
                           int root, coll_comm* comm, Call& call) {
  coll_status status;
  size_t element_bytes = 0;
  if ((status = check_comm(comm)) != COLL_OK || (!everywhere && (status = check_root(comm, root)) != COLL_OK) ||
      (status = check_vector(count, type, element_bytes)) != COLL_OK ||
      (status = coll::comm::make_reducer(op, type, call.reducer)) != COLL_OK)
    return status;
  bool receives = everywhere || comm->comm->rank() == root;
  if (receives) {
    if ((status = check_buffer("receive", recv, count)) != COLL_OK) return status;
    if (send == COLL_IN_PLACE) send = recv;
    else if ((status = check_buffer("send", send, count)) != COLL_OK ||
             (status = check_apart(send, recv, count * element_bytes)) != COLL_OK)
      return status;
  } else if ((status = check_buffer("send", send, count)) != COLL_OK) {
    return status;
  }
  call.collective = everywhere ? Collective::allreduce : Collective::reduce;
  call.send = send;
  call.recv = receives ? recv : nullptr;
  call.count = count;
  call.element_bytes = element_bytes;
  call.root = everywhere ? 0 : root;
  call.signature = signature(call.collective, count * element_bytes, call.root,
                             op < COLL_OP_END_ ? op : coll_op(COLL_OP_END_), type);
  return COLL_OK;
}

coll_status begin(coll_status checked, bool persistent, const Call& call, coll_comm* comm, coll_request** request) {
  if (request == nullptr) return failure(COLL_ERR_ARG, "request is NULL");
  *request = nullptr;
  if (checked != COLL_OK) return checked;
  return guarded([&] {
    auto made = std::unique_ptr<coll_request>(new coll_request{Request(*comm->comm, call, persistent)});
    coll_status status = persistent ? COLL_OK : comm->comm->start(made->request);
    if (status == COLL_OK) *request = made.release();
    return status;
  });
}

coll_status perform(coll_status checked, const Call& call, coll_comm* comm) {
  if (checked != COLL_OK) [[unlikely]]
    return checked;
  return guarded([&] { return comm->comm->perform(call); });
}

// A request that has completed: freed unless persistent.
coll_status finished(coll_request** request) {
  coll_status status = (*request)->request.status();
  if (!(*request)->request.persistent()) {
    delete *request;
    *request = nullptr;
  }
  return status;
}

}  // namespace

extern "C" {

coll_status coll_barrier(coll_comm* comm) {
  Call call;
  coll_status checked = make_barrier(comm, call);
  return perform(checked, call, comm);
}
coll_status coll_ibarrier(coll_comm* comm, coll_request** request) {
  Call call;
  coll_status checked = make_barrier(comm, call);
  return begin(checked, false, call, comm, request);
}
coll_status coll_barrier_init(coll_comm* comm, coll_request** request) {
  Call call;
  coll_status checked = make_barrier(comm, call);
  return begin(checked, true, call, comm, request);
}

coll_status coll_bcast(void* buffer, size_t count, coll_datatype type, int root, coll_comm* comm) {
  Call call;
  coll_status checked = make_bcast(buffer, count, type, root, comm, call);
  return perform(checked, call, comm);
}
coll_status coll_ibcast(void* buffer, size_t count, coll_datatype type, int root, coll_comm* comm,
                        coll_request** request) {
  Call call;
  coll_status checked = make_bcast(buffer, count, type, root, comm, call);
  return begin(checked, false, call, comm, request);
}
coll_status coll_bcast_init(void* buffer, size_t count, coll_datatype type, int root, coll_comm* comm,
                            coll_request** request) {
  Call call;
  coll_status checked = make_bcast(buffer, count, type, root, comm, call);
  return begin(checked, true, call, comm, request);
}

coll_status coll_reduce(const void* send, void* recv, size_t count, coll_datatype type, coll_op op, int root,
                        coll_comm* comm) {
  Call call;
  coll_status checked = make_reduction(false, send, recv, count, type, op, root, comm, call);
  return perform(checked, call, comm);
}
coll_status coll_ireduce(const void* send, void* recv, size_t count, coll_datatype type, coll_op op, int root,
                         coll_comm* comm, coll_request** request) {
  Call call;
  coll_status checked = make_reduction(false, send, recv, count, type, op, root, comm, call);
  return begin(checked, false, call, comm, request);
}
coll_status coll_reduce_init(const void* send, void* recv, size_t count, coll_datatype type, coll_op op, int root,
                             coll_comm* comm, coll_request** request) {
  Call call;
  coll_status checked = make_reduction(false, send, recv, count, type, op, root, comm, call);
  return begin(checked, true, call, comm, request);
}

coll_status coll_allreduce(const void* send, void* recv, size_t count, coll_datatype type, coll_op op,
                           coll_comm* comm) {
  Call call;
  coll_status checked = make_reduction(true, send, recv, count, type, op, 0, comm, call);
  return perform(checked, call, comm);
}
coll_status coll_iallreduce(const void* send, void* recv, size_t count, coll_datatype type, coll_op op, coll_comm* comm,
                            coll_request** request) {
  Call call;
  coll_status checked = make_reduction(true, send, recv, count, type, op, 0, comm, call);
  return begin(checked, false, call, comm, request);
}
coll_status coll_allreduce_init(const void* send, void* recv, size_t count, coll_datatype type, coll_op op,
                                coll_comm* comm, coll_request** request) {
  Call call;
  coll_status checked = make_reduction(true, send, recv, count, type, op, 0, comm, call);
  return begin(checked, true, call, comm, request);
}

coll_status coll_start(coll_request* request) {
  if (request == nullptr) return failure(COLL_ERR_ARG, "coll_start: request is NULL");
  if (!request->request.persistent())
    return failure(COLL_ERR_STATE, "coll_start: only persistent requests are started");
  return guarded([&] { return request->request.comm().start(request->request); });
}

coll_status coll_test(coll_request** request, int* done) {
  if (request == nullptr || done == nullptr) return failure(COLL_ERR_ARG, "coll_test: request or done is NULL");
  *done = 1;
  if (*request == nullptr) return COLL_OK;
  return guarded([&] {
    bool complete = false;
    coll_status status = (*request)->request.comm().test((*request)->request, complete);
    *done = complete;
    return complete ? finished(request) : status;
  });
}

coll_status coll_wait(coll_request** request) {
  if (request == nullptr) return failure(COLL_ERR_ARG, "coll_wait: request is NULL");
  if (*request == nullptr) return COLL_OK;
  return guarded([&] {
    (*request)->request.comm().wait((*request)->request);
    return finished(request);
  });
}

coll_status coll_request_free(coll_request* request) {
  if (request == nullptr) return COLL_OK;
  if (request->request.active())
    return failure(COLL_ERR_STATE, "coll_request_free: the request is active; wait for it first");
  delete request;
  return COLL_OK;
}

}  // extern "C"
