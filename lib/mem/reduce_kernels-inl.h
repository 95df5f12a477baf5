// SPDX-License-Identifier: BSD-3-Clause
// The loop of every vector kernel. Compiled once per SIMD target.
#if defined(COLL_MEM_REDUCE_KERNELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COLL_MEM_REDUCE_KERNELS_INL_H
#undef COLL_MEM_REDUCE_KERNELS_INL_H
#else
#define COLL_MEM_REDUCE_KERNELS_INL_H
#endif

#include "mem/reduce_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace coll::mem::HWY_NAMESPACE {

// One call of a kernel. `arity` is the number of sources when it is known to the compiler, else 0.
template <typename Op, typename T, int arity>
struct Fold {
  using Vs = Vectors<T>;
  using V = typename Vs::V;

  T* out;
  T* out2;
  const void* const* src;
  int sources;
  const T* known[arity != 0 ? arity : 1];  // out of reach of stores that might alias src, so they stay in registers

  HWY_INLINE Fold(void* dst, void* dst2, const void* const* src_array, int source_count)
      : out(static_cast<T*>(dst)), out2(static_cast<T*>(dst2)), src(src_array), sources(source_count) {
    for (int s = 0; s < arity; ++s) known[s] = static_cast<const T*>(src[s]);
  }

  HWY_INLINE const T* operand(size_t s) const {
    if constexpr (arity != 0) return known[s];
    else return static_cast<const T*>(src[s]);
  }

  static HWY_INLINE V combine_with(V a, V b) { return combine(Op(), Element<T>(), a, b); }

  HWY_INLINE V fold_at(size_t at) const {
    V v = Vs::load(operand(0) + at);
    for_operands([&](const T* from) { v = combine_with(v, Vs::load(from + at)); });
    return v;
  }

  HWY_INLINE void store_at(size_t at, V v) const {
    Vs::store(v, out + at);
    if (out2 != nullptr) Vs::store(v, out2 + at);
  }

  // Four vectors at once, so that the next loads do not wait for the operations of these.
  HWY_INLINE void fold_four_at(size_t at, size_t step) const {
    const T* first = operand(0) + at;
    V v0 = Vs::load(first), v1 = Vs::load(first + step), v2 = Vs::load(first + 2 * step),
      v3 = Vs::load(first + 3 * step);
    for_operands([&](const T* from) {
      v0 = combine_with(v0, Vs::load(from + at));
      v1 = combine_with(v1, Vs::load(from + at + step));
      v2 = combine_with(v2, Vs::load(from + at + 2 * step));
      v3 = combine_with(v3, Vs::load(from + at + 3 * step));
    });
    store_four(out + at, step, v0, v1, v2, v3);
    if (out2 != nullptr) store_four(out2 + at, step, v0, v1, v2, v3);
  }

  // Fewer elements than one vector has.
  HWY_INLINE void fold_few(size_t count) const {
#if HWY_MEM_OPS_MIGHT_FAULT
    for (size_t i = 0; i < count; ++i) {
      auto value = load_value(operand(0) + i);
      for_operands([&](const T* from) { value = Op::apply(value, load_value(from + i)); });
      store_value(out + i, value);
      if (out2 != nullptr) store_value(out2 + i, value);
    }
#else
    if (count == 0) return;
    V v = Vs::load_first(operand(0), count);
    for_operands([&](const T* from) { v = combine_with(v, Vs::load_first(from, count)); });
    Vs::store_first(v, out, count);
    if (out2 != nullptr) Vs::store_first(v, out2, count);
#endif
  }

  // Elements to the first boundary of a vector in dst. Stores that straddle cache lines cost more than such loads.
  HWY_INLINE size_t elements_to_boundary(size_t step) const {
    const size_t vector_bytes = step * sizeof(T);
    const size_t past = reinterpret_cast<uintptr_t>(out) & (vector_bytes - 1);
    return past % sizeof(T) == 0 && past != 0 ? (vector_bytes - past) / sizeof(T) : 0;
  }

  // The first and the last vector may overlap their neighbours. In place that would fold elements twice, so both are
  // folded before anything is stored, and stored when everything else has been.
  HWY_INLINE void run(size_t count) const {
    const size_t step = Vs::step();
    if (count < step) return fold_few(count);
    const size_t last = count - step;
    const V last_vector = fold_at(last);
    size_t at = 0;
    if (count >= 8 * step && (at = elements_to_boundary(step)) != 0) {
      const V first_vector = fold_at(0);
      run_from(at, last, step);
      store_at(0, first_vector);
    } else {
      run_from(0, last, step);
    }
    store_at(last, last_vector);
  }

 private:
  HWY_INLINE void run_from(size_t at, size_t last, size_t step) const {
    for (; at + 3 * step < last; at += 4 * step) fold_four_at(at, step);
    for (; at < last; at += step) store_at(at, fold_at(at));
  }

  static HWY_INLINE void store_four(T* to, size_t step, V v0, V v1, V v2, V v3) {
    Vs::store(v0, to);
    Vs::store(v1, to + step);
    Vs::store(v2, to + 2 * step);
    Vs::store(v3, to + 3 * step);
  }

  template <class Use>
  HWY_INLINE void for_operands(Use use) const {
    if constexpr (arity != 0) {
      [&]<size_t... s>(std::index_sequence<s...>) HWY_ATTR { (use(operand(s + 1)), ...); }
      (std::make_index_sequence<arity - 1>());
    } else {
      for (int s = 1; s < sources; ++s) use(operand(s));
    }
  }
};

template <typename Op, typename T>
void reduce_vector(void* dst, void* dst2, const void* const* src, int sources, size_t count) {
  switch (sources) {
    case 1: return copy_operand(dst, dst2, src[0], count * sizeof(T));
    case 2: return Fold<Op, T, 2>(dst, dst2, src, sources).run(count);
    default: return Fold<Op, T, 0>(dst, dst2, src, sources).run(count);
  }
}

template <typename T>
inline constexpr bool has_vectors = std::is_arithmetic_v<T> || IsComplex<T>::value || std::is_same_v<T, BFloat16> ||
                                    (std::is_same_v<T, Float16> && HWY_TARGET != HWY_SSE4);  // SSE4 has no F16C
template <>
inline constexpr bool has_vectors<long double> = false;
template <>
inline constexpr bool has_vectors<std::complex<long double>> = false;

struct Backend {
  template <typename Op, typename T>
  static constexpr ReduceKernel kernel() {
    if constexpr (has_vectors<T>) return &reduce_vector<Op, T>;
    else return nullptr;
  }
};

constexpr KernelTable reduce_kernels = make_kernel_table<Backend>();

}  // namespace coll::mem::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
