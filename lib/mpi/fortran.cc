// SPDX-License-Identifier: BSD-3-Clause
//
// The entry points of Fortran, where the library's own Fortran calls do not come by those of C.
//
// Open MPI's mpif.h and `use mpi` call mpi_bcast_ (or another of its four spellings), `use mpi_f08` calls
// mpi_bcast_f08_, and both go to the inside of the library. MPICH's call MPI_Bcast, except those calls of mpi_f08
// that have no buffer, which call PMPI_. Handles are INTEGERs, alone or in a derived type, which is the same by
// reference; mpi_f08 may leave out ierror, which is then NULL.
#include "mpi/below.h"
#include "mpi/ending.h"
#include "mpi/memory.h"
#include "mpi/operations.h"
#include "mpi/presence.h"
#include "mpi/probing.h"
#include "mpi/take.h"

#include <atomic>
#include <cstddef>

using namespace coll::shim;

namespace {

using Int = MPI_Fint;
static_assert(sizeof(Int) == sizeof(int), "arrays of INTEGER are handed on as arrays of int");

#ifdef OPEN_MPI
// From the numbers of one sort of handle to handles. The library's own have small numbers, which no other handle ever
// gets: they are asked for once.
template <typename Handle>
class Numbers {
 public:
  using Ask = Handle(Int);
  using IsOwn = bool(Handle);

  [[gnu::always_inline]] Handle of(Int number, Ask *ask, IsOwn *is_own) {
    const auto place = static_cast<std::size_t>(number);
    if (place < small) [[likely]]
      if (const Handle own = own_[place].load(std::memory_order_relaxed)) [[likely]]
        return own;
    return learn(place, ask(number), is_own);
  }

 private:
  [[gnu::noinline]] Handle learn(std::size_t place, Handle handle, IsOwn *is_own) {
    if (place >= small || handle == nullptr || another_[place].load(std::memory_order_relaxed)) return handle;
    if (is_own(handle)) own_[place].store(handle, std::memory_order_relaxed);
    else another_[place].store(true, std::memory_order_relaxed);
    return handle;
  }

  static constexpr std::size_t small = 128;
  std::atomic<Handle> own_[small] = {};
  std::atomic<bool> another_[small] = {};  // the program's
};

bool is_own_comm(MPI_Comm comm) { return comm == found.world || comm == found.self; }

bool is_own_type(MPI_Datatype type) {
  int combiner = MPI_UNDEFINED, integers, addresses, types;
  return type != found.no_datatype &&
         found.Type_get_envelope(type, &integers, &addresses, &types, &combiner) == MPI_SUCCESS &&
         combiner == MPI_COMBINER_NAMED;
}

bool is_own_op(MPI_Op op) {
  for (const MPI_Op own : {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND, MPI_BAND, MPI_LOR, MPI_BOR, MPI_LXOR,
                           MPI_BXOR, MPI_MAXLOC, MPI_MINLOC})
    if (op == own) return true;
  return false;
}

constinit Numbers<MPI_Comm> comms;
constinit Numbers<MPI_Datatype> types;
constinit Numbers<MPI_Op> ops;

inline MPI_Comm comm_of(const Int *comm) { return comms.of(*comm, found.Comm_f2c, is_own_comm); }
inline MPI_Datatype type_of(const Int *type) { return types.of(*type, found.Type_f2c, is_own_type); }
inline MPI_Op op_of(const Int *op) { return ops.of(*op, found.Op_f2c, is_own_op); }
constexpr Int info_null = 0;

// MPI_BOTTOM and MPI_IN_PLACE of Fortran are variables, which the call passes by reference. Known from the first call of
// each entry point on.
constinit std::atomic<const void *> in_place{}, bottom{};

inline void *address(void *buffer) {
  if (buffer == in_place.load(std::memory_order_relaxed)) return MPI_IN_PLACE;
  return buffer == bottom.load(std::memory_order_relaxed) ? MPI_BOTTOM : buffer;
}
#else
MPI_Comm comm_of(const Int *comm) { return *comm; }
MPI_Op op_of(const Int *op) { return *op; }
constexpr Int info_null = MPI_INFO_NULL;
#endif

// The next in line behind the entry point of that name.
template <typename Function>
Function *next_of(const char *name, Function *) {
  below();  // refuses the wrong library
#ifdef OPEN_MPI
  in_place.store(variable("mpi_fortran_in_place_"), std::memory_order_relaxed);
  bottom.store(variable("mpi_fortran_bottom_"), std::memory_order_relaxed);
#endif
  return reinterpret_cast<Function *>(next_fortran(name));
}

template <typename Next, typename... Arguments>
void settle(int result, Next next, Int *ierror, Arguments... arguments) {
  if (result == passed_on) next(arguments..., ierror);
  else if (ierror != nullptr) *ierror = result;
}

// Passes the call on; whether it succeeded, which a caller without ierror must learn, too.
template <typename Next, typename... Arguments>
bool succeeds(Next next, Int *ierror, Arguments... arguments) {
  Int error = MPI_SUCCESS;
  next(arguments..., &error);
  if (ierror != nullptr) *ierror = error;
  return error == MPI_SUCCESS;
}

template <typename Next>
void op_create(Next next, void (*function)(), Int *commute, Int *op, Int *ierror) {
  if (succeeds(next, ierror, function, commute, op))
    remember_operation(op_of(op), reinterpret_cast<MPI_User_function *>(function), *commute, Language::fortran);
}

template <typename Next>
void op_free(Next next, Int *op, Int *ierror) {
  const MPI_Op handle = op_of(op);
  if (succeeds(next, ierror, op)) forget_operation(handle);
}

// MPI_IPROBE and MPI_IMPROBE. Every compiler's .false. is 0.
template <typename Next, typename... Arguments>
void probe(Next next, const Int *flag, Int *ierror, Arguments... arguments) {
  Int error = MPI_SUCCESS;
  next(arguments..., &error);
  if (error == MPI_SUCCESS)
    after_probe(*flag != 0, [&] {
      next(arguments..., &error);
      return error != MPI_SUCCESS || *flag != 0;
    });
  if (ierror != nullptr) *ierror = error;
}

// MPI_COMM_FREE and MPI_COMM_DISCONNECT.
template <typename Next>
void comm_end(Next next, Int *comm, Int *ierror) {
  const Ending ending(comm_of(comm));
  next(comm, ierror);
}

// MPICH's MPI_INIT may come by MPI_Init, which has started up then.
template <typename Next, typename... Arguments>
void init(Next next, Int *ierror, Arguments... arguments) {
  announce_presence();
  if (succeeds(next, ierror, arguments...)) start_up();
}

template <typename Next>
void finalize(Next next, Int *ierror) {
  shut_down();
  next(ierror);
  end_presence();
}

}  // namespace

