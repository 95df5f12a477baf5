// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/datatypes.h"

#include "mpi/communicators.h"
#include "mpi/handle_cache.h"
#include "mpi/library.h"
#include "mpi/typemap.h"

#include <new>

namespace coll::shim {
namespace {

// MPI has no query for this; MPI_Pack of zero elements fails if the datatype is not committed, or is none. Under MPICH the
// handler of its communicator learns of that: see QuietErrors.
bool is_committed(MPI_Datatype handle) {
  char nothing[16] = {};
  int position = 0;
  return mpi.Pack(nothing, 0, handle, nothing, sizeof nothing, &position, private_communicator()) == MPI_SUCCESS;
}

// ---- predefined datatypes: a table, filled once, read without locks ------------------------------------------

// The classes of datatypes for which MPI defines operations (MPI 3.1, 5.9.2).
enum class Class { c_integer, fortran_integer, address, real, complex, logical, byte, pair, opaque };

struct Named {
  MPI_Datatype handle;
  Class group;
  coll_datatype type;  // 0: determined by the size
  bool is_unsigned = false;
};

constexpr std::uint32_t bit(coll_op op) { return 1u << op; }
constexpr std::uint32_t arithmetic = bit(COLL_SUM) | bit(COLL_PROD);
constexpr std::uint32_t order = bit(COLL_MIN) | bit(COLL_MAX);
constexpr std::uint32_t logical = bit(COLL_LAND) | bit(COLL_LOR) | bit(COLL_LXOR);
constexpr std::uint32_t bitwise = bit(COLL_BAND) | bit(COLL_BOR) | bit(COLL_BXOR);
constexpr std::uint32_t location = bit(COLL_MINLOC) | bit(COLL_MAXLOC);

// User-defined operations on larger elements are forwarded.
constexpr std::ptrdiff_t largest_block = 4096;

std::uint32_t ops_of(Class group) {
  switch (group) {
    case Class::c_integer: return arithmetic | order | logical | bitwise;
    case Class::fortran_integer:
    case Class::address: return arithmetic | order | bitwise;
    case Class::real: return arithmetic | order;
    case Class::complex: return arithmetic;
    case Class::logical: return logical;
    case Class::byte: return bitwise;
    case Class::pair: return location;
    case Class::opaque: return 0;
  }
  return 0;
}

coll_datatype integer_of_size(std::size_t size_bytes, bool is_unsigned) {
  switch (size_bytes) {
    case 1: return is_unsigned ? COLL_UINT8 : COLL_INT8;
    case 2: return is_unsigned ? COLL_UINT16 : COLL_INT16;
    case 4: return is_unsigned ? COLL_UINT32 : COLL_INT32;
    case 8: return is_unsigned ? COLL_UINT64 : COLL_INT64;
    default: return 0;
  }
}

coll_datatype type_of(const Named &named, std::size_t size_bytes) {
  if (named.type != 0) return named.type;
  switch (named.group) {
    case Class::c_integer:
    case Class::fortran_integer:
    case Class::address: return integer_of_size(size_bytes, named.is_unsigned);
    // Not 16 bytes: C's long double and Fortran's quadruple precision differ.
    case Class::real: return size_bytes == 4 ? COLL_FLOAT : size_bytes == 8 ? COLL_DOUBLE : 0;
    // gfortran's .true. is 1, and both libraries combine LOGICALs as C combines integers.
    case Class::logical: return integer_of_size(size_bytes, false);
    case Class::complex: return size_bytes == 8 ? COLL_COMPLEX_FLOAT : size_bytes == 16 ? COLL_COMPLEX_DOUBLE : 0;
    default: return 0;
  }
}

class NamedTable {
 public:
  const Datatype *find(std::uint64_t handle) const {
    for (std::size_t i = slot_of(handle);; i = (i + 1) % slots) {
      if (slots_[i].handle == 0) return nullptr;
      if (slots_[i].handle == handle) return &slots_[i].datatype;
    }
  }

  void add(std::uint64_t handle, const Datatype &datatype) {
    std::size_t i = slot_of(handle);
    while (slots_[i].handle != 0 && slots_[i].handle != handle) i = (i + 1) % slots;
    if (slots_[i].handle == 0) slots_[i] = {handle, datatype};  // several names of one datatype: keeps the first one
  }

 private:
  static constexpr std::size_t slots = 256;  // about seventy are used
  struct Slot {
    std::uint64_t handle;  // 0: empty; no library has a datatype with this handle
    Datatype datatype;
  };
  static std::size_t slot_of(std::uint64_t handle) { return (handle * 0x9e3779b97f4a7c15u) >> 56; }

