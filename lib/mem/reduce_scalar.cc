// SPDX-License-Identifier: BSD-3-Clause
// Kernels in plain C++ for every operation and type: the only ones for long double and pairs, and the fall-back where a
// SIMD target has none.
#include "mem/reduce_ops.h"

namespace coll::mem {
namespace {

// The tree of reduce.h over element i of all sources. One body for all numbers of sources keeps the code short.
template <typename Op, typename T>
auto fold_tree(const T* const* src, int sources, size_t i) {
  static_assert(max_sources == 8);
  auto value = [&](int s) { return load_value(src[s] + i); };
  auto up_to_four = [&](int first, int n) {
    auto left = value(first);
    if (n > 1) left = Op::apply(left, value(first + 1));
    if (n == 3) return Op::apply(left, value(first + 2));
    if (n == 4) return Op::apply(left, Op::apply(value(first + 2), value(first + 3)));
    return left;
  };
  if (sources <= 4) return up_to_four(0, sources);
  const auto left = up_to_four(0, 4);
  return Op::apply(left, up_to_four(4, sources - 4));
}

template <typename Op, typename From, typename To>
void reduce_scalar(void* dst, void* dst2, const void* const* src, int sources, size_t count) {
  if constexpr (std::is_same_v<From, To>)
    if (sources == 1) return copy_operand(dst, dst2, src[0], count * sizeof(To));
  const From* operand[max_sources];
  for (int s = 0; s < sources; ++s) operand[s] = static_cast<const From*>(src[s]);
  To* out = static_cast<To*>(dst);
  To* out2 = static_cast<To*>(dst2);
  for (size_t i = 0; i < count; ++i) {
    auto value = load_value(operand[0] + i);
    if constexpr (order_matters<Op, From>) value = fold_tree<Op>(operand, sources, i);
    else
      for (int s = 1; s < sources; ++s) value = Op::apply(value, load_value(operand[s] + i));
    store_value(out + i, value);
    if (out2 != nullptr) store_value(out2 + i, value);
  }
}

struct ScalarBackend {
  template <typename Op, typename From, typename To>
  static constexpr ReduceFunction function() {
    return &reduce_scalar<Op, From, To>;
  }
};

}  // namespace

void multiply_complex(std::complex<float>* x, const std::complex<float>* y, size_t count) {
  for (size_t i = 0; i < count; ++i) x[i] = Prod::apply(x[i], y[i]);
}

void multiply_complex(std::complex<double>* x, const std::complex<double>* y, size_t count) {
  for (size_t i = 0; i < count; ++i) x[i] = Prod::apply(x[i], y[i]);
}

constexpr KernelTable scalar_kernels = make_kernel_table<ScalarBackend>();

}  // namespace coll::mem
