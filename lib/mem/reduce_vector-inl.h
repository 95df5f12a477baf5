// SPDX-License-Identifier: BSD-3-Clause
// One vector of elements: how it is loaded and stored, and the operations of reduce_ops.h on it. Compiled once per SIMD
// target, so the include guard is Highway's toggling one.
#if defined(COLL_MEM_REDUCE_VECTOR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COLL_MEM_REDUCE_VECTOR_INL_H
#undef COLL_MEM_REDUCE_VECTOR_INL_H
#else
#define COLL_MEM_REDUCE_VECTOR_INL_H
#endif

#include "hwy/highway.h"
#include "mem/reduce_ops.h"

HWY_BEFORE_NAMESPACE();
namespace coll::mem::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// ---- elements in memory, lanes in a register ------------------------------------------------------------------------

// `step()` elements make one vector. load_first() and store_first() touch only the first `count` < step() elements.
template <typename T>
struct Vectors {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static HWY_INLINE size_t step() { return hn::Lanes(D()); }
  static HWY_INLINE V load(const T* from) { return hn::LoadU(D(), from); }
  static HWY_INLINE void store(V v, T* to) { hn::StoreU(v, D(), to); }
  static HWY_INLINE V load_first(const T* from, size_t count) {
    return hn::MaskedLoad(hn::FirstN(D(), count), D(), from);
  }
  static HWY_INLINE void store_first(V v, T* to, size_t count) { hn::BlendedStore(v, hn::FirstN(D(), count), D(), to); }
};

template <typename F>
struct Vectors<std::complex<F>> {
  using Lanes = Vectors<F>;
  using D = typename Lanes::D;
  using V = typename Lanes::V;
  using T = std::complex<F>;
  static HWY_INLINE size_t step() { return Lanes::step() / 2; }
  static HWY_INLINE V load(const T* from) { return Lanes::load(reinterpret_cast<const F*>(from)); }
  static HWY_INLINE void store(V v, T* to) { Lanes::store(v, reinterpret_cast<F*>(to)); }
  static HWY_INLINE V load_first(const T* from, size_t count) {
    return Lanes::load_first(reinterpret_cast<const F*>(from), 2 * count);
  }
  static HWY_INLINE void store_first(V v, T* to, size_t count) {
    Lanes::store_first(v, reinterpret_cast<F*>(to), 2 * count);
  }
};

// Both 16-bit formats: 16 bits in memory, float in the register.
template <typename T>
struct HalfVectors {
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;
  using Bits = hn::Rebind<uint16_t, D>;
  static HWY_INLINE size_t step() { return hn::Lanes(D()); }
  static HWY_INLINE V load(const T* from) { return widen(hn::LoadU(Bits(), bits_of(from)), T()); }
  static HWY_INLINE void store(V v, T* to) { hn::StoreU(narrow(v, T()), Bits(), bits_of(to)); }
  static HWY_INLINE V load_first(const T* from, size_t count) {
    return widen(hn::MaskedLoad(hn::FirstN(Bits(), count), Bits(), bits_of(from)), T());
  }
  static HWY_INLINE void store_first(V v, T* to, size_t count) {
    hn::BlendedStore(narrow(v, T()), hn::FirstN(Bits(), count), Bits(), bits_of(to));
  }

 private:
  // Not &element->bits, which requires an aligned element.
  static HWY_INLINE const uint16_t* bits_of(const T* element) { return reinterpret_cast<const uint16_t*>(element); }
  static HWY_INLINE uint16_t* bits_of(T* element) { return reinterpret_cast<uint16_t*>(element); }

  using Words = hn::Rebind<uint32_t, D>;
  using Half = hn::Rebind<hwy::float16_t, D>;

  static HWY_INLINE V widen(hn::Vec<Bits> bits, Float16) { return hn::PromoteTo(D(), hn::BitCast(Half(), bits)); }
  static HWY_INLINE hn::Vec<Bits> narrow(V v, Float16) { return hn::BitCast(Bits(), hn::DemoteTo(Half(), v)); }

  static HWY_INLINE V widen(hn::Vec<Bits> bits, BFloat16) {
    return hn::BitCast(D(), hn::ShiftLeft<16>(hn::PromoteTo(Words(), bits)));
  }
  // As to_bfloat16(): Highway's own conversion cuts off instead of rounding.
  static HWY_INLINE hn::Vec<Bits> narrow(V v, BFloat16) {
    const Words words;
    const auto bits = hn::BitCast(words, v);
    const auto upper = hn::ShiftRight<16>(bits);
    const auto odd = hn::And(upper, hn::Set(words, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(words, 0x7fff))));
    const auto quiet = hn::Or(upper, hn::Set(words, 0x40));
    const auto is_nan = hn::RebindMask(words, hn::IsNaN(v));
    const hn::Rebind<int32_t, D> signed_words;  // what DemoteTo takes; all values are below 2^16
    return hn::DemoteTo(Bits(), hn::BitCast(signed_words, hn::IfThenElse(is_nan, quiet, rounded)));
  }
};
template <>
struct Vectors<Float16> : HalfVectors<Float16> {};
template <>
struct Vectors<BFloat16> : HalfVectors<BFloat16> {};

