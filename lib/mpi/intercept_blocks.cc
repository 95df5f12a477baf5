// SPDX-License-Identifier: BSD-3-Clause
// The collectives that move blocks between ranks.
//
// A block has the same number of bytes on the rank that sends it and on the one that receives it, whatever the
// datatypes. In the regular variants the number is the same for all blocks, hence known to all ranks, and blocks of 1 B
// to 2 GiB - 1 are intercepted. In the v-variants no number is known to all ranks, so every call is intercepted.
#include "mpi/arguments.h"
#include "mpi/blocks.h"
#include "mpi/intercept.h"
#include "mpi/length_mismatch.h"
#include "mpi/library.h"
#include "mpi/two_level.h"

#include <cstddef>

namespace coll::shim {
namespace {

using two_level::Blocks;

// Packs if necessary, performs the collective, and unpacks. `kept`: the blocks of the receive buffer that are also
// input. The collective is whole(send, recv, coll) or levels(send, recv, nodes).
template <typename Whole, typename Levels>
int run(Call &call, Side &send, Side &recv, int kept, Whole whole, Levels levels) {
  char *packed = nullptr;
  if (const std::size_t bytes = send.packed_bytes() + recv.packed_bytes(); bytes > 0) {
    packed = call.communicator().packing_space(bytes);
    if (packed == nullptr) return call.finish(COLL_ERR_NO_MEMORY);
  }
  send.pack_at(packed);
  recv.pack_at(packed + send.packed_bytes());
  const bool kept_packed = kept == no_block || (kept == all_blocks ? recv.load() : recv.load(kept));
  if (!kept_packed || !send.load()) return call.finish(COLL_ERR_TYPE);
  return call.carry_out(
      [&](coll_comm *coll) {
        const coll_status status = whole(send, recv, coll);
        return status == COLL_OK && !recv.store() ? COLL_ERR_TYPE : status;
      },
      [&](Nodes &nodes) {
        levels(send, recv, nodes);
        if (!recv.store()) throw Failure{COLL_ERR_TYPE, MPI_SUCCESS};
      });
}

// The input for two_level, which has no value for in place.
const void *input_of(const Side &send, const Side &recv) {
  return send.data() == COLL_IN_PLACE ? recv.data() : send.data();
}

Blocks blocks_of(const Side &side) { return {0, side.counts(), side.displs()}; }

// Describes a block of a LengthMismatch.
Message bytes_of(const LengthMismatch &mismatch) { return {mismatch.count(), mpi.byte}; }

// Ends a call that used a LengthMismatch; `cut`: this rank had room for less than was exchanged.
int end_mismatch(Call &call, bool stored, bool cut) {
  if (!stored) return call.fail(COLL_ERR_TYPE);
  return cut ? call.fail(COLL_ERR_TRUNCATE) : MPI_SUCCESS;
}

// The root's part of a gather of blocks of `bytes`, if its receive arguments describe other blocks, or none: it serves
// the peers, and then the MPI library reports the error. `perform(from, to)` is the collective.
template <typename Perform>
[[gnu::noinline]] int gather_mismatch(Call &call, Perform perform, Side &from, std::size_t bytes, void *recv,
                                      const Message &all) {
  LengthMismatch blocks(call.ranks(), bytes);
  if (!blocks.good()) return call.finish(COLL_ERR_NO_MEMORY);
  Side to;
  bytes_of(blocks).describe(&to, blocks.data(), call.ranks());
  const int result = perform(from, to);
  if (result != MPI_SUCCESS) return result;
  if (!all.known() || recv == MPI_IN_PLACE) return not_intercepted;
  if (recv == nullptr) return call.fail(COLL_ERR_BUFFER);  // Open MPI would write there
  return end_mismatch(call, blocks.store(recv, all.count, all.handle, *all.element), bytes > all.bytes());
}

// The root's part of a scatter of blocks of `bytes`, if its receive arguments describe a block of another length.
template <typename Perform>
[[gnu::noinline]] int scatter_mismatch(Call &call, Perform perform, Side &from, std::size_t bytes, void *recv,
                                       const Message &mine) {
  LengthMismatch own(1, bytes);
  if (!own.good()) return call.finish(COLL_ERR_NO_MEMORY);
  Side to;
  bytes_of(own).describe(&to, own.data(), 1);
  const int result = perform(from, to);
  if (result != MPI_SUCCESS) return result;
  return end_mismatch(call, own.store(recv, mine.count, mine.handle, *mine.element), bytes > mine.bytes());
}

// The part of a rank whose `blocks` blocks to send have another length than the `bytes` that it receives per block.
template <typename Perform>
[[gnu::noinline]] int send_mismatch(Call &call, Perform perform, const void *send, const Message &mine, int blocks,
                                    std::size_t bytes, Side &to) {
  if (bytes > INT_MAX) return call.decline(Why::arguments);
  LengthMismatch sent(blocks, bytes);
  if (!sent.good()) return call.finish(COLL_ERR_NO_MEMORY);
  const bool loaded = sent.load(send, mine.count, mine.handle, *mine.element);
  Side from;
  bytes_of(sent).describe(&from, sent.data(), blocks);
  const int result = perform(from, to);
  return result != MPI_SUCCESS ? result : end_mismatch(call, loaded, mine.bytes() > bytes);
}

template <typename Count, typename Displ>
int gatherv_of(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, const Count *recv_counts,
               const Displ *displs, MPI_Datatype recv_type, int root, MPI_Comm comm) {
  Call call(gatherv, comm, -1, recv_type);
  if (!call.possible()) return call.impossible();
  if (!call.join(root)) return call.result();
  const bool is_root = call.rank() == root;
  const bool in_place = is_root && send == MPI_IN_PLACE;
  std::size_t *numbers = call.communicator().number_space();
  if (numbers == nullptr) return call.finish(COLL_ERR_NO_MEMORY);
  Side from;
  Side to;
  std::size_t bytes = 0;
  if (is_root && !make_side(recv, recv_type, datatype_of(recv_type), recv_counts, displs, call.ranks(), numbers, &to))
    return call.decline(Why::arguments);
  if (in_place) {
    from.set_in_place();
    bytes = to.counts()[root];
  } else {
    const Message mine(send_count, send_type);
    if (!mine.known() || send == MPI_IN_PLACE) return call.decline(Why::arguments);
    mine.describe(&from, send, 1);
    bytes = mine.bytes();
  }
  if (!from.good()) return call.decline(Why::arguments);
  if (is_root) keep_own_block(from, to, to.displs()[root]);
  return run(
      call, from, to, in_place ? root : no_block,
      [&](const Side &from, const Side &to, coll_comm *coll) {
        return coll_gatherv(from.data(), bytes, to.data(), to.counts(), to.displs(), COLL_BYTE, root, coll);
      },
      [&](const Side &from, const Side &to, Nodes &nodes) {
        two_level::gather(nodes, from.data(), bytes, to.data(), blocks_of(to), true, root);
      });
}

template <typename Count, typename Displ>
int scatterv_of(const void *send, const Count *send_counts, const Displ *displs, MPI_Datatype send_type, void *recv,
                MPI_Count recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm) {
  Call call(scatterv, comm, -1, send_type);
  if (!call.possible()) return call.impossible();
  if (!call.join(root)) return call.result();
  const bool is_root = call.rank() == root;
  const bool in_place = is_root && recv == MPI_IN_PLACE;
  std::size_t *numbers = call.communicator().number_space();
  if (numbers == nullptr) return call.finish(COLL_ERR_NO_MEMORY);
  Side from;
  Side to;
  std::size_t bytes = 0;
  if (is_root && !make_side(send, send_type, datatype_of(send_type), send_counts, displs, call.ranks(), numbers, &from))
    return call.decline(Why::arguments);
  if (in_place) {
    to.set_in_place();
    bytes = from.counts()[root];
  } else {
    const Message mine(recv_count, recv_type);
    if (!mine.known() || recv == MPI_IN_PLACE) return call.decline(Why::arguments);
    mine.describe(&to, recv, 1);
    bytes = mine.bytes();
  }
  if (!to.good()) return call.decline(Why::arguments);
  if (is_root) keep_own_block(to, from, from.displs()[root]);
  return run(
      call, from, to, no_block,
      [&](const Side &from, const Side &to, coll_comm *coll) {
        return coll_scatterv(from.data(), from.counts(), from.displs(), to.data(), bytes, COLL_BYTE, root, coll);
      },
      [&](const Side &from, const Side &to, Nodes &nodes) {
        two_level::scatter(nodes, from.data(), blocks_of(from), to.data(), bytes, true, root);
      });
}

template <typename Count, typename Displ>
int allgatherv_of(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, const Count *recv_counts,
                  const Displ *displs, MPI_Datatype recv_type, MPI_Comm comm) {
  Call call(allgatherv, comm, -1, recv_type);
  if (!call.possible()) return call.impossible();
  if (!call.join(0)) return call.result();
  const bool in_place = send == MPI_IN_PLACE;
  std::size_t *numbers = call.communicator().number_space();
  if (numbers == nullptr) return call.finish(COLL_ERR_NO_MEMORY);
  Side from;
  Side to;
  if (recv == MPI_IN_PLACE ||
      !make_side(recv, recv_type, datatype_of(recv_type), recv_counts, displs, call.ranks(), numbers, &to))
    return call.decline(Why::arguments);
  if (call.nodes() != nullptr && !two_level::can_allgather(*call.nodes(), blocks_of(to)))
    return call.decline(Why::nodes);
  const auto perform = [&](Side &from, Side &to) {
    return run(
        call, from, to, in_place ? call.rank() : no_block,
        [&](const Side &from, const Side &to, coll_comm *coll) {
          return coll_allgatherv(from.data(), to.counts()[call.rank()], to.data(), to.counts(), to.displs(), COLL_BYTE,
                                 coll);
        },
        [&](const Side &from, const Side &to, Nodes &nodes) {
          two_level::allgather(nodes, input_of(from, to), to.data(), blocks_of(to));
        });
  };
  if (in_place) {
    from.set_in_place();
  } else {
    const Message mine(send_count, send_type);
    if (!mine.known()) return call.decline(Why::arguments);
    if (const std::size_t own = to.counts()[call.rank()]; mine.bytes() != own) [[unlikely]]
      return send_mismatch(call, perform, send, mine, 1, own, to);
    mine.describe(&from, send, 1);
  }
  if (!from.good()) return call.decline(Why::arguments);
  keep_own_block(from, to, to.displs()[call.rank()]);
  return perform(from, to);
}

template <typename Count, typename Displ>
int alltoallv_of(const void *send, const Count *send_counts, const Displ *send_displs, MPI_Datatype send_type,
                 void *recv, const Count *recv_counts, const Displ *recv_displs, MPI_Datatype recv_type,
                 MPI_Comm comm) {
  Call call(alltoallv, comm, -1, recv_type);
  if (!call.possible()) return call.impossible();
  if (!call.join(0)) return call.result();
  if (call.nodes() != nullptr) return call.decline(Why::nodes);
  const bool in_place = send == MPI_IN_PLACE;
  std::size_t *numbers = call.communicator().number_space();
  if (numbers == nullptr) return call.finish(COLL_ERR_NO_MEMORY);
  const int ranks = call.ranks();
  Side from;
  Side to;
  const Datatype *got = datatype_of(recv_type);
  if (recv == MPI_IN_PLACE || !make_side(recv, recv_type, got, recv_counts, recv_displs, ranks, numbers, &to))
    return call.decline(Why::arguments);
  if (in_place) {
    from.set_in_place();
  } else {
    const Datatype *sent = send_type == recv_type ? got : datatype_of(send_type);
    if (!make_side(send, send_type, sent, send_counts, send_displs, ranks, numbers + 2 * ranks, &from))
      return call.decline(Why::arguments);
  }
  return run(
      call, from, to, in_place ? all_blocks : no_block,
      [&](const Side &from, const Side &to, coll_comm *coll) {
        return coll_alltoallv(from.data(), from.counts(), from.displs(), to.data(), to.counts(), to.displs(), COLL_BYTE,
                              coll);
      },
      [](const Side &, const Side &, Nodes &) { /* forwarded above */ });
}

}  // namespace

int intercept_gather(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                     MPI_Datatype recv_type, int root, MPI_Comm comm) {
  const bool in_place = send == MPI_IN_PLACE;
  Call call(gather, comm, in_place ? recv_count : send_count, in_place ? recv_type : send_type);
  if (!call.possible()) return call.impossible();
  const Message mine = in_place ? Message(recv_count, recv_type) : Message(send_count, send_type);
  if (const Why why = obstacle(mine); why != Why::count_) return call.decline(why);
  if (!call.join(root)) return call.result();
  const std::size_t bytes = mine.bytes();
  Side from;
  Side to;
  describe_own(&from, in_place, mine, send);
  const auto perform = [&](Side &from, Side &to) {
    return run(
        call, from, to, in_place ? root : no_block,
        [&](const Side &from, const Side &to, coll_comm *coll) {
          return coll_gather(from.data(), to.data(), bytes, COLL_BYTE, root, coll);
        },
        [&](const Side &from, const Side &to, Nodes &nodes) {
          two_level::gather(nodes, from.data(), bytes, to.data(), Blocks{bytes}, false, root);
        });
  };
  if (call.rank() == root) {
    const Message all(recv_count, recv_type, mine);
    const bool right = all.known() && all.bytes() == bytes && recv != MPI_IN_PLACE &&
                       (recv != nullptr || !all.element->vector_in_order);
    if (!right) [[unlikely]]
      return in_place || !from.good() ? call.decline(Why::arguments)
                                      : gather_mismatch(call, perform, from, bytes, recv, all);
    all.describe(&to, recv, call.ranks());
  } else if (in_place) {
    return call.decline(Why::arguments);
  }
  if (!from.good() || !to.good()) return call.decline(Why::arguments);
  keep_own_block(from, to, static_cast<std::size_t>(call.rank()) * bytes);
  return perform(from, to);
}

int intercept_gatherv(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                      const int *recv_counts, const int *displs, MPI_Datatype recv_type, int root, MPI_Comm comm) {
  return gatherv_of(send, send_count, send_type, recv, recv_counts, displs, recv_type, root, comm);
}

int intercept_gatherv(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                      const MPI_Count *recv_counts, const MPI_Aint *displs, MPI_Datatype recv_type, int root,
                      MPI_Comm comm) {
  return gatherv_of(send, send_count, send_type, recv, recv_counts, displs, recv_type, root, comm);
}

int intercept_scatter(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                      MPI_Datatype recv_type, int root, MPI_Comm comm) {
  const bool in_place = recv == MPI_IN_PLACE;
  Call call(scatter, comm, in_place ? send_count : recv_count, in_place ? send_type : recv_type);
  if (!call.possible()) return call.impossible();
  const Message mine = in_place ? Message(send_count, send_type) : Message(recv_count, recv_type);
  if (const Why why = obstacle(mine); why != Why::count_) return call.decline(why);
  if (!call.join(root)) return call.result();
  Side from;
  const auto perform = [&](Side &from, Side &to, std::size_t bytes) {
    return run(
        call, from, to, no_block,
        [&](const Side &from, const Side &to, coll_comm *coll) {
          return of_rooted(coll_scatter(from.data(), to.data(), bytes, COLL_BYTE, root, coll));
        },
        [&](const Side &from, const Side &to, Nodes &nodes) {
          two_level::scatter(nodes, from.data(), Blocks{bytes}, to.data(), bytes, false, root);
        });
  };
  if (call.rank() == root) {
    const Message all(send_count, send_type, mine);
    if (!all.known() || send == MPI_IN_PLACE) return call.decline(Why::arguments);
    all.describe(&from, send, call.ranks());
    if (const std::size_t sent = all.bytes(); sent != mine.bytes()) [[unlikely]] {
      if (sent == 0 || sent > INT_MAX || !from.good()) return call.decline(Why::arguments);
      return scatter_mismatch(
          call, [&](Side &from, Side &to) { return perform(from, to, sent); }, from, sent, recv, mine);
    }
  } else if (in_place) {
    return call.decline(Why::arguments);
  }
  Side to;
  describe_own(&to, in_place, mine, recv);
  if (!from.good() || !to.good()) return call.decline(Why::arguments);
  keep_own_block(to, from, static_cast<std::size_t>(call.rank()) * mine.bytes());
  return perform(from, to, mine.bytes());
}

int intercept_scatterv(const void *send, const int *send_counts, const int *displs, MPI_Datatype send_type, void *recv,
                       MPI_Count recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm) {
  return scatterv_of(send, send_counts, displs, send_type, recv, recv_count, recv_type, root, comm);
}

int intercept_scatterv(const void *send, const MPI_Count *send_counts, const MPI_Aint *displs, MPI_Datatype send_type,
                       void *recv, MPI_Count recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm) {
  return scatterv_of(send, send_counts, displs, send_type, recv, recv_count, recv_type, root, comm);
}

int intercept_allgather(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                        MPI_Count recv_count, MPI_Datatype recv_type, MPI_Comm comm) {
  Call call(allgather, comm, recv_count, recv_type);
  if (!call.possible()) return call.impossible();
  const bool in_place = send == MPI_IN_PLACE;
  const Message all(recv_count, recv_type);
  if (const Why why = obstacle(all); why != Why::count_) return call.decline(why);
  const Message mine = in_place ? all : Message(send_count, send_type, all);
  if (!mine.known() || recv == MPI_IN_PLACE) return call.decline(Why::arguments);
  if (!call.join(0)) return call.result();
  const Blocks blocks{all.bytes()};
  if (call.nodes() != nullptr && !two_level::can_allgather(*call.nodes(), blocks)) return call.decline(Why::nodes);
  Side from;
  Side to;
  all.describe(&to, recv, call.ranks());
  if (!to.good()) return call.decline(Why::arguments);
  const auto perform = [&](Side &from, Side &to) {
    return run(
        call, from, to, in_place ? call.rank() : no_block,
        [&](const Side &from, const Side &to, coll_comm *coll) {
          return coll_allgather(from.data(), to.data(), all.bytes(), COLL_BYTE, coll);
        },
        [&](const Side &from, const Side &to, Nodes &nodes) {
          two_level::allgather(nodes, input_of(from, to), to.data(), blocks);
        });
  };
  if (mine.bytes() != all.bytes()) [[unlikely]]
    return send_mismatch(call, perform, send, mine, 1, all.bytes(), to);
  describe_own(&from, in_place, mine, send);
  if (!from.good()) return call.decline(Why::arguments);
  keep_own_block(from, to, static_cast<std::size_t>(call.rank()) * all.bytes());
  return perform(from, to);
}

int intercept_allgatherv(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                         const int *recv_counts, const int *displs, MPI_Datatype recv_type, MPI_Comm comm) {
  return allgatherv_of(send, send_count, send_type, recv, recv_counts, displs, recv_type, comm);
}

int intercept_allgatherv(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                         const MPI_Count *recv_counts, const MPI_Aint *displs, MPI_Datatype recv_type, MPI_Comm comm) {
  return allgatherv_of(send, send_count, send_type, recv, recv_counts, displs, recv_type, comm);
}

int intercept_alltoall(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                       MPI_Datatype recv_type, MPI_Comm comm) {
  Call call(alltoall, comm, recv_count, recv_type);
  if (!call.possible()) return call.impossible();
  const bool in_place = send == MPI_IN_PLACE;
  const Message got(recv_count, recv_type);
  if (const Why why = obstacle(got); why != Why::count_) return call.decline(why);
  const Message sent = in_place ? got : Message(send_count, send_type, got);
  if (!sent.known() || recv == MPI_IN_PLACE) return call.decline(Why::arguments);
  if (!call.join(0)) return call.result();
  if (call.nodes() != nullptr && !two_level::can_alltoall(*call.nodes(), got.bytes())) return call.decline(Why::nodes);
  Side from;
  Side to;
  got.describe(&to, recv, call.ranks());
  if (!to.good()) return call.decline(Why::arguments);
  const auto perform = [&](Side &from, Side &to) {
    return run(
        call, from, to, in_place ? all_blocks : no_block,
        [&](const Side &from, const Side &to, coll_comm *coll) {
          return coll_alltoall(from.data(), to.data(), got.bytes(), COLL_BYTE, coll);
        },
        [&](const Side &from, const Side &to, Nodes &nodes) {
          two_level::alltoall(nodes, input_of(from, to), to.data(), got.bytes());
        });
  };
  if (sent.bytes() != got.bytes()) [[unlikely]]
    return send_mismatch(call, perform, send, sent, call.ranks(), got.bytes(), to);
  if (in_place) from.set_in_place();
  else sent.describe(&from, send, call.ranks());
  if (!from.good()) return call.decline(Why::arguments);
  return perform(from, to);
}

int intercept_alltoallv(const void *send, const int *send_counts, const int *send_displs, MPI_Datatype send_type,
                        void *recv, const int *recv_counts, const int *recv_displs, MPI_Datatype recv_type,
                        MPI_Comm comm) {
  return alltoallv_of(send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs, recv_type, comm);
}

int intercept_alltoallv(const void *send, const MPI_Count *send_counts, const MPI_Aint *send_displs,
                        MPI_Datatype send_type, void *recv, const MPI_Count *recv_counts, const MPI_Aint *recv_displs,
                        MPI_Datatype recv_type, MPI_Comm comm) {
  return alltoallv_of(send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs, recv_type, comm);
}

}  // namespace coll::shim
