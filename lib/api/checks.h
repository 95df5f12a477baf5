// SPDX-License-Identifier: BSD-3-Clause
// Checks of the arguments of collectives, and templates that run a checked call as a blocking, non-blocking or
// persistent collective.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/handles.h"
#include "mem/types.h"

namespace coll::api {

using comm::Call;
using plan::Collective;

// A digest for debug mode, equal on all ranks that make the same call; 0 without debug mode. Lengths that only some
// ranks know are not part of it.
inline uint64_t signature(const coll_comm& comm, Collective collective, size_t bytes, int root, coll_op op,
                          coll_datatype type) {
  if (!comm.comm->compares_calls()) [[likely]]
    return 0;
  uint64_t h = 0xcbf29ce484222325u;
  for (uint64_t part : {uint64_t(collective), uint64_t(bytes), uint64_t(root), uint64_t(op), uint64_t(type)})
    h = (h ^ part) * 0x100000001b3u, h ^= h >> 29;
  return h;
}

// The operation for signature(). The numbers of operations that programs create differ between ranks, and so may the
// factors of a scaled sum.
inline coll_op op_of_signature(coll_op op, const Call& call) {
  return call.scaling != nullptr ? coll_op(COLL_OP_END_ + 1) : std::min(op, coll_op(COLL_OP_END_));
}

// The multiplied input of a scaled sum will be in memory of the library. REQUIRES: the buffers are set.
inline void set_scaled_input(Call& call) {
  if (call.scaling == nullptr) return;
  call.input = call.send;
  call.in_place = false;
}

// Each check returns OK, or a status and sets the error message of the thread.
coll_status check_comm(const coll_comm* comm);
// REQUIRES: check_comm() passed.
coll_status check_root(const coll_comm* comm, int root);
// Also sets element_bytes, to 0 if the datatype is unknown (TYPE). Returns COUNT if `vectors` vectors of `count` elements
// do not fit the address space. REQUIRES: vectors > 0.
coll_status check_vector(size_t count, coll_datatype type, size_t& element_bytes, size_t vectors = 1);
// Returns BUFFER if the buffer is NULL or COLL_IN_PLACE, unless `count` is 0. For a buffer that may not be
// COLL_IN_PLACE in this call. `which` names it in the message: "send", "broadcast".
coll_status check_buffer(const char* which, const void* buffer, size_t count);
// Returns BUFFER if the buffers overlap. REQUIRES: both passed check_buffer().
coll_status check_apart(const void* send, size_t send_bytes, const void* recv, size_t recv_bytes);

// Blocks in one buffer; lengths and offsets in elements, one of each per block.
struct Blocks {
  const char* which;  // "send" or "receive"
  const void* buffer;
  std::span<const size_t> counts, offsets;
};
// Returns COUNT if the blocks do not fit the address space, BUFFER if the buffer is invalid and a block is not empty.
coll_status check_blocks(const Blocks& blocks, size_t element_bytes);
// Returns BUFFER if a block of `a` overlaps a block of `b`. REQUIRES: both passed check_blocks().
coll_status check_apart(const Blocks& a, const Blocks& b, size_t element_bytes);

// Addresses from `first` to before `second`.
using AddressRange = std::pair<uintptr_t, uintptr_t>;
// Whether a range of `a` overlaps one of `b`; in O(n log n). REQUIRES: no range is empty.
bool any_overlap(const std::vector<AddressRange>& a, std::vector<AddressRange> b);

// Runs a blocking collective. make(Call&) checks the arguments and fills the call.
template <typename Make>
coll_status perform(coll_comm* comm, Make make) {
  return guarded([&] {
    Call call;
    coll_status checked = make(call);
    return checked == COLL_OK ? comm->comm->perform(call) : checked;
  });
}

template <typename Make>
coll_status begin(bool persistent, coll_comm* comm, coll_request** request, Make make) {
  if (request == nullptr) return failure(COLL_ERR_ARG, "request is NULL");
  *request = nullptr;
  return guarded([&] {
    Call call;
    coll_status status = make(call);
    if (status != COLL_OK) return status;
    auto made = std::unique_ptr<coll_request>(new coll_request{comm::Request(*comm->comm, call, persistent)});
    if (!persistent) status = comm->comm->start(made->request);
    if (status == COLL_OK) *request = made.release();
    return status;
  });
}

}  // namespace coll::api
