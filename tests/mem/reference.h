// SPDX-License-Identifier: BSD-3-Clause
// The definition of every reduction, as simple as possible.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "coll/coll.h"

namespace coll::test {

// C++ types that lib/mem does not use: the compiler's 16-bit float, the complex numbers of C, plain structs.
// GCC 12 for aarch64 defines the limits of _Float16, but has the type in C only.
#if defined(__FLT16_MAX__) && (defined(__clang__) || !defined(__aarch64__) || __GNUC__ >= 13)
using Half = _Float16;
#else
// For compilers without such a type (clang 14, and GCC 12 for aarch64): exact arithmetic on the value, 11 significant
// bits, ties to even.
struct Half {
  uint16_t bits;
  Half() = default;
  Half(float value) {
    bits = std::isnan(value) ? 0x7e00 : 0x7c00;
    int exponent;
    std::frexp(value, &exponent);
    const int unit = value == 0 ? -24 : std::max(exponent - 11, -24);  // the last place; subnormals share one
    const double units = std::nearbyint(std::ldexp(std::abs(static_cast<double>(value)), -unit));
    if (std::ldexp(units, unit) < 65536) bits = static_cast<uint16_t>(((unit + 24) << 10) + static_cast<int>(units));
    if (std::signbit(value)) bits |= 0x8000;
  }
  operator float() const {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float value =
        std::ldexp(static_cast<float>(exponent == 0 ? fraction : fraction + 1024), std::max(exponent, 1) - 25);
    if (exponent == 31) value = fraction == 0 ? std::numeric_limits<float>::infinity() : std::nanf("");
    return bits & 0x8000 ? -value : value;
  }
};
#endif
struct Brain {
  uint16_t bits;
};
struct Byte {
  uint8_t bits;
};
template <typename T>
struct Complex {
  T part[2];
};
template <typename T>
struct Located {
  T value;
  int index;
};

template <typename T>
inline constexpr bool is_complex = false;
template <typename T>
inline constexpr bool is_complex<Complex<T>> = true;
template <typename T>
inline constexpr bool is_located = false;
template <typename T>
inline constexpr bool is_located<Located<T>> = true;

// Calls use(T()) with the C++ type of a datatype.
template <typename Use>
void with_type(coll_datatype type, Use use) {
  switch (type) {
    case COLL_INT8: return use(int8_t());
    case COLL_INT16: return use(int16_t());
    case COLL_INT32: return use(int32_t());
    case COLL_INT64: return use(int64_t());
    case COLL_UINT8: return use(uint8_t());
    case COLL_UINT16: return use(uint16_t());
    case COLL_UINT32: return use(uint32_t());
    case COLL_UINT64: return use(uint64_t());
    case COLL_FLOAT16: return use(Half());
    case COLL_BFLOAT16: return use(Brain());
    case COLL_FLOAT: return use(float());
    case COLL_DOUBLE: return use(double());
    case COLL_LONG_DOUBLE: return use((long double)0);
    case COLL_COMPLEX_FLOAT: return use(Complex<float>());
    case COLL_COMPLEX_DOUBLE: return use(Complex<double>());
    case COLL_COMPLEX_LONG_DOUBLE: return use(Complex<long double>());
    case COLL_BOOL: return use(bool());
    case COLL_BYTE: return use(Byte());
    case COLL_FLOAT_INT: return use(Located<float>());
    case COLL_DOUBLE_INT: return use(Located<double>());
    case COLL_LONG_INT: return use(Located<long>());
    case COLL_INT_INT: return use(Located<int>());
    case COLL_SHORT_INT: return use(Located<short>());
    case COLL_LONG_DOUBLE_INT: return use(Located<long double>());
  }
}

// ---- 16-bit formats ------------------------------------------------------------------------------------------------

// The nearest bfloat16, by exact arithmetic on the value: 8 significant bits, ties to even.
inline Brain round_to_brain(float value) {
  float rounded = value;
  if (std::isfinite(value) && value != 0) {
    int exponent;
    std::frexp(value, &exponent);
    const int unit = std::max(exponent - 8, -133);  // the last place; subnormals share one
    rounded = static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(static_cast<double>(value), -unit)), unit));
  }
  return {static_cast<uint16_t>(std::bit_cast<uint32_t>(rounded) >> 16 | (std::isnan(value) ? 0x40 : 0))};
}

template <typename T>
auto widen(const T& element) {
  if constexpr (std::is_same_v<T, Half>) return static_cast<float>(element);
  else if constexpr (std::is_same_v<T, Brain>) return std::bit_cast<float>(static_cast<uint32_t>(element.bits) << 16);
  else return element;
}
template <typename T, typename Wide>
T narrow(const Wide& value) {
  if constexpr (std::is_same_v<T, Half>) return static_cast<Half>(value);
  else if constexpr (std::is_same_v<T, Brain>) return round_to_brain(value);
  else return value;
}

// ---- one step: a belongs to the lower ranks ----------------------------------------------------------------------------

