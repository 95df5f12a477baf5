// SPDX-License-Identifier: BSD-3-Clause
// The loop of every vector kernel. Compiled once per SIMD target.
#if defined(COLL_MEM_REDUCE_KERNELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COLL_MEM_REDUCE_KERNELS_INL_H
#undef COLL_MEM_REDUCE_KERNELS_INL_H
#else
#define COLL_MEM_REDUCE_KERNELS_INL_H
#endif

#include <bit>

#include "mem/reduce_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace coll::mem::HWY_NAMESPACE {

// One call of a kernel: elements of type From are folded into elements of type To, which differ for the partial results
// of 16-bit floats only. `arity` is the number of sources when it is known to the compiler; it must be where the order
// of combination matters. Else it is 0, and the sources are combined one after the other.
template <typename Op, typename From, typename To, int arity>
struct Fold {
  using Vs = Vectors<From>;
  using V = typename Vs::V;

  To* out;
  To* out2;
  const void* const* src;
  int sources;
  const From* known[arity != 0 ? arity : 1];  // out of reach of stores that might alias src, so they stay in registers

  HWY_INLINE Fold(void* dst, void* dst2, const void* const* src_array, int source_count)
      : Fold(dst, dst2, src_array, source_count, std::make_index_sequence<arity>()) {}

  HWY_INLINE const From* operand(size_t s) const {
    if constexpr (arity != 0) return known[s];
    else return static_cast<const From*>(src[s]);
  }

  static HWY_INLINE V combine_with(V a, V b) { return combine(Op(), Element<From>(), a, b); }

  // All sources: load(source) gives a vector or an element, join(a, b) combines two.
  template <class Load, class Join>
  HWY_INLINE auto fold(Load load, Join join) const {
    if constexpr (arity != 0) {
      return fold_range<0, arity>(load, join);
    } else {
      auto all = load(operand(0));
      for (int s = 1; s < sources; ++s) all = join(all, load(operand(s)));
      return all;
    }
  }

  HWY_INLINE V fold_at(size_t at) const {
    return fold([at](const From* from) HWY_ATTR { return Vs::load(from + at); }, combine_with);
  }

  HWY_INLINE void store_at(size_t at, V v) const {
    Vectors<To>::store(v, out + at);
    if (out2 != nullptr) Vectors<To>::store(v, out2 + at);
  }

  // Four vectors at once, which shares the cost of the loop, and of looking up the sources where arity is 0.
  HWY_INLINE void fold_four_at(size_t at, size_t step) const {
    if constexpr (arity != 0) {
      const V v0 = fold_at(at), v1 = fold_at(at + step), v2 = fold_at(at + 2 * step), v3 = fold_at(at + 3 * step);
      store_four_at(at, step, v0, v1, v2, v3);
    } else {
      const From* from = operand(0) + at;
      V v0 = Vs::load(from), v1 = Vs::load(from + step), v2 = Vs::load(from + 2 * step), v3 = Vs::load(from + 3 * step);
      for (int s = 1; s < sources; ++s) {
        from = operand(s) + at;
        v0 = combine_with(v0, Vs::load(from));
        v1 = combine_with(v1, Vs::load(from + step));
        v2 = combine_with(v2, Vs::load(from + 2 * step));
        v3 = combine_with(v3, Vs::load(from + 3 * step));
      }
      store_four_at(at, step, v0, v1, v2, v3);
    }
  }

  // Fewer elements than one vector has.
  HWY_INLINE void fold_few(size_t count) const {
#if HWY_MEM_OPS_MIGHT_FAULT
    for (size_t i = 0; i < count; ++i) {
      const auto value =
          fold([i](const From* from) { return load_value(from + i); }, [](auto a, auto b) { return Op::apply(a, b); });
      store_value(out + i, value);
      if (out2 != nullptr) store_value(out2 + i, value);
    }
#else
    if (count == 0) return;
    const V v = fold([count](const From* from) HWY_ATTR { return Vs::load_first(from, count); }, combine_with);
    Vectors<To>::store_first(v, out, count);
    if (out2 != nullptr) Vectors<To>::store_first(v, out2, count);
#endif
  }

