// SPDX-License-Identifier: BSD-3-Clause
// Properties of the built-in datatypes and operations: size, name, and which operation is defined for which type.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "coll/coll.h"

// One past the last datatype and the last operation of coll.h: sizes of tables, ends of loops. No caller may pass them.
inline constexpr coll_datatype COLL_DATATYPE_END_ = COLL_LONG_DOUBLE_INT + 1;
inline constexpr coll_op COLL_OP_END_ = COLL_MAXLOC + 1;

namespace coll::mem {

// Layouts of the pair types, as C lays out struct { value; int index; }.
template <typename Value>
struct Pair {
  Value value;
  int index;
};

namespace detail {
enum class Kind : uint8_t { none, integer, floating, complex, logical, byte, pair };

struct TypeInfo {
  uint8_t size_bytes = 0;
  Kind kind = Kind::none;
  const char* name = nullptr;
};

inline constexpr auto types = [] {
  std::array<TypeInfo, COLL_DATATYPE_END_> t{};
  t[COLL_INT8] = {1, Kind::integer, "int8"};
  t[COLL_INT16] = {2, Kind::integer, "int16"};
  t[COLL_INT32] = {4, Kind::integer, "int32"};
  t[COLL_INT64] = {8, Kind::integer, "int64"};
  t[COLL_UINT8] = {1, Kind::integer, "uint8"};
  t[COLL_UINT16] = {2, Kind::integer, "uint16"};
  t[COLL_UINT32] = {4, Kind::integer, "uint32"};
  t[COLL_UINT64] = {8, Kind::integer, "uint64"};
  t[COLL_FLOAT16] = {2, Kind::floating, "float16"};
  t[COLL_BFLOAT16] = {2, Kind::floating, "bfloat16"};
  t[COLL_FLOAT] = {sizeof(float), Kind::floating, "float"};
  t[COLL_DOUBLE] = {sizeof(double), Kind::floating, "double"};
  t[COLL_LONG_DOUBLE] = {sizeof(long double), Kind::floating, "long_double"};
  t[COLL_COMPLEX_FLOAT] = {sizeof(std::complex<float>), Kind::complex, "complex_float"};
  t[COLL_COMPLEX_DOUBLE] = {sizeof(std::complex<double>), Kind::complex, "complex_double"};
  t[COLL_COMPLEX_LONG_DOUBLE] = {sizeof(std::complex<long double>), Kind::complex, "complex_long_double"};
  t[COLL_BOOL] = {sizeof(bool), Kind::logical, "bool"};
  t[COLL_BYTE] = {1, Kind::byte, "byte"};
  t[COLL_FLOAT_INT] = {sizeof(Pair<float>), Kind::pair, "float_int"};
  t[COLL_DOUBLE_INT] = {sizeof(Pair<double>), Kind::pair, "double_int"};
  t[COLL_LONG_INT] = {sizeof(Pair<long>), Kind::pair, "long_int"};
  t[COLL_INT_INT] = {sizeof(Pair<int>), Kind::pair, "int_int"};
  t[COLL_SHORT_INT] = {sizeof(Pair<short>), Kind::pair, "short_int"};
  t[COLL_LONG_DOUBLE_INT] = {sizeof(Pair<long double>), Kind::pair, "long_double_int"};
  return t;
}();

}  // namespace detail

// Bytes of one element, 0 for an unknown datatype. COLL_TYPE_BYTES(n) has n bytes.
size_t datatype_size(coll_datatype type);

// The datatype of partial results: COLL_FLOAT for 16-bit floats, else the datatype itself.
constexpr coll_datatype partial_type(coll_datatype type) {
  return type == COLL_FLOAT16 || type == COLL_BFLOAT16 ? coll_datatype{COLL_FLOAT} : type;
}

// "float", "int32", ...; "bytes" for COLL_TYPE_BYTES; null for an unknown one.
const char* datatype_name(coll_datatype type);

// The datatype of a name as datatype_name() prints it, or of one of the aliases of types.cc ("int", "fp16" ...);
// 0 for an unknown name.
coll_datatype datatype_from_name(std::string_view name);

// "sum", "min", ...; null for an operation that is not built in.
const char* op_name(coll_op op);

// The operation of a name as op_name() prints it; 0 for an unknown name.
coll_op op_from_name(std::string_view name);

// Whether the built-in `op` is defined for `type`: exactly then reduce_kernel() is not null.
//   sum, prod: integers, floating, complex     min, max: integers, floating     land, lor, lxor: integers, bool
//   band, bor, bxor: integers, byte            minloc, maxloc: pairs
constexpr bool op_defined(coll_op op, coll_datatype type) {
  using detail::Kind;
  const Kind kind = type < COLL_DATATYPE_END_ ? detail::types[type].kind : Kind::none;
  switch (op) {
    case COLL_SUM:
    case COLL_PROD: return kind == Kind::integer || kind == Kind::floating || kind == Kind::complex;
    case COLL_MIN:
    case COLL_MAX: return kind == Kind::integer || kind == Kind::floating;
    case COLL_LAND:
    case COLL_LOR:
    case COLL_LXOR: return kind == Kind::integer || kind == Kind::logical;
    case COLL_BAND:
    case COLL_BOR:
    case COLL_BXOR: return kind == Kind::integer || kind == Kind::byte;
    case COLL_MINLOC:
    case COLL_MAXLOC: return kind == Kind::pair;
    default: return false;
  }
}

}  // namespace coll::mem
