// SPDX-License-Identifier: BSD-3-Clause
// Common parts of the Fortran entry points: handles, addresses, and the macros that define the symbols. Only for files
// that define entry points.
//
// Open MPI's mpif.h and `use mpi` call mpi_bcast_ (or one of four other spellings), `use mpi_f08` calls mpi_bcast_f08_,
// and both call internals of the library, not MPI_Bcast. MPICH's call MPI_Bcast, except the calls of mpi_f08 without a
// buffer, which call PMPI_ functions. Handles are INTEGERs, or derived types that contain one, which is the same when
// passed by reference. In mpi_f08, ierror is optional; if it is absent, it is NULL.
#pragma once

#include "mpi/call.h"
#include "mpi/library.h"
#include "mpi/spending.h"

#include <atomic>
#include <cstddef>

namespace coll::shim {
namespace {

using Int = MPI_Fint;
static_assert(sizeof(Int) == sizeof(int), "arrays of INTEGER are handed on as arrays of int");

#ifdef OPEN_MPI
// Converts Fortran's numbers of one kind of handle. The predefined handles have small numbers, which no other handle
// ever gets, so they are looked up once.
template <typename Handle>
class Numbers {
 public:
  using Convert = Handle(Int);
  using IsOwn = bool(Handle);

  [[gnu::always_inline]] Handle of(Int number, Convert *convert, IsOwn *is_own) {
    const auto index = static_cast<std::size_t>(number);
    if (index < small) [[likely]]
      if (const Handle own = own_[index].load(std::memory_order_relaxed)) [[likely]]
        return own;
    return resolve(index, convert(number), is_own);
  }

 private:
  [[gnu::noinline]] Handle resolve(std::size_t index, Handle handle, IsOwn *is_own) {
    if (index >= small || handle == nullptr || another_[index].load(std::memory_order_relaxed)) return handle;
    if (is_own(handle)) own_[index].store(handle, std::memory_order_relaxed);
    else another_[index].store(true, std::memory_order_relaxed);
    return handle;
  }

  static constexpr std::size_t small = 128;
  std::atomic<Handle> own_[small] = {};
  std::atomic<bool> another_[small] = {};  // not a predefined handle
};

bool is_own_comm(MPI_Comm comm) { return comm == mpi.world || comm == mpi.self; }

bool is_own_type(MPI_Datatype type) {
  int combiner = MPI_UNDEFINED, integers, addresses, types;
  return type != mpi.no_datatype &&
         mpi.Type_get_envelope(type, &integers, &addresses, &types, &combiner) == MPI_SUCCESS &&
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

inline MPI_Comm comm_of(const Int *comm) { return comms.of(*comm, mpi.Comm_f2c, is_own_comm); }
inline MPI_Datatype type_of(const Int *type) { return types.of(*type, mpi.Type_f2c, is_own_type); }
inline MPI_Op op_of(const Int *op) { return ops.of(*op, mpi.Op_f2c, is_own_op); }
constexpr Int info_null = 0;

// MPI_BOTTOM and MPI_IN_PLACE of Fortran are variables, which the call passes by reference. Their addresses are set by
// the first call of any entry point.
constinit std::atomic<const void *> in_place{}, bottom{};

inline void *address(void *buffer) {
  if (buffer == in_place.load(std::memory_order_relaxed)) return MPI_IN_PLACE;
  return buffer == bottom.load(std::memory_order_relaxed) ? MPI_BOTTOM : buffer;
}
#else
inline MPI_Comm comm_of(const Int *comm) { return *comm; }
inline MPI_Op op_of(const Int *op) { return *op; }
constexpr Int info_null = MPI_INFO_NULL;
#endif

// The next definition of an entry point.
template <typename Function>
Function *next_of(const char *name, Function *) {
  mpi_library();  // ends the process if the shim is for another library
#ifdef OPEN_MPI
  in_place.store(variable("mpi_fortran_in_place_"), std::memory_order_relaxed);
  bottom.store(variable("mpi_fortran_bottom_"), std::memory_order_relaxed);
#endif
  return reinterpret_cast<Function *>(next_fortran(name));
}

template <typename Next, typename... Arguments>
void finish_or_forward(int result, Next next, Int *ierror, Arguments... arguments) {
  if (result == not_intercepted) forward(next, arguments..., ierror);
  else if (ierror != nullptr) *ierror = result;
}

}  // namespace
}  // namespace coll::shim

// Defines one symbol; `...` is its body, in which `next` is the next definition.
#define COLL_FORTRAN_SYMBOL(symbol, parameters, ...)                 \
  extern "C" [[gnu::visibility("default")]] void symbol parameters { \
    static const auto next = next_of(#symbol, symbol);               \
    __VA_ARGS__;                                                     \
  }
#define COLL_FORTRAN_ALIAS(symbol, of) extern "C" [[gnu::visibility("default"), gnu::alias(#of)]] decltype(of) symbol;

#ifdef OPEN_MPI
// name: mpi_bcast; NAME: MPI_BCAST.
#define COLL_FORTRAN_NAMED(name, NAME, parameters, ...) \
  COLL_FORTRAN_SYMBOL(name##_, parameters, __VA_ARGS__) \
  COLL_FORTRAN_ALIAS(name, name##_)                     \
  COLL_FORTRAN_ALIAS(name##__, name##_)                 \
  COLL_FORTRAN_ALIAS(NAME, name##_)                     \
  COLL_FORTRAN_SYMBOL(name##_f08_, parameters, __VA_ARGS__)
#define COLL_FORTRAN_ALL(name, NAME, parameters, ...) \
  COLL_FORTRAN_NAMED(mpi_##name, MPI_##NAME, parameters, __VA_ARGS__)
#define COLL_FORTRAN_WITH_BUFFER COLL_FORTRAN_ALL
#define COLL_FORTRAN_WITHOUT_BUFFER COLL_FORTRAN_ALL
#else
#define COLL_FORTRAN_WITH_BUFFER(...)
#define COLL_FORTRAN_WITHOUT_BUFFER(name, NAME, parameters, ...) \
  COLL_FORTRAN_SYMBOL(mpi_##name##_f08_, parameters, __VA_ARGS__)
#endif
