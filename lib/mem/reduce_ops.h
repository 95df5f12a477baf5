// SPDX-License-Identifier: BSD-3-Clause
// The operations on one element, as reduce.h describes them. The scalar kernels use them for everything, the SIMD
// kernels for the ends of a vector, so both give the same bits.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "mem/copy.h"
#include "mem/float16.h"
#include "mem/reduce.h"
#include "mem/types.h"

namespace coll::mem {

template <typename T>
struct IsComplex : std::false_type {};
template <typename T>
struct IsComplex<std::complex<T>> : std::true_type {};

// Reduces one operand: copies it to both destinations, except to one that is the operand itself. dst2 may be null.
inline void copy_operand(void* dst, void* dst2, const void* src, size_t bytes) {
  if (dst != src) copy(dst, src, bytes);
  if (dst2 != nullptr && dst2 != src) copy(dst2, src, bytes);
}

// ---- operands: elements in memory, values in registers ----------------------------------------------------------

// Elements may be at any address, so no element is accessed through a T&.
template <typename T>
T load_bits(const T* element) {
  T bits;
  std::memcpy(&bits, element, sizeof bits);
  return bits;
}
template <typename T>
T load_value(const T* element) {
  return load_bits(element);
}
inline float load_value(const Float16* element) { return to_float(load_bits(element)); }
inline float load_value(const BFloat16* element) { return to_float(load_bits(element)); }

template <typename T>
void store_value(T* element, const T& value) {
  std::memcpy(element, &value, sizeof value);
}
inline void store_value(Float16* element, float value) { store_value(element, to_float16(value)); }
inline void store_value(BFloat16* element, float value) { store_value(element, to_bfloat16(value)); }

// ---- operations: apply(accumulator, operand), the accumulator being the lower ranks --------------------------------

struct Sum {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct Prod {
  template <typename T>
  static T apply(T a, T b) {
    // 1u keeps narrow unsigned types out of int, where a product could overflow.
    if constexpr (std::is_integral_v<T>) return static_cast<T>(1u * a * b);
    else return a * b;
  }
};
struct Min {
  template <typename T>
  static T apply(T a, T b) {
    return b < a || b != b ? b : a;
  }
};
struct Max {
  template <typename T>
  static T apply(T a, T b) {
    return b > a || b != b ? b : a;
  }
};
struct Land {
  template <typename T>
  static T apply(T a, T b) {
    return a != 0 && b != 0;
  }
};
struct Lor {
  template <typename T>
  static T apply(T a, T b) {
    return a != 0 || b != 0;
  }
};
struct Lxor {
  template <typename T>
  static T apply(T a, T b) {
    return (a != 0) != (b != 0);
  }
};
struct Band {
  template <typename T>
  static T apply(T a, T b) {
    return a & b;
  }
};
struct Bor {
  template <typename T>
  static T apply(T a, T b) {
    return a | b;
  }
};
struct Bxor {
  template <typename T>
  static T apply(T a, T b) {
    return a ^ b;
  }
};

// x[i] *= y[i] one by one, for vectors of products that contain a NaN (reduce_scalar.cc).
void multiply_complex(std::complex<float>* x, const std::complex<float>* y, size_t count);
void multiply_complex(std::complex<double>* x, const std::complex<double>* y, size_t count);

template <bool less>
struct Loc {
  template <typename T>
  static Pair<T> apply(const Pair<T>& a, const Pair<T>& b) {
    const bool a_nan = a.value != a.value;
    const bool b_nan = b.value != b.value;
    const bool equal = a.value == b.value || (a_nan && b_nan);
    if (equal) return b.index < a.index ? b : a;
    if (a_nan || b_nan) return b_nan ? b : a;
    return (less ? b.value < a.value : b.value > a.value) ? b : a;
  }
};
using Minloc = Loc<true>;
using Maxloc = Loc<false>;

// ---- the order of several sources -----------------------------------------------------------------------------------

// All other operations are associative down to the bits: min and max keep the first of equal operands and the last NaN.
template <typename Op, typename T>
inline constexpr bool order_matters = !std::is_integral_v<T> && (std::is_same_v<Op, Sum> || std::is_same_v<Op, Prod>);

// ---- names of coll.h to types ---------------------------------------------------------------------------------------

using AllOps = std::tuple<void, Sum, Prod, Min, Max, Land, Lor, Lxor, Band, Bor, Bxor, Minloc, Maxloc>;
using AllTypes =
    std::tuple<void, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, Float16, BFloat16, float,
               double, long double, std::complex<float>, std::complex<double>, std::complex<long double>, bool,
               std::byte, Pair<float>, Pair<double>, Pair<long>, Pair<int>, Pair<short>, Pair<long double>>;
static_assert(std::tuple_size_v<AllOps> == COLL_OP_END_ && std::tuple_size_v<AllTypes> == COLL_DATATYPE_END_);

// The type that an operation works on: wrapping arithmetic and bit operations do not depend on a sign, so signed
// integers share the kernels of unsigned ones; a bool may hold any byte.
template <typename Op, typename T>
auto canonical() {
  constexpr bool signed_matters = std::is_same_v<Op, Min> || std::is_same_v<Op, Max>;
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::byte>) return uint8_t{};
  else if constexpr (std::is_integral_v<T> && !signed_matters) return std::make_unsigned_t<T>{};
  else return T{};
}

// ---- tables ---------------------------------------------------------------------------------------------------------

struct KernelTable {
  ReduceFunction at[COLL_OP_END_][COLL_DATATYPE_END_];
  // The partial results of float16 [0] and bfloat16 [1].
  ReduceFunction to_float[COLL_OP_END_][2], from_float[COLL_OP_END_][2];
};
static_assert(COLL_BFLOAT16 == COLL_FLOAT16 + 1);

// Fills a table with Backend::function<Op, From, To>() wherever the operation is defined for the type.
template <typename Backend>
constexpr KernelTable make_kernel_table() {
  KernelTable table{};
  auto fill = [&]<size_t op, size_t type>() {
    if constexpr (op_defined(op, type)) {
      using Op = std::tuple_element_t<op, AllOps>;
      using T = decltype(canonical<Op, std::tuple_element_t<type, AllTypes>>());
      table.at[op][type] = Backend::template function<Op, T, T>();
      if constexpr (partial_type(type) != type) {
        table.to_float[op][type - COLL_FLOAT16] = Backend::template function<Op, T, float>();
        table.from_float[op][type - COLL_FLOAT16] = Backend::template function<Op, float, T>();
      }
    }
  };
  // Two folds, because clang refuses one over all pairs: it nests at most 256 operands.
  auto fill_row = [&]<size_t op, size_t... type>(std::index_sequence<type...>) {
    (fill.template operator()<op, type>(), ...);
  };
  [&]<size_t... op>(std::index_sequence<op...>) {
    (fill_row.template operator()<op>(std::make_index_sequence<COLL_DATATYPE_END_>{}), ...);
  }
  (std::make_index_sequence<COLL_OP_END_>{});
  return table;
}

extern const KernelTable scalar_kernels;

}  // namespace coll::mem
