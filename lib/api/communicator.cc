// SPDX-License-Identifier: BSD-3-Clause
#include "api/handles.h"
#include "coll/shim.h"
#include "comm/spares.h"

using coll::failure;
using coll::api::guarded;
using coll::comm::Comm;

namespace {

// Checks the bootstrap and creates the handle. make(rank, ranks, exchange, status) returns the communicator, or null
// and sets `status`.
template <typename Make>
coll_status create(const coll_bootstrap* bootstrap, coll_comm** comm, Make make) {
  if (comm == nullptr) return failure(COLL_ERR_ARG, "coll_comm_create: comm is NULL");
  *comm = nullptr;
  if (bootstrap == nullptr || bootstrap->size_bytes < sizeof(coll_bootstrap) || bootstrap->allgather == nullptr)
    return failure(COLL_ERR_ARG,
                   "coll_comm_create: bootstrap must set size_bytes to sizeof(coll_bootstrap) and name an allgather");
  if (bootstrap->ranks < 1 || bootstrap->rank < 0 || bootstrap->rank >= bootstrap->ranks)
    return failure(COLL_ERR_ARG, "coll_comm_create: rank " + std::to_string(bootstrap->rank) + " of " +
                                     std::to_string(bootstrap->ranks) + " ranks");
  return guarded([&] {
    coll_status status = COLL_OK;
    auto exchange = [&](const void* send, void* recv, size_t bytes) {
      return bootstrap->allgather(send, recv, bytes, bootstrap->context) == 0;
    };
    std::shared_ptr<Comm> made = make(bootstrap->rank, bootstrap->ranks, exchange, status);
    if (made != nullptr) *comm = new coll_comm{std::move(made)};
    return status;
  });
}

}  // namespace

extern "C" {

const char* coll_strerror(coll_status status) { return coll::status_text(status); }
const char* coll_last_error(void) { return coll::last_error(); }
const char* coll_version(void) { return COLL_VERSION_STRING; }

coll_status coll_comm_create(const coll_bootstrap* bootstrap, coll_comm** comm) {
  return create(bootstrap, comm, [](int rank, int ranks, const coll::comm::Exchange& exchange, coll_status& status) {
    return std::shared_ptr<Comm>(Comm::create(rank, ranks, exchange, false, status));
  });
}

coll_status coll_comm_create_or_reuse(const coll_bootstrap* bootstrap, coll_comm** comm) {
  return create(bootstrap, comm, Comm::create_or_reuse);
}

void coll_comm_keep(coll_comm* comm) {
  if (comm == nullptr) return;
  try {
    if (!coll::comm::keep_spare(comm->comm)) comm->comm->detach();
  } catch (const std::bad_alloc&) { comm->comm->detach(); }
  delete comm;
}

void coll_comm_free_kept(void) { coll::comm::drop_spares(); }

coll_status coll_comm_split(coll_comm* comm, int colour, int key, coll_comm** out) {
  if (comm == nullptr || out == nullptr) return failure(COLL_ERR_ARG, "coll_comm_split: comm or out is NULL");
  *out = nullptr;
  return guarded([&] {
    std::unique_ptr<Comm> made;
    coll_status status = comm->comm->split(colour, key, made);
    if (made != nullptr) made->claim = comm->comm->claim;
    if (made != nullptr) *out = new coll_comm{std::move(made)};
    return status;
  });
}

coll_status coll_comm_free(coll_comm* comm) {
  if (comm == nullptr) return COLL_OK;
  comm->comm->detach();
  delete comm;
  return COLL_OK;
}

coll_status coll_comm_abort(coll_comm* comm, coll_status status) {
  if (comm == nullptr) return failure(COLL_ERR_ARG, "coll_comm_abort: comm is NULL");
  if (status <= COLL_OK || status > COLL_ERR_ABORTED)
    return failure(COLL_ERR_ARG, "coll_comm_abort: " + std::to_string(int(status)) +
                                     " is not an error; pass a status other than COLL_OK, such as COLL_ERR_ABORTED");
  return comm->comm->abort(status);
}

coll_status coll_comm_set_progress(coll_comm* comm, void (*progress)(void* context), void* context) {
  if (comm == nullptr) return failure(COLL_ERR_ARG, "coll_comm_set_progress: comm is NULL");
  comm->comm->set_progress(progress, context);
  return COLL_OK;
}

int coll_comm_rank(const coll_comm* comm) { return comm == nullptr ? -1 : comm->comm->rank(); }
int coll_comm_size(const coll_comm* comm) { return comm == nullptr ? -1 : comm->comm->ranks(); }
const char* coll_comm_describe(const coll_comm* comm) {
  return comm == nullptr ? "" : comm->comm->description().c_str();
}

}  // extern "C"
