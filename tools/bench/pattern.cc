// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/pattern.h"

#include <algorithm>
#include <complex>
#include <cstring>

#include "mem/float16.h"

namespace coll::tools {
namespace {

// A whole number that is exact in every datatype and sum: sums stay below 2^8 with up to 64 ranks, as 2-byte floats
// have 8 bits of precision (bfloat16); 1-byte integers wrap around equally on all ranks. Index, seed and rank are
// mixed, so that a result of another index, iteration or rank is detected as wrong.
uint32_t number(size_t j, uint32_t seed, int rank) {
  uint32_t h = uint32_t(j) * 0x9e3779b1u + seed * 0x85ebca6bu + uint32_t(rank) * 0xc2b2ae35u;
  h = (h ^ (h >> 15)) * 0x2c1b3c6du;
  return h >> 30;
}

template <class T>
struct Pair {
  T value;
  int index;
};

// The input of one rank, and the combination of two inputs.
template <class T>
struct Element {
  static T make(uint32_t n, int) { return T(n); }
  static T combine(T a, T b) { return T(a + b); }
  static bool same(const T& a, const T& b) { return a == b; }
};
template <>
struct Element<bool> {
  static bool make(uint32_t n, int) { return n == 0; }
  static bool combine(bool a, bool b) { return a || b; }
  static bool same(bool a, bool b) { return a == b; }
};
template <class T>
struct Element<Pair<T>> {
  static Pair<T> make(uint32_t n, int rank) { return {T(n), rank}; }
  static Pair<T> combine(Pair<T> a, Pair<T> b) { return b.value < a.value ? b : a; }
  static bool same(const Pair<T>& a, const Pair<T>& b) { return a.value == b.value && a.index == b.index; }
};
struct Byte {
  uint8_t bits;
};
template <>
struct Element<Byte> {
  static Byte make(uint32_t n, int) { return {uint8_t(1u << n)}; }
  static Byte combine(Byte a, Byte b) { return {uint8_t(a.bits | b.bits)}; }
  static bool same(Byte a, Byte b) { return a.bits == b.bits; }
};

// Filling and checking must take little time, because other programs use the shared cache meanwhile: elements repeat,
// and whole blocks are copied and compared. The period is prime, so that a chunk or slice in a wrong place is detected.
constexpr size_t period = 509;

// Sets `count` elements, from element `from` on, to op over the inputs of ranks first .. first + ranks - 1.
template <class T>
void make_block(T* block, size_t count, uint32_t seed, int first, int ranks, size_t from) {
  for (size_t j = 0; j < count; ++j) {
    const size_t place = (from + j) % period;
    block[j] = Element<T>::make(number(place, seed, first), first);
    for (int rank = first + 1; rank < first + ranks; ++rank)
      block[j] = Element<T>::combine(block[j], Element<T>::make(number(place, seed, rank), rank));
  }
}

template <class T>
void fill_as(void* vector, size_t count, uint32_t seed, int rank) {
  T* out = static_cast<T*>(vector);
  T block[period];
  make_block(block, std::min(count, period), seed, rank, 1, 0);
  for (size_t at = 0; at < count; at += period) std::memcpy(out + at, block, std::min(period, count - at) * sizeof(T));
}

template <class T>
int64_t count_wrong_as(const void* vector, size_t count, uint32_t seed, int first, int ranks, size_t from) {
  const T* result = static_cast<const T*>(vector);
  T expected[period];
  make_block(expected, std::min(count, period), seed, first, ranks, from);
  int64_t wrong = 0;
  for (size_t at = 0; at < count; at += period) {
    const size_t length = std::min(period, count - at);
    if (std::memcmp(result + at, expected, length * sizeof(T)) == 0) continue;
    // Padding may differ: compare elements.
    for (size_t j = 0; j < length; ++j) wrong += !Element<T>::same(result[at + j], expected[j]);
  }
  return wrong;
}

// 2-byte floats: sums of small whole numbers, which are exact.
template <class Half, Half (*from_float)(float)>
struct HalfElement {
  static Half make(uint32_t n, int) { return from_float(float(n)); }
  static Half combine(Half a, Half b) { return from_float(mem::to_float(a) + mem::to_float(b)); }
  static bool same(Half a, Half b) { return a.bits == b.bits; }
};
template <>
struct Element<mem::Float16> : HalfElement<mem::Float16, mem::to_float16> {};
template <>
struct Element<mem::BFloat16> : HalfElement<mem::BFloat16, mem::to_bfloat16> {};

// Calls `visit` with a null pointer to the C++ type of a datatype.
template <class Visit>
int64_t with_type(coll_datatype type, Visit visit) {
  switch (type) {
    case COLL_INT8: return visit(static_cast<int8_t*>(nullptr));
    case COLL_INT16: return visit(static_cast<int16_t*>(nullptr));
    case COLL_INT32: return visit(static_cast<int32_t*>(nullptr));
    case COLL_INT64: return visit(static_cast<int64_t*>(nullptr));
    case COLL_UINT8: return visit(static_cast<uint8_t*>(nullptr));
    case COLL_UINT16: return visit(static_cast<uint16_t*>(nullptr));
    case COLL_UINT32: return visit(static_cast<uint32_t*>(nullptr));
    case COLL_UINT64: return visit(static_cast<uint64_t*>(nullptr));
    case COLL_FLOAT16: return visit(static_cast<mem::Float16*>(nullptr));
    case COLL_BFLOAT16: return visit(static_cast<mem::BFloat16*>(nullptr));
    case COLL_FLOAT: return visit(static_cast<float*>(nullptr));
    case COLL_DOUBLE: return visit(static_cast<double*>(nullptr));
    case COLL_LONG_DOUBLE: return visit(static_cast<long double*>(nullptr));
    case COLL_COMPLEX_FLOAT: return visit(static_cast<std::complex<float>*>(nullptr));
    case COLL_COMPLEX_DOUBLE: return visit(static_cast<std::complex<double>*>(nullptr));
    case COLL_COMPLEX_LONG_DOUBLE: return visit(static_cast<std::complex<long double>*>(nullptr));
    case COLL_BOOL: return visit(static_cast<bool*>(nullptr));
    case COLL_BYTE: return visit(static_cast<Byte*>(nullptr));
    case COLL_FLOAT_INT: return visit(static_cast<Pair<float>*>(nullptr));
    case COLL_DOUBLE_INT: return visit(static_cast<Pair<double>*>(nullptr));
    case COLL_LONG_INT: return visit(static_cast<Pair<long>*>(nullptr));
    case COLL_INT_INT: return visit(static_cast<Pair<int>*>(nullptr));
    case COLL_SHORT_INT: return visit(static_cast<Pair<short>*>(nullptr));
    case COLL_LONG_DOUBLE_INT: return visit(static_cast<Pair<long double>*>(nullptr));
    default: return -1;
  }
}

}  // namespace

coll_op Pattern::op() const {
  for (coll_op op : {COLL_SUM, COLL_MINLOC, COLL_BOR, COLL_LOR})
    if (coll_op_defined(op, type_)) return op;
  return COLL_SUM;
}

void Pattern::fill(void* vector, size_t count, uint32_t seed, int rank) const {
  with_type(type_, [&]<class T>(T*) {
    fill_as<T>(vector, count, seed, rank);
    return int64_t(0);
  });
}

int64_t Pattern::count_wrong(const void* vector, size_t count, uint32_t seed, int first, int ranks, size_t from) const {
  return with_type(type_, [&]<class T>(T*) { return count_wrong_as<T>(vector, count, seed, first, ranks, from); });
}

}  // namespace coll::tools
