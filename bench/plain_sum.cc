// SPDX-License-Identifier: BSD-3-Clause
// The obvious loop that micro_mem compares with the library's kernels. In a file of its own, which is compiled with -O3
// and not inlined; on x86 for the instructions of each processor, as with -march=native.
#include <cstddef>

#if defined(__x86_64__)
__attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
#endif
void plain_sum(float* __restrict dst, const float* a, const float* b, size_t count) {
  for (size_t i = 0; i < count; ++i) dst[i] = a[i] + b[i];
}
