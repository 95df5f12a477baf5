// SPDX-License-Identifier: BSD-3-Clause
// The collectives on blocks: scatter, gather, allgather, alltoall and reduce-scatter. Each has a regular form with
// blocks of equal length, and a v-variant.
#include <utility>

#include "api/checks.h"
#include "comm/operation.h"

using coll::failure;
using namespace coll::api;
using coll::comm::Pieces;
using coll::plan::Buffer;
using coll::plan::has_blocks;
using By = coll::plan::Shape::By;

namespace {

char* at(const void* buffer, size_t bytes) { return static_cast<char*>(const_cast<void*>(buffer)) + bytes; }

// Which buffers this rank has, and whether the call is in place for it.
struct Roles {
  bool sends, receives, in_place;
};
Roles roles_of(Collective collective, const void* send, const void* recv, bool is_root) {
  const bool sends = collective != Collective::scatter || is_root,
             receives = collective != Collective::gather || is_root;
  return {sends, receives, sends && receives && (collective == Collective::scatter ? recv : send) == COLL_IN_PLACE};
}

coll_status check_who(Collective collective, int root, const coll_comm* comm) {
  coll_status status = check_comm(comm);
  return status == COLL_OK && coll::plan::is_rooted(collective) ? check_root(comm, root) : status;
}

// Sets the reduction and the element size of a reduce-scatter. The other collectives move bytes.
coll_status set_elements(Collective collective, size_t element_bytes, coll_datatype type, coll_op op, Call& call) {
  if (collective != Collective::reduce_scatter) return COLL_OK;
  call.element_bytes = element_bytes;
  return coll::comm::make_reducer(op, type, call.reducer, call.scaling);
}

// In place, the input of an alltoall or a reduce-scatter is in recv. For the other collectives this rank's own block is
// in its buffer of blocks.
void set_buffers(Collective collective, const void* send, void* recv, const Roles& roles, size_t own_block_bytes,
                 Call& call) {
  call.send = roles.sends ? send : nullptr;
  call.recv = roles.receives ? recv : nullptr;
  if (!roles.in_place) return;
  call.in_place = true;
  if (collective == Collective::scatter) call.recv = at(send, own_block_bytes);
  else if (collective == Collective::gather || collective == Collective::allgather)
    call.send = at(recv, own_block_bytes);
  else call.send = recv;
}

coll_status make_regular(Collective collective, const void* send, void* recv, size_t count, coll_datatype type,
                         coll_op op, int root, coll_comm* comm, Call& call) {
  coll_status status = check_who(collective, root, comm);
  if (status != COLL_OK) return status;
  const size_t ranks = size_t(comm->comm->ranks()), rank = size_t(comm->comm->rank());
  size_t element_bytes = 0;
  if ((status = check_vector(count, type, element_bytes, ranks)) != COLL_OK ||
      (status = set_elements(collective, element_bytes, type, op, call)) != COLL_OK)
    return status;
  const size_t bytes = count * element_bytes;
  const size_t send_bytes = has_blocks(collective, Buffer::send) ? ranks * bytes : bytes;
  const size_t recv_bytes = has_blocks(collective, Buffer::recv) ? ranks * bytes : bytes;
  const Roles roles = roles_of(collective, send, recv, rank == size_t(root));
  const bool reads = roles.sends && (!roles.in_place || collective == Collective::scatter);
  const bool writes = roles.receives && (!roles.in_place || collective != Collective::scatter);
  if ((reads && (status = check_buffer("send", send, count)) != COLL_OK) ||
      (writes && (status = check_buffer("receive", recv, count)) != COLL_OK) ||
      (reads && writes && (status = check_apart(send, send_bytes, recv, recv_bytes)) != COLL_OK))
    return status;
  call.collective = collective;
  call.count = bytes / call.element_bytes;
  call.root = root;
  set_buffers(collective, send, recv, roles, rank * bytes, call);
  set_scaled_input(call);
  const bool reduces = collective == Collective::reduce_scatter;
  call.signature = signature(*comm, collective, bytes, root, op_of_signature(op, call), reduces ? type : 0);
  return COLL_OK;
}

// ---- v-variants -------------------------------------------------------------------------------------------------

// A buffer as the caller describes it: counts[r] elements at displs[r] for each rank r, or one block of `count`.
struct Side {
  const char* which;
  const void* buffer;
  const size_t *counts, *displs;
  size_t count;
};

// The same as vectors with one entry per block of the buffer.
struct Described {
  std::vector<size_t> counts, offsets;
  Blocks blocks(const Side& side) const { return {side.which, side.buffer, counts, offsets}; }
};

coll_status describe(const Side& side, bool blocks, size_t ranks, Described& described) {
  if (!blocks) {
    described = {{side.count}, {0}};
    return COLL_OK;
  }
  if (side.counts == nullptr)
    return failure(COLL_ERR_ARG,
                   std::string("the counts of the ") + side.which + " buffer are NULL; pass one count per rank");
  described.counts.assign(side.counts, side.counts + ranks);
  if (side.displs != nullptr) {
    described.offsets.assign(side.displs, side.displs + ranks);
  } else {
    described.offsets.resize(ranks);
    for (size_t r = 1; r < ranks; r++) described.offsets[r] = described.offsets[r - 1] + described.counts[r - 1];
  }
  return COLL_OK;
}

By by_of(Collective collective) {
  if (collective == Collective::alltoall) return By::own;
  return collective == Collective::gather || collective == Collective::allgather ? By::sender : By::receiver;
}

coll_status make_irregular(Collective collective, Side send, Side recv, coll_datatype type, coll_op op, int root,
                           coll_comm* comm, Call& call) {
  coll_status status = check_who(collective, root, comm);
  size_t element_bytes = 0;
  if (status != COLL_OK || (status = check_vector(0, type, element_bytes)) != COLL_OK ||
      (status = set_elements(collective, element_bytes, type, op, call)) != COLL_OK)
    return status;
  const size_t ranks = size_t(comm->comm->ranks()), rank = size_t(comm->comm->rank());
  const bool send_blocks = has_blocks(collective, Buffer::send), recv_blocks = has_blocks(collective, Buffer::recv);
  const Roles roles = roles_of(collective, send.buffer, recv.buffer, rank == size_t(root));
  if (roles.in_place && collective == Collective::alltoall) send.counts = recv.counts, send.displs = nullptr;
  Described from, to;
  if ((roles.sends && (status = describe(send, send_blocks, ranks, from)) != COLL_OK) ||
      (roles.receives && (status = describe(recv, recv_blocks, ranks, to)) != COLL_OK))
    return status;

  // A rank with both buffers describes its own block twice, unless the call is in place.
  if (roles.sends && roles.receives) {
    size_t &sent = from.counts[send_blocks ? rank : 0], &received = to.counts[recv_blocks ? rank : 0];
    if (collective == Collective::reduce_scatter || (roles.in_place && send_blocks)) received = sent;
    else if (roles.in_place) sent = received;
    else if (sent != received)
      return failure(COLL_ERR_COUNT, "this rank sends " + std::to_string(sent) + " elements to itself and receives " +
                                         std::to_string(received) + "; make them equal");
  }
  const bool reads = roles.sends && (!roles.in_place || collective == Collective::scatter);
  const bool writes = roles.receives && (!roles.in_place || collective != Collective::scatter);
  // An in-place reduce-scatter has its whole input in recv.
  const bool whole_input = roles.in_place && collective == Collective::reduce_scatter;
  if (whole_input) send.buffer = recv.buffer, send.which = recv.which;
  if (((reads || whole_input) && (status = check_blocks(from.blocks(send), element_bytes)) != COLL_OK) ||
      (writes && (status = check_blocks(to.blocks(recv), element_bytes)) != COLL_OK) ||
      (reads && writes && (status = check_apart(from.blocks(send), to.blocks(recv), element_bytes)) != COLL_OK))
    return status;

  call.collective = collective;
  call.root = root;
  const Described& with_blocks = send_blocks && roles.sends ? from : to;
  const bool has_all = (send_blocks && roles.sends) || (recv_blocks && roles.receives);
  set_buffers(collective, send.buffer, const_cast<void*>(recv.buffer), roles,
              has_all ? with_blocks.offsets[rank] * element_bytes : 0, call);
  set_scaled_input(call);

  Pieces pieces{.by = by_of(collective)};
  const size_t unit = element_bytes / call.element_bytes;  // collectives that move bytes count bytes; 1 for a reduction
  const auto scaled = [unit](std::vector<size_t> elements) {
    for (size_t& n : elements) n *= unit;
    return elements;
  };
  if (has_all) {
    pieces.counts = scaled(with_blocks.counts);
  } else {
    pieces.counts.resize(ranks);  // this rank does not know the lengths of the other blocks
    pieces.counts[rank] = (roles.sends ? from : to).counts[0] * unit;
  }
  if (collective == Collective::alltoall) pieces.received = scaled(to.counts);
  if (send_blocks && roles.sends) pieces.send_offsets = scaled(std::move(from.offsets));
  if (recv_blocks && roles.receives) pieces.recv_offsets = scaled(std::move(to.offsets));
  const bool reduces = collective == Collective::reduce_scatter, known = reduces || collective == Collective::allgather;
  call.signature = signature(*comm, collective, known ? pieces.digest() : SIZE_MAX, root, op_of_signature(op, call),
                             reduces ? type : 0);
  call.pieces = std::make_shared<const Pieces>(std::move(pieces));
  return COLL_OK;
}

}  // namespace