// Defines one symbol; `...` is what it does, knowing the `next` of that name.
#define COLL_FORTRAN_SYMBOL(symbol, parameters, ...)                 \
  extern "C" [[gnu::visibility("default")]] void symbol parameters { \
    static const auto next = next_of(#symbol, symbol);               \
    __VA_ARGS__;                                                     \
  }
#define COLL_FORTRAN_ALIAS(symbol, of) extern "C" [[gnu::visibility("default"), gnu::alias(#of)]] decltype(of) symbol;

#define COLL_FORTRAN_08(name, parameters, ...) COLL_FORTRAN_SYMBOL(mpi_##name##_f08_, parameters, __VA_ARGS__)

#ifdef OPEN_MPI
#define COLL_FORTRAN_ALL(name, NAME, parameters, ...)         \
  COLL_FORTRAN_SYMBOL(mpi_##name##_, parameters, __VA_ARGS__) \
  COLL_FORTRAN_ALIAS(mpi_##name, mpi_##name##_)               \
  COLL_FORTRAN_ALIAS(mpi_##name##__, mpi_##name##_)           \
  COLL_FORTRAN_ALIAS(MPI_##NAME, mpi_##name##_)               \
  COLL_FORTRAN_08(name, parameters, __VA_ARGS__)
#define COLL_FORTRAN_WITH_BUFFER COLL_FORTRAN_ALL
#define COLL_FORTRAN_WITHOUT_BUFFER COLL_FORTRAN_ALL
#else
#define COLL_FORTRAN_WITH_BUFFER(...)
#define COLL_FORTRAN_WITHOUT_BUFFER(name, NAME, parameters, ...) COLL_FORTRAN_08(name, parameters, __VA_ARGS__)
#endif

COLL_FORTRAN_WITHOUT_BUFFER(barrier, BARRIER, (Int * comm, Int *ierror),
                            settle(take_barrier(comm_of(comm)), next, ierror, comm))

COLL_FORTRAN_WITH_BUFFER(bcast, BCAST, (void *buffer, Int *count, Int *type, Int *root, Int *comm, Int *ierror),
                         settle(take_bcast(address(buffer), *count, type_of(type), *root, comm_of(comm)), next, ierror,
                                buffer, count, type, root, comm))

COLL_FORTRAN_WITH_BUFFER(reduce, REDUCE,
                         (void *send, void *recv, Int *count, Int *type, Int *op, Int *root, Int *comm, Int *ierror),
                         settle(take_reduce(address(send), address(recv), *count, type_of(type), op_of(op), *root,
                                            comm_of(comm)),
                                next, ierror, send, recv, count, type, op, root, comm))

COLL_FORTRAN_WITH_BUFFER(allreduce, ALLREDUCE,
                         (void *send, void *recv, Int *count, Int *type, Int *op, Int *comm, Int *ierror),
                         settle(take_allreduce(address(send), address(recv), *count, type_of(type), op_of(op),
                                               comm_of(comm)),
                                next, ierror, send, recv, count, type, op, comm))

COLL_FORTRAN_WITH_BUFFER(reduce_scatter, REDUCE_SCATTER,
                         (void *send, void *recv, Int *counts, Int *type, Int *op, Int *comm, Int *ierror),
                         settle(take_reduce_scatter(address(send), address(recv), counts, type_of(type), op_of(op),
                                                    comm_of(comm)),
                                next, ierror, send, recv, counts, type, op, comm))

COLL_FORTRAN_WITH_BUFFER(reduce_scatter_block, REDUCE_SCATTER_BLOCK,
                         (void *send, void *recv, Int *count, Int *type, Int *op, Int *comm, Int *ierror),
                         settle(take_reduce_scatter_block(address(send), address(recv), *count, type_of(type),
                                                          op_of(op), comm_of(comm)),
                                next, ierror, send, recv, count, type, op, comm))

COLL_FORTRAN_WITH_BUFFER(scan, SCAN, (void *send, void *recv, Int *count, Int *type, Int *op, Int *comm, Int *ierror),
                         settle(take_scan(address(send), address(recv), *count, type_of(type), op_of(op),
                                          comm_of(comm)),
                                next, ierror, send, recv, count, type, op, comm))

COLL_FORTRAN_WITH_BUFFER(exscan, EXSCAN,
                         (void *send, void *recv, Int *count, Int *type, Int *op, Int *comm, Int *ierror),
                         settle(take_exscan(address(send), address(recv), *count, type_of(type), op_of(op),
                                            comm_of(comm)),
                                next, ierror, send, recv, count, type, op, comm))

COLL_FORTRAN_WITH_BUFFER(gather, GATHER,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type,
                          Int *root, Int *comm, Int *ierror),
                         settle(take_gather(address(send), *send_count, type_of(send_type), address(recv), *recv_count,
                                            type_of(recv_type), *root, comm_of(comm)),
                                next, ierror, send, send_count, send_type, recv, recv_count, recv_type, root, comm))

COLL_FORTRAN_WITH_BUFFER(gatherv, GATHERV,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_counts, Int *displs,
                          Int *recv_type, Int *root, Int *comm, Int *ierror),
                         settle(take_gatherv(address(send), *send_count, type_of(send_type), address(recv), recv_counts,
                                             displs, type_of(recv_type), *root, comm_of(comm)),
                                next, ierror, send, send_count, send_type, recv, recv_counts, displs, recv_type, root,
                                comm))

COLL_FORTRAN_WITH_BUFFER(scatter, SCATTER,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type,
                          Int *root, Int *comm, Int *ierror),
                         settle(take_scatter(address(send), *send_count, type_of(send_type), address(recv), *recv_count,
                                             type_of(recv_type), *root, comm_of(comm)),
                                next, ierror, send, send_count, send_type, recv, recv_count, recv_type, root, comm))

COLL_FORTRAN_WITH_BUFFER(scatterv, SCATTERV,
                         (void *send, Int *send_counts, Int *displs, Int *send_type, void *recv, Int *recv_count,
                          Int *recv_type, Int *root, Int *comm, Int *ierror),
                         settle(take_scatterv(address(send), send_counts, displs, type_of(send_type), address(recv),
                                              *recv_count, type_of(recv_type), *root, comm_of(comm)),
                                next, ierror, send, send_counts, displs, send_type, recv, recv_count, recv_type, root,
                                comm))

COLL_FORTRAN_WITH_BUFFER(allgather, ALLGATHER,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type,
                          Int *comm, Int *ierror),
                         settle(take_allgather(address(send), *send_count, type_of(send_type), address(recv),
                                               *recv_count, type_of(recv_type), comm_of(comm)),
                                next, ierror, send, send_count, send_type, recv, recv_count, recv_type, comm))

COLL_FORTRAN_WITH_BUFFER(allgatherv, ALLGATHERV,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_counts, Int *displs,
                          Int *recv_type, Int *comm, Int *ierror),
                         settle(take_allgatherv(address(send), *send_count, type_of(send_type), address(recv),
                                                recv_counts, displs, type_of(recv_type), comm_of(comm)),
                                next, ierror, send, send_count, send_type, recv, recv_counts, displs, recv_type, comm))