  // Elements to the first boundary of a vector in dst. Stores that straddle cache lines cost more than such loads.
  HWY_INLINE size_t elements_to_boundary(size_t step) const {
    const size_t vector_bytes = step * sizeof(To);
    const size_t past = reinterpret_cast<uintptr_t>(out) & (vector_bytes - 1);
    return past % sizeof(To) == 0 && past != 0 ? (vector_bytes - past) / sizeof(To) : 0;
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
  // No loop, which GCC makes a copy through memory.
  template <size_t... s>
  HWY_INLINE Fold(void* dst, void* dst2, const void* const* src_array, int source_count, std::index_sequence<s...>)
      : out(static_cast<To*>(dst)),
        out2(static_cast<To*>(dst2)),
        src(src_array),
        sources(source_count),
        known{static_cast<const From*>(src_array[s])...} {}

  // The tree of reduce.h over n sources.
  template <int first, int n, class Load, class Join>
  HWY_INLINE auto fold_range(Load load, Join join) const {
    if constexpr (n == 1) {
      return load(operand(first));
    } else {
      constexpr int lower = static_cast<int>(std::bit_floor(unsigned{n - 1}));
      const auto left = fold_range<first, lower>(load, join);
      return join(left, fold_range<first + lower, n - lower>(load, join));
    }
  }

  HWY_INLINE void run_from(size_t at, size_t last, size_t step) const {
    if constexpr (arity <= 4)
      for (; at + 3 * step < last; at += 4 * step) fold_four_at(at, step);
    for (; at < last; at += step) store_at(at, fold_at(at));
  }

  HWY_INLINE void store_four_at(size_t at, size_t step, V v0, V v1, V v2, V v3) const {
    store_four(out + at, step, v0, v1, v2, v3);
    if (out2 != nullptr) store_four(out2 + at, step, v0, v1, v2, v3);
  }

  static HWY_INLINE void store_four(To* to, size_t step, V v0, V v1, V v2, V v3) {
    Vectors<To>::store(v0, to);
    Vectors<To>::store(v1, to + step);
    Vectors<To>::store(v2, to + 2 * step);
    Vectors<To>::store(v3, to + 3 * step);
  }
};

// Not inlined into reduce_vector(), so that two sources do not save the registers that more need.
template <typename Op, typename From, typename To, int arity>
HWY_NOINLINE void fold_vectors(void* dst, void* dst2, const void* const* src, int sources, size_t count) {
  Fold<Op, From, To, arity>(dst, dst2, src, sources).run(count);
}

// One source gets here only if it has to be converted.
template <typename Op, typename From, typename To>
HWY_NOINLINE void fold_in_order(void* dst, void* dst2, const void* const* src, int sources, size_t count) {
  constexpr int least = std::is_same_v<From, To> ? 3 : 1;
  switch (sources) {
    case 1: return fold_vectors<Op, From, To, least>(dst, dst2, src, sources, count);
    case 3: return fold_vectors<Op, From, To, 3>(dst, dst2, src, sources, count);
    case 4: return fold_vectors<Op, From, To, 4>(dst, dst2, src, sources, count);
    case 5: return fold_vectors<Op, From, To, 5>(dst, dst2, src, sources, count);
    case 6: return fold_vectors<Op, From, To, 6>(dst, dst2, src, sources, count);
    case 7: return fold_vectors<Op, From, To, 7>(dst, dst2, src, sources, count);
    default: return fold_vectors<Op, From, To, 8>(dst, dst2, src, sources, count);
  }
}

// The many kernels for which the order does not matter have code for two sources and for any number, which is short.
template <typename Op, typename From, typename To>
void reduce_vector(void* dst, void* dst2, const void* const* src, int sources, size_t count) {
  if (sources == 2) return Fold<Op, From, To, 2>(dst, dst2, src, sources).run(count);
  if constexpr (std::is_same_v<From, To>)
    if (sources == 1) return copy_operand(dst, dst2, src[0], count * sizeof(To));
  if constexpr (order_matters<Op, From>) fold_in_order<Op, From, To>(dst, dst2, src, sources, count);
  else fold_vectors<Op, From, To, 0>(dst, dst2, src, sources, count);
}

template <typename T>
inline constexpr bool has_vectors = std::is_arithmetic_v<T> || IsComplex<T>::value || std::is_same_v<T, BFloat16> ||
                                    (std::is_same_v<T, Float16> && HWY_TARGET != HWY_SSE4);  // SSE4 has no F16C
template <>
inline constexpr bool has_vectors<long double> = false;
template <>
inline constexpr bool has_vectors<std::complex<long double>> = false;

struct Backend {
  template <typename Op, typename From, typename To>
  static constexpr ReduceFunction function() {
    if constexpr (has_vectors<From> && has_vectors<To>) return &reduce_vector<Op, From, To>;
    else return nullptr;
  }
};

constexpr KernelTable reduce_kernels = make_kernel_table<Backend>();

}  // namespace coll::mem::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
