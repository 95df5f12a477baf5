// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/operations.h"

#include "mpi/handle_cache.h"
#include "mpi/library.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

namespace coll::shim {
namespace {

struct NamedOperation {
  std::uint64_t handle;
  Operation operation;
};
constexpr std::size_t named_operations = 12;
NamedOperation named_table[named_operations];

// The program's function of a user-defined operation.
struct UserFunction {
  MPI_User_function *function;
  Language language;
};

// The function together with a datatype that it is called with: an operation of libcoll.
struct BoundFunction : UserFunction {
  MPI_Datatype datatype;
  std::size_t extent_bytes;
  coll_op op = 0;
  MPI_Datatype holder{};  // a duplicate that keeps the datatype's handle valid if the program frees the datatype
  bool holds = false;
  ~BoundFunction() {
    if (op != 0) coll_op_free(op);
    if (holds) mpi.Type_free(&holder);
  }
};

struct UserOperation : Operation, UserFunction {
  std::vector<std::shared_ptr<BoundFunction>> bound;  // guarded by user_mutex
  ~UserOperation() { coll_op_free(op); }
};

std::mutex user_mutex;
std::unordered_map<std::uint64_t, std::unique_ptr<UserOperation>> &user_operations() {
  // Never destroyed: the program may reduce until it ends.
  static auto *table = new std::unordered_map<std::uint64_t, std::unique_ptr<UserOperation>>;
  return *table;
}
thread_local HandleCache<const Operation> cache;

// The datatype of the thread's current reduction, and the extent of one element.
thread_local MPI_Datatype current_datatype;
thread_local std::size_t current_extent_bytes;

// Fortran's functions are called like C's, but with another handle; in MPICH both kinds of handles are equal.
void call(const UserFunction &operation, MPI_Datatype datatype, void *from, void *to, int length) {
#ifdef OPEN_MPI
  if (operation.language == Language::fortran) {
    MPI_Fint handle = mpi.Type_c2f(datatype);
    reinterpret_cast<void (*)(void *, void *, int *, MPI_Fint *)>(operation.function)(from, to, &length, &handle);
    return;
  }
#endif
  operation.function(from, to, &length, &datatype);
}

// libcoll and MPI have the same convention: the first operand is that of the lower ranks. MPI counts in an int, so
// longer vectors need several calls.
void call_in_parts(const UserFunction &operation, MPI_Datatype datatype, std::size_t extent_bytes, const void *in,
                   void *inout, size_t count) {
  auto *from = static_cast<char *>(const_cast<void *>(in));
  auto *to = static_cast<char *>(inout);
  while (count > 0) {
    const int length = static_cast<int>(std::min<std::size_t>(count, INT_MAX));
    const std::size_t bytes = static_cast<std::size_t>(length) * extent_bytes;
    count -= static_cast<std::size_t>(length);
    call(operation, datatype, from, to, length);
    from += bytes;
    to += bytes;
  }
}

void call_user_function(const void *in, void *inout, size_t count, coll_datatype, void *context) {
  const auto &operation = *static_cast<UserOperation *>(context);
  call_in_parts(operation, current_datatype, current_extent_bytes, in, inout, count);
}

void call_bound_function(const void *in, void *inout, size_t count, coll_datatype, void *context) {
  const auto &bound = *static_cast<BoundFunction *>(context);
  call_in_parts(bound, bound.datatype, bound.extent_bytes, in, inout, count);
}

const Operation *user_operation(std::uint64_t handle) {
  if (const Operation *known = cache.find(handle)) return known;
  const std::lock_guard lock(user_mutex);
  const auto entry = user_operations().find(handle);
  if (entry == user_operations().end()) return nullptr;
  cache.store(handle, entry->second.get());
  return entry->second.get();
}

const Operation *operation_of(std::uint64_t handle) {
  for (const NamedOperation &named : named_table)
    if (named.handle == handle) return &named.operation;
  return user_operation(handle);
}

// Returns an empty pointer if there is no memory, or the operation has been freed.
std::shared_ptr<BoundFunction> bind(MPI_Op op, MPI_Datatype datatype, std::size_t extent_bytes) {
  const std::lock_guard lock(user_mutex);
  const auto entry = user_operations().find(handle_bits(op));
  if (entry == user_operations().end()) return nullptr;
  UserOperation &operation = *entry->second;
  for (const std::shared_ptr<BoundFunction> &bound : operation.bound)
    if (bound->datatype == datatype) return bound;
  try {
    auto bound = std::make_shared<BoundFunction>();
    static_cast<UserFunction &>(*bound) = operation;
    bound->datatype = datatype;
    bound->extent_bytes = extent_bytes;
    // The handle of a datatype that the program frees may be reused for another one: only predefined ones are kept for
    // the next call.
    const bool lasts = is_predefined(datatype);
    if (!lasts) bound->holds = mpi.Type_dup(datatype, &bound->holder) == MPI_SUCCESS;
    if (!lasts && !bound->holds) return nullptr;
    if (coll_op_create(call_bound_function, operation.commutes, bound.get(), &bound->op) != COLL_OK) return nullptr;
    if (lasts) operation.bound.push_back(bound);
    return bound;
  } catch (const std::bad_alloc &) { return nullptr; }
}

}  // namespace

void load_operations() {
  const struct {
    MPI_Op handle;
    coll_op op;
  } all[named_operations] = {
      {MPI_SUM, COLL_SUM},   {MPI_MAX, COLL_MAX},   {MPI_MIN, COLL_MIN},       {MPI_PROD, COLL_PROD},
      {MPI_LAND, COLL_LAND}, {MPI_LOR, COLL_LOR},   {MPI_LXOR, COLL_LXOR},     {MPI_BAND, COLL_BAND},
      {MPI_BOR, COLL_BOR},   {MPI_BXOR, COLL_BXOR}, {MPI_MINLOC, COLL_MINLOC}, {MPI_MAXLOC, COLL_MAXLOC},
  };
  for (std::size_t i = 0; i < named_operations; i++)
    named_table[i] = {handle_bits(all[i].handle), {all[i].op, false, true}};
}

void add_operation(MPI_Op handle, MPI_User_function *function, int commute, Language language) {
  try {
    auto operation = std::make_unique<UserOperation>();
    operation->is_user = true;
    operation->commutes = commute != 0;
    operation->function = function;
    operation->language = language;
    if (coll_op_create(call_user_function, commute, operation.get(), &operation->op) != COLL_OK) {
      operation->op = 0;
      return;
    }
    const std::lock_guard lock(user_mutex);
    user_operations()[handle_bits(handle)] = std::move(operation);
  } catch (const std::bad_alloc &) {
    // The operation stays unknown, so reductions by it are forwarded.
  }
}

void remove_operation(MPI_Op handle) {
  HandleCache<const Operation>::invalidate_all();
  const std::lock_guard lock(user_mutex);
  user_operations().erase(handle_bits(handle));
}

bool reduction_of(MPI_Datatype datatype, MPI_Op op, Reduction *reduction) {
  const Operation *operation = operation_of(handle_bits(op));
  if (operation == nullptr) return false;
  const Datatype *element = datatype_of(datatype);
  if (element == nullptr) return false;
  const auto bytes = static_cast<std::size_t>(element->extent_bytes);
  *reduction = {COLL_TYPE_BYTES(bytes), operation->op, operation->commutes, bytes, datatype, op, false, 0, 0};
  if (!operation->is_user && element->pair != RealPair::none) {
    reduction->op = location_of(element->pair, operation->op);
    return reduction->op != 0;
  }
  if (!operation->is_user) {
    reduction->type = element->type;
    return (element->ops >> operation->op & 1u) != 0;
  }
  if (!element->block) {
    if (!element->padded) return false;
    reduction->padded = true;
    reduction->data_bytes = element->size_bytes;
    reduction->data_end_bytes = element->data_end_bytes;
  }
  current_datatype = datatype;
  current_extent_bytes = bytes;
  return true;
}

bool lasting_reduction_of(MPI_Datatype datatype, MPI_Op op, Reduction *reduction, std::shared_ptr<void> *keeper) {
  if (!reduction_of(datatype, op, reduction) || reduction->padded) return false;
  const Operation *operation = operation_of(handle_bits(op));
  if (!operation->is_user) return true;
  const std::shared_ptr<BoundFunction> bound = bind(op, datatype, reduction->element_bytes);
  if (bound == nullptr) return false;
  reduction->op = bound->op;
  *keeper = bound;
  return true;
}

}  // namespace coll::shim