extern "C" {

coll_status coll_scatter(const void* send, void* recv, size_t count, coll_datatype type, int root, coll_comm* comm) {
  return perform(comm, [&](Call& call) {
    return make_regular(Collective::scatter, send, recv, count, type, 0, root, comm, call);
  });
}
coll_status coll_iscatter(const void* send, void* recv, size_t count, coll_datatype type, int root, coll_comm* comm,
                          coll_request** request) {
  return begin(false, comm, request, [&](Call& call) {
    return make_regular(Collective::scatter, send, recv, count, type, 0, root, comm, call);
  });
}
coll_status coll_scatter_init(const void* send, void* recv, size_t count, coll_datatype type, int root, coll_comm* comm,
                              coll_request** request) {
  return begin(true, comm, request, [&](Call& call) {
    return make_regular(Collective::scatter, send, recv, count, type, 0, root, comm, call);
  });
}

coll_status coll_gather(const void* send, void* recv, size_t count, coll_datatype type, int root, coll_comm* comm) {
  return perform(
      comm, [&](Call& call) { return make_regular(Collective::gather, send, recv, count, type, 0, root, comm, call); });
}
coll_status coll_igather(const void* send, void* recv, size_t count, coll_datatype type, int root, coll_comm* comm,
                         coll_request** request) {
  return begin(false, comm, request, [&](Call& call) {
    return make_regular(Collective::gather, send, recv, count, type, 0, root, comm, call);
  });
}
coll_status coll_gather_init(const void* send, void* recv, size_t count, coll_datatype type, int root, coll_comm* comm,
                             coll_request** request) {
  return begin(true, comm, request, [&](Call& call) {
    return make_regular(Collective::gather, send, recv, count, type, 0, root, comm, call);
  });
}

coll_status coll_allgather(const void* send, void* recv, size_t count, coll_datatype type, coll_comm* comm) {
  return perform(
      comm, [&](Call& call) { return make_regular(Collective::allgather, send, recv, count, type, 0, 0, comm, call); });
}
coll_status coll_iallgather(const void* send, void* recv, size_t count, coll_datatype type, coll_comm* comm,
                            coll_request** request) {
  return begin(false, comm, request, [&](Call& call) {
    return make_regular(Collective::allgather, send, recv, count, type, 0, 0, comm, call);
  });
}
coll_status coll_allgather_init(const void* send, void* recv, size_t count, coll_datatype type, coll_comm* comm,
                                coll_request** request) {
  return begin(true, comm, request, [&](Call& call) {
    return make_regular(Collective::allgather, send, recv, count, type, 0, 0, comm, call);
  });
}

coll_status coll_alltoall(const void* send, void* recv, size_t count, coll_datatype type, coll_comm* comm) {
  return perform(
      comm, [&](Call& call) { return make_regular(Collective::alltoall, send, recv, count, type, 0, 0, comm, call); });
}
coll_status coll_ialltoall(const void* send, void* recv, size_t count, coll_datatype type, coll_comm* comm,
                           coll_request** request) {
  return begin(false, comm, request, [&](Call& call) {
    return make_regular(Collective::alltoall, send, recv, count, type, 0, 0, comm, call);
  });
}
coll_status coll_alltoall_init(const void* send, void* recv, size_t count, coll_datatype type, coll_comm* comm,
                               coll_request** request) {
  return begin(true, comm, request, [&](Call& call) {
    return make_regular(Collective::alltoall, send, recv, count, type, 0, 0, comm, call);
  });
}

coll_status coll_reduce_scatter_block(const void* send, void* recv, size_t count, coll_datatype type, coll_op op,
                                      coll_comm* comm) {
  return perform(comm, [&](Call& call) {
    return make_regular(Collective::reduce_scatter, send, recv, count, type, op, 0, comm, call);
  });
}
coll_status coll_ireduce_scatter_block(const void* send, void* recv, size_t count, coll_datatype type, coll_op op,
                                       coll_comm* comm, coll_request** request) {
  return begin(false, comm, request, [&](Call& call) {
    return make_regular(Collective::reduce_scatter, send, recv, count, type, op, 0, comm, call);
  });
}
coll_status coll_reduce_scatter_block_init(const void* send, void* recv, size_t count, coll_datatype type, coll_op op,
                                           coll_comm* comm, coll_request** request) {
  return begin(true, comm, request, [&](Call& call) {
    return make_regular(Collective::reduce_scatter, send, recv, count, type, op, 0, comm, call);
  });
}

coll_status coll_scatterv(const void* send, const size_t* counts, const size_t* displs, void* recv, size_t count,
                          coll_datatype type, int root, coll_comm* comm) {
  return perform(comm, [&](Call& call) {
    return make_irregular(Collective::scatter, {"send", send, counts, displs, 0},
                          {"receive", recv, nullptr, nullptr, count}, type, 0, root, comm, call);
  });
}
coll_status coll_iscatterv(const void* send, const size_t* counts, const size_t* displs, void* recv, size_t count,
                           coll_datatype type, int root, coll_comm* comm, coll_request** request) {
  return begin(false, comm, request, [&](Call& call) {
    return make_irregular(Collective::scatter, {"send", send, counts, displs, 0},
                          {"receive", recv, nullptr, nullptr, count}, type, 0, root, comm, call);
  });
}
coll_status coll_scatterv_init(const void* send, const size_t* counts, const size_t* displs, void* recv, size_t count,
                               coll_datatype type, int root, coll_comm* comm, coll_request** request) {
  return begin(true, comm, request, [&](Call& call) {
    return make_irregular(Collective::scatter, {"send", send, counts, displs, 0},
                          {"receive", recv, nullptr, nullptr, count}, type, 0, root, comm, call);
  });
}

coll_status coll_gatherv(const void* send, size_t count, void* recv, const size_t* counts, const size_t* displs,
                         coll_datatype type, int root, coll_comm* comm) {
  return perform(comm, [&](Call& call) {
    return make_irregular(Collective::gather, {"send", send, nullptr, nullptr, count},
                          {"receive", recv, counts, displs, 0}, type, 0, root, comm, call);
  });
}
coll_status coll_igatherv(const void* send, size_t count, void* recv, const size_t* counts, const size_t* displs,
                          coll_datatype type, int root, coll_comm* comm, coll_request** request) {
  return begin(false, comm, request, [&](Call& call) {
    return make_irregular(Collective::gather, {"send", send, nullptr, nullptr, count},
                          {"receive", recv, counts, displs, 0}, type, 0, root, comm, call);
  });
}
coll_status coll_gatherv_init(const void* send, size_t count, void* recv, const size_t* counts, const size_t* displs,
                              coll_datatype type, int root, coll_comm* comm, coll_request** request) {
  return begin(true, comm, request, [&](Call& call) {
    return make_irregular(Collective::gather, {"send", send, nullptr, nullptr, count},
                          {"receive", recv, counts, displs, 0}, type, 0, root, comm, call);
  });
}

coll_status coll_allgatherv(const void* send, size_t count, void* recv, const size_t* counts, const size_t* displs,
                            coll_datatype type, coll_comm* comm) {
  return perform(comm, [&](Call& call) {
    return make_irregular(Collective::allgather, {"send", send, nullptr, nullptr, count},
                          {"receive", recv, counts, displs, 0}, type, 0, 0, comm, call);
  });
}
coll_status coll_iallgatherv(const void* send, size_t count, void* recv, const size_t* counts, const size_t* displs,
                             coll_datatype type, coll_comm* comm, coll_request** request) {
  return begin(false, comm, request, [&](Call& call) {
    return make_irregular(Collective::allgather, {"send", send, nullptr, nullptr, count},
                          {"receive", recv, counts, displs, 0}, type, 0, 0, comm, call);
  });
}
coll_status coll_allgatherv_init(const void* send, size_t count, void* recv, const size_t* counts, const size_t* displs,
                                 coll_datatype type, coll_comm* comm, coll_request** request) {
  return begin(true, comm, request, [&](Call& call) {
    return make_irregular(Collective::allgather, {"send", send, nullptr, nullptr, count},
                          {"receive", recv, counts, displs, 0}, type, 0, 0, comm, call);
  });
}

coll_status coll_alltoallv(const void* send, const size_t* send_counts, const size_t* send_displs, void* recv,
                           const size_t* recv_counts, const size_t* recv_displs, coll_datatype type, coll_comm* comm) {
  return perform(comm, [&](Call& call) {
    return make_irregular(Collective::alltoall, {"send", send, send_counts, send_displs, 0},
                          {"receive", recv, recv_counts, recv_displs, 0}, type, 0, 0, comm, call);
  });
}
coll_status coll_ialltoallv(const void* send, const size_t* send_counts, const size_t* send_displs, void* recv,
                            const size_t* recv_counts, const size_t* recv_displs, coll_datatype type, coll_comm* comm,
                            coll_request** request) {
  return begin(false, comm, request, [&](Call& call) {
    return make_irregular(Collective::alltoall, {"send", send, send_counts, send_displs, 0},
                          {"receive", recv, recv_counts, recv_displs, 0}, type, 0, 0, comm, call);
  });
}
coll_status coll_alltoallv_init(const void* send, const size_t* send_counts, const size_t* send_displs, void* recv,
                                const size_t* recv_counts, const size_t* recv_displs, coll_datatype type,
                                coll_comm* comm, coll_request** request) {
  return begin(true, comm, request, [&](Call& call) {
    return make_irregular(Collective::alltoall, {"send", send, send_counts, send_displs, 0},
                          {"receive", recv, recv_counts, recv_displs, 0}, type, 0, 0, comm, call);
  });
}

coll_status coll_reduce_scatter(const void* send, void* recv, const size_t* counts, coll_datatype type, coll_op op,
                                coll_comm* comm) {
  return perform(comm, [&](Call& call) {
    return make_irregular(Collective::reduce_scatter, {"send", send, counts, nullptr, 0},
                          {"receive", recv, nullptr, nullptr, 0}, type, op, 0, comm, call);
  });
}
coll_status coll_ireduce_scatter(const void* send, void* recv, const size_t* counts, coll_datatype type, coll_op op,
                                 coll_comm* comm, coll_request** request) {
  return begin(false, comm, request, [&](Call& call) {
    return make_irregular(Collective::reduce_scatter, {"send", send, counts, nullptr, 0},
                          {"receive", recv, nullptr, nullptr, 0}, type, op, 0, comm, call);
  });
}
coll_status coll_reduce_scatter_init(const void* send, void* recv, const size_t* counts, coll_datatype type, coll_op op,
                                     coll_comm* comm, coll_request** request) {
  return begin(true, comm, request, [&](Call& call) {
    return make_irregular(Collective::reduce_scatter, {"send", send, counts, nullptr, 0},
                          {"receive", recv, nullptr, nullptr, 0}, type, op, 0, comm, call);
  });
}

}  // extern "C"