// ---- combine(operation, element type, a, b): a belongs to the lower ranks -------------------------------------------

template <typename T>
struct Element {};

template <typename T, class V>
HWY_INLINE V combine(Sum, Element<T>, V a, V b) {
  return hn::Add(a, b);
}

template <typename T, class V>
HWY_INLINE V combine(Prod, Element<T>, V a, V b) {
  return hn::Mul(a, b);
}

// There is no multiplication of bytes: multiply the even and the odd ones as 16 bits, keep the low halves.
template <class V>
HWY_INLINE V combine(Prod, Element<uint8_t>, V a, V b) {
  const hn::DFromV<V> d;
  const hn::RepartitionToWide<decltype(d)> wide;
  const auto a16 = hn::BitCast(wide, a);
  const auto b16 = hn::BitCast(wide, b);
  const auto even = hn::And(hn::Mul(a16, b16), hn::Set(wide, 0xff));
  const auto odd = hn::ShiftLeft<8>(hn::Mul(hn::ShiftRight<8>(a16), hn::ShiftRight<8>(b16)));
  return hn::BitCast(d, hn::Or(even, odd));
}

template <typename F, class V>
HWY_NOINLINE V multiply_one_by_one(V a, V b) {
  using Vs = Vectors<std::complex<F>>;
  std::complex<F> x[HWY_MAX_BYTES / sizeof(std::complex<F>)], y[HWY_MAX_BYTES / sizeof(std::complex<F>)];
  Vs::store(a, x);
  Vs::store(b, y);
  multiply_complex(x, y, Vs::step());
  return Vs::load(x);
}

// (ar br - ai bi, ar bi + ai br). A NaN is rare and may have to become an infinity: the scalar operation handles it.
template <typename F, class V>
HWY_INLINE V combine(Prod, Element<std::complex<F>>, V a, V b) {
  const hn::DFromV<V> d;
  const V swapped = hn::Reverse2(d, b);
  const V by_real = hn::Mul(hn::OddEven(hn::Reverse2(d, a), a), b);        // ar br, ar bi
  const V by_imag = hn::Mul(hn::OddEven(a, hn::Reverse2(d, a)), swapped);  // ai bi, ai br
  const V product = hn::OddEven(hn::Add(by_real, by_imag), hn::Sub(by_real, by_imag));
  return HWY_LIKELY(hn::AllFalse(d, hn::IsNaN(product))) ? product : multiply_one_by_one<F>(a, b);
}

template <typename T, class V>
HWY_INLINE V combine(Min, Element<T>, V a, V b) {
  if constexpr (hwy::IsFloat<hn::TFromV<V>>()) return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), b, a);
  else return hn::Min(a, b);
}
template <typename T, class V>
HWY_INLINE V combine(Max, Element<T>, V a, V b) {
  if constexpr (hwy::IsFloat<hn::TFromV<V>>()) return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
  else return hn::Max(a, b);
}

template <class V>
HWY_INLINE auto truth(V v) {
  return hn::Ne(v, hn::Zero(hn::DFromV<V>()));
}
template <class V, class M>
HWY_INLINE V one_or_zero(M mask) {
  return hn::IfThenElseZero(mask, hn::Set(hn::DFromV<V>(), 1));
}
template <typename T, class V>
HWY_INLINE V combine(Land, Element<T>, V a, V b) {
  return one_or_zero<V>(hn::And(truth(a), truth(b)));
}
template <typename T, class V>
HWY_INLINE V combine(Lor, Element<T>, V a, V b) {
  return one_or_zero<V>(hn::Or(truth(a), truth(b)));
}
template <typename T, class V>
HWY_INLINE V combine(Lxor, Element<T>, V a, V b) {
  return one_or_zero<V>(hn::Xor(truth(a), truth(b)));
}

template <typename T, class V>
HWY_INLINE V combine(Band, Element<T>, V a, V b) {
  return hn::And(a, b);
}
template <typename T, class V>
HWY_INLINE V combine(Bor, Element<T>, V a, V b) {
  return hn::Or(a, b);
}
template <typename T, class V>
HWY_INLINE V combine(Bxor, Element<T>, V a, V b) {
  return hn::Xor(a, b);
}

}  // namespace coll::mem::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