template <typename T>
T step_integer(coll_op op, T a, T b) {
  using Wide = unsigned __int128;
  switch (op) {
    case COLL_SUM: return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
    case COLL_PROD: return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
    case COLL_MIN: return a < b ? a : b;
    case COLL_MAX: return a > b ? a : b;
    case COLL_LAND: return a && b;
    case COLL_LOR: return a || b;
    case COLL_LXOR: return !a != !b;
    case COLL_BAND: return static_cast<T>(a & b);
    case COLL_BOR: return static_cast<T>(a | b);
    default: return static_cast<T>(a ^ b);
  }
}

template <typename T>
T step_floating(coll_op op, T a, T b) {
  if (op == COLL_SUM) return a + b;
  if (op == COLL_PROD) return a * b;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  if (op == COLL_MIN) return b < a ? b : a;
  return b > a ? b : a;
}

// The product of C11, Annex G.5.1: if both parts are NaN, infinite operands give an infinite product.
template <typename T>
Complex<T> product(T a, T b, T c, T d) {
  T x = a * c - b * d, y = a * d + b * c;
  if (!std::isnan(x) || !std::isnan(y)) return {{x, y}};
  const T ac = a * c, bd = b * d, ad = a * d, bc = b * c;
  auto boxed = [](T v) { return std::copysign(std::isinf(v) ? T(1) : T(0), v); };
  auto nan_to_zero = [](T v) { return std::isnan(v) ? std::copysign(T(0), v) : v; };
  bool recompute = false;
  if (std::isinf(a) || std::isinf(b)) {
    a = boxed(a), b = boxed(b), c = nan_to_zero(c), d = nan_to_zero(d);
    recompute = true;
  }
  if (std::isinf(c) || std::isinf(d)) {
    c = boxed(c), d = boxed(d), a = nan_to_zero(a), b = nan_to_zero(b);
    recompute = true;
  }
  if (!recompute && (std::isinf(ac) || std::isinf(bd) || std::isinf(ad) || std::isinf(bc))) {
    a = nan_to_zero(a), b = nan_to_zero(b), c = nan_to_zero(c), d = nan_to_zero(d);
    recompute = true;
  }
  if (!recompute) return {{x, y}};
  constexpr T infinity = std::numeric_limits<T>::infinity();
  return {{infinity * (a * c - b * d), infinity * (a * d + b * c)}};
}

template <typename T>
Complex<T> step_complex(coll_op op, const Complex<T>& a, const Complex<T>& b) {
  if (op == COLL_SUM) return {{a.part[0] + b.part[0], a.part[1] + b.part[1]}};
  return product(a.part[0], a.part[1], b.part[0], b.part[1]);
}

template <typename T>
Located<T> step_located(coll_op op, const Located<T>& a, const Located<T>& b) {
  bool a_nan = false, b_nan = false;
  if constexpr (std::is_floating_point_v<T>) {
    a_nan = std::isnan(a.value);
    b_nan = std::isnan(b.value);
  }
  if (a_nan != b_nan) return a_nan ? a : b;
  const bool same_value = (a_nan && b_nan) || a.value == b.value;
  if (same_value) return b.index < a.index ? b : a;
  if (op == COLL_MINLOC) return a.value < b.value ? a : b;
  return a.value > b.value ? a : b;
}

template <typename T>
T step(coll_op op, const T& a, const T& b) {
  if constexpr (std::is_same_v<T, Byte>) return {step_integer<uint8_t>(op, a.bits, b.bits)};
  else if constexpr (std::is_integral_v<T>) return step_integer(op, a, b);
  else if constexpr (std::is_floating_point_v<T>) return step_floating(op, a, b);
  else if constexpr (is_complex<T>) return step_complex(op, a, b);
  else return step_located(op, a, b);
}

// fold(first, first + n) = fold(first, first + m) op fold(first + m, first + n), m the largest power of two below n.
template <typename T>
std::decay_t<decltype(widen(std::declval<T>()))> fold_tree(coll_op op, const T* const* src, int first, int n,
                                                           size_t i) {
  if (n == 1) return widen(src[first][i]);
  int m = 1;
  while (2 * m < n) m *= 2;
  const auto left = fold_tree(op, src, first, m, i), right = fold_tree(op, src, first + m, n - m, i);
  return step(op, left, right);
}

// The result for element i, the 16-bit formats rounded once at the end.
template <typename T>
T fold(coll_op op, const T* const* src, int sources, size_t i) {
  if (sources == 1) return src[0][i];
  return narrow<T>(fold_tree(op, src, 0, sources, i));
}

// C++ types of the elements as the tests store them: std::vector<bool> has no data(), so bool is stored as a byte.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

// ---- equality
// -----------------------------------------------------------------------------------------------------------

template <typename T>
bool same_floating(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

// The same bits, except for the sign and payload of a NaN and for padding.
template <typename T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Brain>) return same_floating(widen(a), widen(b));
  else if constexpr (std::is_same_v<T, Byte>) return a.bits == b.bits;
  else if constexpr (std::is_integral_v<T>) return a == b;
  else if constexpr (std::is_floating_point_v<T>) return same_floating(a, b);
  else if constexpr (is_complex<T>) return same(a.part[0], b.part[0]) && same(a.part[1], b.part[1]);
  else return same(a.value, b.value) && a.index == b.index;
}

}  // namespace coll::test