COLL_FORTRAN_WITH_BUFFER(alltoall, ALLTOALL,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type,
                          Int *comm, Int *ierror),
                         settle(take_alltoall(address(send), *send_count, type_of(send_type), address(recv),
                                              *recv_count, type_of(recv_type), comm_of(comm)),
                                next, ierror, send, send_count, send_type, recv, recv_count, recv_type, comm))

COLL_FORTRAN_WITH_BUFFER(alltoallv, ALLTOALLV,
                         (void *send, Int *send_counts, Int *send_displs, Int *send_type, void *recv, Int *recv_counts,
                          Int *recv_displs, Int *recv_type, Int *comm, Int *ierror),
                         settle(take_alltoallv(address(send), send_counts, send_displs, type_of(send_type),
                                               address(recv), recv_counts, recv_displs, type_of(recv_type),
                                               comm_of(comm)),
                                next, ierror, send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs,
                                recv_type, comm))

// `base` is where the pointer goes, an integer or a TYPE(C_PTR); for the latter Open MPI has a name of its own.
COLL_FORTRAN_WITHOUT_BUFFER(alloc_mem, ALLOC_MEM, (MPI_Aint * bytes, Int *info, void *base, Int *ierror),
                            settle(take_alloc_mem(*bytes, *info != info_null, base), next, ierror, bytes, info, base))
