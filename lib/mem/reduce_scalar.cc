// SPDX-License-Identifier: BSD-3-Clause
// Kernels in plain C++ for every operation and type: the only ones for long double and pairs, and the fall-back where a
// SIMD target has none.
#include "mem/reduce_ops.h"

namespace coll::mem {
namespace {

template <typename Op, typename T>
void reduce_scalar(void* dst, void* dst2, const void* const* src, int sources, size_t count) {
  if (sources == 1) return copy_operand(dst, dst2, src[0], count * sizeof(T));
  const T* operand[max_sources];
  for (int s = 0; s < sources; ++s) operand[s] = static_cast<const T*>(src[s]);
  T* out = static_cast<T*>(dst);
  T* out2 = static_cast<T*>(dst2);
  for (size_t i = 0; i < count; ++i) {
    auto value = load_value(operand[0] + i);
    for (int s = 1; s < sources; ++s) value = Op::apply(value, load_value(operand[s] + i));
    store_value(out + i, value);
    if (out2 != nullptr) store_value(out2 + i, value);
  }
}

struct ScalarBackend {
  template <typename Op, typename T>
  static constexpr ReduceKernel kernel() {
    return &reduce_scalar<Op, T>;
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