  Slot slots_[slots] = {};
};

NamedTable named_table;

void load(const Named &named) {
  if (named.handle == MPI_Datatype{} || named.handle == MPI_DATATYPE_NULL || !is_committed(named.handle)) return;
  int size = 0;
  MPI_Aint lower, extent;
  if (mpi.Type_size(named.handle, &size) != MPI_SUCCESS || size <= 0 ||
      mpi.Type_get_extent(named.handle, &lower, &extent) != MPI_SUCCESS || lower != 0)
    return;

  Datatype datatype{};
  datatype.size_bytes = static_cast<std::size_t>(size);
  datatype.extent_bytes = extent;
  datatype.type = type_of(named, datatype.size_bytes);
  if (coll_datatype_size(datatype.type) != static_cast<std::size_t>(extent)) datatype.type = 0;
  if (datatype.type != 0)
    for (coll_op op = COLL_SUM; op <= COLL_MAXLOC; op++)
      if ((ops_of(named.group) & bit(op)) != 0 && coll_op_defined(op, datatype.type)) datatype.ops |= bit(op);
  if (named.handle == MPI_2REAL && size == 8) datatype.pair = RealPair::single;
  if (named.handle == MPI_2DOUBLE_PRECISION && size == 16) datatype.pair = RealPair::twice;
  datatype.vector_in_order = datatype.element_in_order = extent == size;
  datatype.block = extent <= largest_block;
  named_table.add(handle_bits(named.handle), datatype);
}

void load_predefined() {
  using enum Class;
  const Named all[] = {
      {MPI_SIGNED_CHAR, c_integer, 0},
      {MPI_SHORT, c_integer, 0},
      {MPI_INT, c_integer, 0},
      {MPI_LONG, c_integer, 0},
      {MPI_LONG_LONG, c_integer, 0},
      {MPI_UNSIGNED_CHAR, c_integer, 0, true},
      {MPI_UNSIGNED_SHORT, c_integer, 0, true},
      {MPI_UNSIGNED, c_integer, 0, true},
      {MPI_UNSIGNED_LONG, c_integer, 0, true},
      {MPI_UNSIGNED_LONG_LONG, c_integer, 0, true},
      {MPI_INT8_T, c_integer, 0},
      {MPI_INT16_T, c_integer, 0},
      {MPI_INT32_T, c_integer, 0},
      {MPI_INT64_T, c_integer, 0},
      {MPI_UINT8_T, c_integer, 0, true},
      {MPI_UINT16_T, c_integer, 0, true},
      {MPI_UINT32_T, c_integer, 0, true},
      {MPI_UINT64_T, c_integer, 0, true},
      {MPI_INTEGER, fortran_integer, 0},
      {MPI_INTEGER1, fortran_integer, 0},
      {MPI_INTEGER2, fortran_integer, 0},
      {MPI_INTEGER4, fortran_integer, 0},
      {MPI_INTEGER8, fortran_integer, 0},
      {MPI_AINT, address, 0},
      {MPI_OFFSET, address, 0},
      {MPI_COUNT, address, 0},
      {MPI_FLOAT, real, 0},
      {MPI_DOUBLE, real, 0},
      {MPI_LONG_DOUBLE, real, COLL_LONG_DOUBLE},
      {MPI_REAL, real, 0},
      {MPI_REAL4, real, 0},
      {MPI_REAL8, real, 0},
      {MPI_DOUBLE_PRECISION, real, 0},
      {MPI_C_FLOAT_COMPLEX, complex, 0},
      {MPI_C_DOUBLE_COMPLEX, complex, 0},
      {MPI_C_LONG_DOUBLE_COMPLEX, complex, COLL_COMPLEX_LONG_DOUBLE},
      {MPI_CXX_FLOAT_COMPLEX, complex, 0},
      {MPI_CXX_DOUBLE_COMPLEX, complex, 0},
      {MPI_CXX_LONG_DOUBLE_COMPLEX, complex, COLL_COMPLEX_LONG_DOUBLE},
      {MPI_COMPLEX, complex, 0},
      {MPI_DOUBLE_COMPLEX, complex, 0},
      {MPI_COMPLEX8, complex, 0},
      {MPI_COMPLEX16, complex, 0},
      {MPI_LOGICAL, Class::logical, 0},
      {MPI_C_BOOL, Class::logical, COLL_BOOL},
      {MPI_CXX_BOOL, Class::logical, COLL_BOOL},
      {MPI_BYTE, byte, COLL_BYTE},
      {MPI_FLOAT_INT, pair, COLL_FLOAT_INT},
      {MPI_DOUBLE_INT, pair, COLL_DOUBLE_INT},
      {MPI_LONG_INT, pair, COLL_LONG_INT},
      {MPI_2INT, pair, COLL_INT_INT},
      {MPI_SHORT_INT, pair, COLL_SHORT_INT},
      {MPI_LONG_DOUBLE_INT, pair, COLL_LONG_DOUBLE_INT},
      {MPI_2INTEGER, pair, COLL_INT_INT},
      // For data movement only.
      {MPI_CHAR, opaque, 0},
      {MPI_WCHAR, opaque, 0},
      {MPI_PACKED, opaque, 0},
      {MPI_CHARACTER, opaque, 0},
      {MPI_REAL16, opaque, 0},
      {MPI_COMPLEX32, opaque, 0},
      {MPI_2REAL, opaque, 0},
      {MPI_2DOUBLE_PRECISION, opaque, 0},
  };
  for (const Named &named : all) load(named);
}

// ---- derived datatypes: an attribute of the datatype ----------------------------------------------------------

int keyval = MPI_KEYVAL_INVALID;
thread_local HandleCache<const Datatype> derived_cache;

int delete_datatype(MPI_Datatype, int, void *value, void *) {
  HandleCache<const Datatype>::invalidate_all();
  delete static_cast<Datatype *>(value);
  return MPI_SUCCESS;
}

// A duplicate has the same layout, but its own lifetime: it is examined when it is first used.
int keep_from_duplicate(MPI_Datatype, int, void *, void *, void *, int *flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

const Datatype *examine(MPI_Datatype handle) {
  MPI_Count size, lower, extent, true_lower, true_extent;
  if (mpi.COLL_SHIM_COUNT(Type_size)(handle, &size) != MPI_SUCCESS || size < 0 ||
      mpi.COLL_SHIM_COUNT(Type_get_extent)(handle, &lower, &extent) != MPI_SUCCESS ||
      mpi.COLL_SHIM_COUNT(Type_get_true_extent)(handle, &true_lower, &true_extent) != MPI_SUCCESS)
    return nullptr;

  Datatype *datatype = new (std::nothrow) Datatype{};
  if (datatype == nullptr) return nullptr;
  datatype->size_bytes = static_cast<std::size_t>(size);
  datatype->extent_bytes = extent;
  // Some programs create a datatype for each call: so the constructor is only read if the data can be contiguous at
  // all.
  datatype->element_in_order = true_lower == 0 && true_extent == size && element_in_order(handle);
  datatype->vector_in_order = datatype->element_in_order && lower == 0 && extent == size;
  // Only sizes decide, not the constructor: ranks that describe the same elements in different ways get the same
  // answer.
  datatype->block =
      lower == 0 && true_lower == 0 && extent == size && true_extent == size && size > 0 && size <= largest_block;
  datatype->padded = !datatype->block && lower == 0 && true_lower >= 0 && true_lower + true_extent <= extent &&
                     size > 0 && size <= true_extent && extent <= largest_block;
  datatype->data_end_bytes = static_cast<std::size_t>(true_lower + true_extent);
  if (mpi.Type_set_attr(handle, keyval, datatype) != MPI_SUCCESS) {
    delete datatype;
    return nullptr;
  }
  return datatype;
}

// Not inlined, because datatype_of() would then save registers for it in every call.
[[gnu::noinline]] const Datatype *derived(MPI_Datatype handle) {
  if (!may_be_datatype(handle) || handle == mpi.no_datatype || keyval == MPI_KEYVAL_INVALID) return nullptr;
  const QuietErrors quiet;
  if (!is_committed(handle)) return nullptr;
  void *value = nullptr;
  int flag = 0;
  if (mpi.Type_get_attr(handle, keyval, &value, &flag) != MPI_SUCCESS) return nullptr;
  const Datatype *datatype = flag != 0 ? static_cast<const Datatype *>(value) : examine(handle);
  if (datatype != nullptr) derived_cache.store(handle_bits(handle), datatype);
  return datatype;
}

}  // namespace

bool load_datatypes() {
  {
    const QuietErrors quiet;  // the standard ABI has datatypes that a library may lack
    load_predefined();
  }
  return mpi.Type_create_keyval(keep_from_duplicate, delete_datatype, &keyval, nullptr) == MPI_SUCCESS;
}

void unload_datatypes() {
  if (keyval != MPI_KEYVAL_INVALID) mpi.Type_free_keyval(&keyval);
}

const Datatype *datatype_of(MPI_Datatype handle) {
  if (const Datatype *named = named_table.find(handle_bits(handle))) return named;
  if (const Datatype *known = derived_cache.find(handle_bits(handle))) return known;
  return derived(handle);
}

const Datatype *element_of(MPI_Datatype handle, bool empty) {
  const Datatype *element = datatype_of(handle);
  return element == nullptr && empty ? datatype_of(mpi.byte) : element;
}

bool is_predefined(MPI_Datatype handle) { return named_table.find(handle_bits(handle)) != nullptr; }

}  // namespace coll::shim