#ifdef OPEN_MPI
COLL_FORTRAN_WITHOUT_BUFFER(alloc_mem_cptr, ALLOC_MEM_CPTR, (MPI_Aint * bytes, Int *info, void *base, Int *ierror),
                            settle(take_alloc_mem(*bytes, *info != info_null, base), next, ierror, bytes, info, base))
#endif

COLL_FORTRAN_WITH_BUFFER(free_mem, FREE_MEM, (void *base, Int *ierror), settle(take_free_mem(base), next, ierror, base))

COLL_FORTRAN_WITHOUT_BUFFER(op_create, OP_CREATE, (void (*function)(), Int *commute, Int *op, Int *ierror),
                            op_create(next, function, commute, op, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(op_free, OP_FREE, (Int * op, Int *ierror), op_free(next, op, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(iprobe, IPROBE, (Int * source, Int *tag, Int *comm, Int *flag, Int *status, Int *ierror),
                            probe(next, flag, ierror, source, tag, comm, flag, status))

COLL_FORTRAN_WITHOUT_BUFFER(improbe, IMPROBE,
                            (Int * source, Int *tag, Int *comm, Int *flag, Int *message, Int *status, Int *ierror),
                            probe(next, flag, ierror, source, tag, comm, flag, message, status))

#define COLL_FORTRAN_SEND(name, NAME)                                                                             \
  COLL_FORTRAN_WITH_BUFFER(                                                                                       \
      name, NAME, (void *buffer, Int *count, Int *type, Int *to, Int *tag, Int *comm, Int *request, Int *ierror), \
      note_sent();                                                                                                \
      next(buffer, count, type, to, tag, comm, request, ierror))
COLL_FORTRAN_SEND(isend, ISEND)
COLL_FORTRAN_SEND(issend, ISSEND)
COLL_FORTRAN_SEND(irsend, IRSEND)
COLL_FORTRAN_SEND(ibsend, IBSEND)

COLL_FORTRAN_WITHOUT_BUFFER(comm_free, COMM_FREE, (Int * comm, Int *ierror), comm_end(next, comm, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(comm_disconnect, COMM_DISCONNECT, (Int * comm, Int *ierror), comm_end(next, comm, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(init, INIT, (Int * ierror), init(next, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(init_thread, INIT_THREAD, (Int * required, Int *provided, Int *ierror),
                            init(next, ierror, required, provided))

COLL_FORTRAN_WITHOUT_BUFFER(finalize, FINALIZE, (Int * ierror), finalize(next, ierror))
