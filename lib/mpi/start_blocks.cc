// SPDX-License-Identifier: BSD-3-Clause
// The non-blocking collectives that move blocks between ranks: intercept_blocks.cc has the same decisions, and the reasons.
// Data that is not contiguous is packed at the start and unpacked at completion.
#include "mpi/arguments.h"
#include "mpi/blocks.h"
#include "mpi/start.h"

#include <cstddef>

namespace coll::shim {
namespace {

// The datatype of the received data.
struct Received {
  MPI_Datatype handle;
  const Datatype *element;
};

// `describe(from, to, got, numbers)` describes both sides, and returns whether the arguments are valid. `kept`: the
// blocks of the receive buffer that are also input. The collective is start(from, to, coll, request).
template <typename Describe, typename Start>
int run(StartCall &call, Received got, int kept, Describe describe, Start start) {
  std::size_t *numbers = call.communicator().number_space();
  if (numbers == nullptr) return call.fail(COLL_ERR_NO_MEMORY);
  Side from, to;
  if (!describe(from, to, got, numbers)) return call.decline(Why::arguments);
  const std::size_t from_bytes = from.packed_bytes();
  const std::size_t bytes = from_bytes + to.packed_bytes();
  if (bytes == 0)
    return call.begin([&](coll_comm *coll, coll_request **request) { return start(from, to, coll, request); });

  // Describes both sides again, in memory that lasts until completion.
  std::unique_ptr<BlockBuffers> buffers = BlockBuffers::make(bytes);
  if (buffers == nullptr) return call.fail(COLL_ERR_NO_MEMORY);
  buffers->numbers.reset(new (std::nothrow) std::size_t[4 * static_cast<std::size_t>(call.ranks())]);
  if (buffers->numbers == nullptr) return call.fail(COLL_ERR_NO_MEMORY);
  Side &send = buffers->send, &recv = buffers->recv;
  describe(send, recv, got, buffers->numbers.get());
  send.pack_at(buffers->packed.get());
  recv.pack_at(buffers->packed.get() + from_bytes);
  buffers->inputs = kept;
  if ((call.persistent() && !buffers->keep_sent()) || !buffers->keep_received()) return call.fail(COLL_ERR_NO_MEMORY);
  if (!call.persistent() && !buffers->load()) return call.fail(COLL_ERR_TYPE);
  return call.begin([&](coll_comm *coll, coll_request **request) { return start(send, recv, coll, request); },
                    {.buffers = std::move(buffers)});
}

template <typename Count, typename Displ>
int gatherv_of(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, const Count *recv_counts,
               const Displ *displs, MPI_Datatype recv_type, int root, MPI_Comm comm, Target target) {
  StartCall call(igatherv, comm, -1, recv_type, target);
  if (!call.possible()) return call.impossible();
  if (!call.join(root)) return call.result();
  const bool is_root = call.rank() == root;
  const bool in_place = is_root && send == MPI_IN_PLACE;
  std::size_t bytes = 0;
  return run(
      call, is_root ? Received{recv_type, datatype_of(recv_type)} : Received{}, in_place ? root : no_block,
      [&](Side &from, Side &to, Received type, std::size_t *numbers) {
        if (is_root && !make_side(recv, type.handle, type.element, recv_counts, displs, call.ranks(), numbers, &to))
          return false;
        if (in_place) {
          from.set_in_place();
          bytes = to.counts()[root];
        } else {
          const Message mine(send_count, send_type);
          if (!mine.known() || send == MPI_IN_PLACE) return false;
          mine.describe(&from, send, 1);
          bytes = mine.bytes();
        }
        if (!from.good()) return false;
        if (is_root) keep_own_block(from, to, to.displs()[root]);
        return true;
      },
      [&](const Side &from, const Side &to, coll_comm *coll, coll_request **started) {
        return call.form(coll_igatherv, coll_gatherv_init)(from.data(), bytes, to.data(), to.counts(), to.displs(),
                                                           COLL_BYTE, root, coll, started);
      });
}

template <typename Count, typename Displ>
int scatterv_of(const void *send, const Count *send_counts, const Displ *displs, MPI_Datatype send_type, void *recv,
                MPI_Count recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm, Target target) {
  StartCall call(iscatterv, comm, -1, send_type, target);
  if (!call.possible()) return call.impossible();
  if (!call.join(root)) return call.result();
  const bool is_root = call.rank() == root;
  const bool in_place = is_root && recv == MPI_IN_PLACE;
  const Datatype *element = in_place ? nullptr : element_of(recv_type, recv_count == 0);
  if (!in_place && (element == nullptr || recv_count < 0 || recv == MPI_IN_PLACE)) return call.decline(Why::arguments);
  std::size_t bytes = 0;
  return run(
      call, {recv_type, element}, no_block,
      [&](Side &from, Side &to, Received type, std::size_t *numbers) {
        if (is_root &&
            !make_side(send, send_type, datatype_of(send_type), send_counts, displs, call.ranks(), numbers, &from))
          return false;
        if (in_place) {
          to.set_in_place();
          bytes = from.counts()[root];
        } else {
          to.describe(recv, type.handle, type.element, recv_count, 1);
          bytes = static_cast<std::size_t>(recv_count) * type.element->size_bytes;
        }
        if (!to.good()) return false;
        if (is_root) keep_own_block(to, from, from.displs()[root]);
        return true;
      },
      [&](const Side &from, const Side &to, coll_comm *coll, coll_request **started) {
        return call.form(coll_iscatterv, coll_scatterv_init)(from.data(), from.counts(), from.displs(), to.data(),
                                                             bytes, COLL_BYTE, root, coll, started);
      });
}

template <typename Count, typename Displ>
int allgatherv_of(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, const Count *recv_counts,
                  const Displ *displs, MPI_Datatype recv_type, MPI_Comm comm, Target target) {
  StartCall call(iallgatherv, comm, -1, recv_type, target);
  if (!call.possible()) return call.impossible();
  if (!call.join(0)) return call.result();
  const bool in_place = send == MPI_IN_PLACE;
  return run(
      call, {recv_type, datatype_of(recv_type)}, in_place ? call.rank() : no_block,
      [&](Side &from, Side &to, Received type, std::size_t *numbers) {
        if (recv == MPI_IN_PLACE ||
            !make_side(recv, type.handle, type.element, recv_counts, displs, call.ranks(), numbers, &to))
          return false;
        if (in_place) {
          from.set_in_place();
        } else {
          const Message mine(send_count, send_type);
          if (!mine.known() || mine.bytes() != to.counts()[call.rank()]) return false;
          mine.describe(&from, send, 1);
        }
        if (!from.good()) return false;
        keep_own_block(from, to, to.displs()[call.rank()]);
        return true;
      },
      [&](const Side &from, const Side &to, coll_comm *coll, coll_request **started) {
        return call.form(coll_iallgatherv, coll_allgatherv_init)(from.data(), to.counts()[call.rank()], to.data(),
                                                                 to.counts(), to.displs(), COLL_BYTE, coll, started);
      });
}

template <typename Count, typename Displ>
int alltoallv_of(const void *send, const Count *send_counts, const Displ *send_displs, MPI_Datatype send_type,
                 void *recv, const Count *recv_counts, const Displ *recv_displs, MPI_Datatype recv_type, MPI_Comm comm,
                 Target target) {
  StartCall call(ialltoallv, comm, -1, recv_type, target);
  if (!call.possible()) return call.impossible();
  if (!call.join(0)) return call.result();
  const bool in_place = send == MPI_IN_PLACE;
  const int ranks = call.ranks();
  const Datatype *got = datatype_of(recv_type);
  const Datatype *sent = in_place || send_type == recv_type ? got : datatype_of(send_type);
  return run(
      call, {recv_type, got}, in_place ? all_blocks : no_block,
      [&](Side &from, Side &to, Received type, std::size_t *numbers) {
        if (recv == MPI_IN_PLACE ||
            !make_side(recv, type.handle, type.element, recv_counts, recv_displs, ranks, numbers, &to))
          return false;
        if (in_place) from.set_in_place();
        return in_place ||
               make_side(send, send_type, sent, send_counts, send_displs, ranks, numbers + 2 * ranks, &from);
      },
      [&](const Side &from, const Side &to, coll_comm *coll, coll_request **started) {
        return call.form(coll_ialltoallv, coll_alltoallv_init)(from.data(), from.counts(), from.displs(), to.data(),
                                                               to.counts(), to.displs(), COLL_BYTE, coll, started);
      });
}

}  // namespace

int start_gather(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                 MPI_Datatype recv_type, int root, MPI_Comm comm, Target target) {
  const bool in_place = send == MPI_IN_PLACE;
  StartCall call(igather, comm, in_place ? recv_count : send_count, in_place ? recv_type : send_type, target);
  if (!call.possible()) return call.impossible();
  const Message mine = in_place ? Message(recv_count, recv_type) : Message(send_count, send_type);
  if (const Why why = obstacle(mine); why != Why::count_) return call.decline(why);
  if (!call.join(root)) return call.result();
  const std::size_t bytes = mine.bytes();
  const bool is_root = call.rank() == root;
  Received got{};
  if (is_root) {
    const Message all(recv_count, recv_type, mine);
    if (!all.known() || all.bytes() != bytes || recv == MPI_IN_PLACE) return call.decline(Why::arguments);
    got = {recv_type, all.element};
  } else if (in_place) {
    return call.decline(Why::arguments);
  }
  return run(
      call, got, in_place ? root : no_block,
      [&](Side &from, Side &to, Received type, std::size_t *) {
        if (is_root) to.describe(recv, type.handle, type.element, recv_count, call.ranks());
        describe_own(&from, in_place, mine, send);
        if (!from.good() || !to.good()) return false;
        keep_own_block(from, to, static_cast<std::size_t>(call.rank()) * bytes);
        return true;
      },
      [&](const Side &from, const Side &to, coll_comm *coll, coll_request **started) {
        return call.form(coll_igather, coll_gather_init)(from.data(), to.data(), bytes, COLL_BYTE, root, coll, started);
      });
}

int start_scatter(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                  MPI_Datatype recv_type, int root, MPI_Comm comm, Target target) {
  const bool in_place = recv == MPI_IN_PLACE;
  StartCall call(iscatter, comm, in_place ? send_count : recv_count, in_place ? send_type : recv_type, target);
  if (!call.possible()) return call.impossible();
  const Message mine = in_place ? Message(send_count, send_type) : Message(recv_count, recv_type);
  if (const Why why = obstacle(mine); why != Why::count_) return call.decline(why);
  if (!call.join(root)) return call.result();
  const std::size_t bytes = mine.bytes();
  const bool is_root = call.rank() == root;
  const Message all(is_root ? send_count : mine.count, is_root ? send_type : mine.handle, mine);
  const bool right = is_root ? all.known() && all.bytes() == bytes && send != MPI_IN_PLACE : !in_place;
  if (!right) return call.decline(Why::arguments);
  return run(
      call, {mine.handle, mine.element}, no_block,
      [&](Side &from, Side &to, Received type, std::size_t *) {
        if (is_root) all.describe(&from, send, call.ranks());
        if (in_place) to.set_in_place();
        else to.describe(recv, type.handle, type.element, recv_count, 1);
        if (!from.good() || !to.good()) return false;
        keep_own_block(to, from, static_cast<std::size_t>(call.rank()) * bytes);
        return true;
      },
      [&](const Side &from, const Side &to, coll_comm *coll, coll_request **started) {
        return call.form(coll_iscatter, coll_scatter_init)(from.data(), to.data(), bytes, COLL_BYTE, root, coll,
                                                           started);
      });
}

int start_allgather(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                    MPI_Datatype recv_type, MPI_Comm comm, Target target) {
  StartCall call(iallgather, comm, recv_count, recv_type, target);
  if (!call.possible()) return call.impossible();
  const bool in_place = send == MPI_IN_PLACE;
  const Message all(recv_count, recv_type);
  if (const Why why = obstacle(all); why != Why::count_) return call.decline(why);
  const Message mine = in_place ? all : Message(send_count, send_type, all);
  if (!mine.known() || mine.bytes() != all.bytes() || recv == MPI_IN_PLACE) return call.decline(Why::arguments);
  if (!call.join(0)) return call.result();
  return run(
      call, {all.handle, all.element}, in_place ? call.rank() : no_block,
      [&](Side &from, Side &to, Received type, std::size_t *) {
        describe_own(&from, in_place, mine, send);
        to.describe(recv, type.handle, type.element, recv_count, call.ranks());
        if (!from.good() || !to.good()) return false;
        keep_own_block(from, to, static_cast<std::size_t>(call.rank()) * all.bytes());
        return true;
      },
      [&](const Side &from, const Side &to, coll_comm *coll, coll_request **started) {
        return call.form(coll_iallgather, coll_allgather_init)(from.data(), to.data(), all.bytes(), COLL_BYTE, coll,
                                                               started);
      });
}

int start_alltoall(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                   MPI_Datatype recv_type, MPI_Comm comm, Target target) {
  StartCall call(ialltoall, comm, recv_count, recv_type, target);
  if (!call.possible()) return call.impossible();
  const bool in_place = send == MPI_IN_PLACE;
  const Message got(recv_count, recv_type);
  if (const Why why = obstacle(got); why != Why::count_) return call.decline(why);
  const Message sent = in_place ? got : Message(send_count, send_type, got);
  if (!sent.known() || sent.bytes() != got.bytes() || recv == MPI_IN_PLACE) return call.decline(Why::arguments);
  if (!call.join(0)) return call.result();
  return run(
      call, {got.handle, got.element}, in_place ? all_blocks : no_block,
      [&](Side &from, Side &to, Received type, std::size_t *) {
        if (in_place) from.set_in_place();
        else sent.describe(&from, send, call.ranks());
        to.describe(recv, type.handle, type.element, recv_count, call.ranks());
        return from.good() && to.good();
      },
      [&](const Side &from, const Side &to, coll_comm *coll, coll_request **started) {
        return call.form(coll_ialltoall, coll_alltoall_init)(from.data(), to.data(), got.bytes(), COLL_BYTE, coll,
                                                             started);
      });
}

int start_gatherv(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, const int *recv_counts,
                  const int *displs, MPI_Datatype recv_type, int root, MPI_Comm comm, Target target) {
  return gatherv_of(send, send_count, send_type, recv, recv_counts, displs, recv_type, root, comm, target);
}

int start_gatherv(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                  const MPI_Count *recv_counts, const MPI_Aint *displs, MPI_Datatype recv_type, int root, MPI_Comm comm,
                  Target target) {
  return gatherv_of(send, send_count, send_type, recv, recv_counts, displs, recv_type, root, comm, target);
}

int start_scatterv(const void *send, const int *send_counts, const int *displs, MPI_Datatype send_type, void *recv,
                   MPI_Count recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm, Target target) {
  return scatterv_of(send, send_counts, displs, send_type, recv, recv_count, recv_type, root, comm, target);
}

int start_scatterv(const void *send, const MPI_Count *send_counts, const MPI_Aint *displs, MPI_Datatype send_type,
                   void *recv, MPI_Count recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm, Target target) {
  return scatterv_of(send, send_counts, displs, send_type, recv, recv_count, recv_type, root, comm, target);
}

int start_allgatherv(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, const int *recv_counts,
                     const int *displs, MPI_Datatype recv_type, MPI_Comm comm, Target target) {
  return allgatherv_of(send, send_count, send_type, recv, recv_counts, displs, recv_type, comm, target);
}

int start_allgatherv(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                     const MPI_Count *recv_counts, const MPI_Aint *displs, MPI_Datatype recv_type, MPI_Comm comm,
                     Target target) {
  return allgatherv_of(send, send_count, send_type, recv, recv_counts, displs, recv_type, comm, target);
}

int start_alltoallv(const void *send, const int *send_counts, const int *send_displs, MPI_Datatype send_type,
                    void *recv, const int *recv_counts, const int *recv_displs, MPI_Datatype recv_type, MPI_Comm comm,
                    Target target) {
  return alltoallv_of(send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs, recv_type, comm,
                      target);
}

int start_alltoallv(const void *send, const MPI_Count *send_counts, const MPI_Aint *send_displs, MPI_Datatype send_type,
                    void *recv, const MPI_Count *recv_counts, const MPI_Aint *recv_displs, MPI_Datatype recv_type,
                    MPI_Comm comm, Target target) {
  return alltoallv_of(send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs, recv_type, comm,
                      target);
}

}  // namespace coll::shim
