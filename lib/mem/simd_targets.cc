// SPDX-License-Identifier: BSD-3-Clause
// Compiles the vector kernels once per SIMD target and lists them. Only Highway's headers are used: its own dispatcher
// would need libhwy.so at run time, and a preloaded library should depend on nothing.
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "mem/implementation.h"
#include "mem/reduce_ops.h"

// Few targets: each costs compile time, and those left out are between or above these without another instruction that
// copies or reductions could use.
#if defined(__SANITIZE_THREAD__)
// These targets have no race that another target would not show, and with the sanitizer they compile for minutes.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_AVX3)
#elif defined(__SANITIZE_ADDRESS__)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mem/simd_kernels-inl.h"
#include "hwy/foreach_target.h"
// For the static target, which foreach_target.h leaves to its user.
#include "mem/simd_kernels-inl.h"

namespace coll::mem {
namespace {

void copy_scalar(void* dst, const void* src, size_t bytes) { std::memcpy(dst, src, bytes); }

void copy2_scalar(void* dst1, void* dst2, const void* src, size_t bytes) {
  std::memcpy(dst1, src, bytes);
  std::memcpy(dst2, src, bytes);
}

#if HWY_ARCH_X86
// Not all compilers know "f16c" in __builtin_cpu_supports(): clang 14 does not.
bool has_f16c() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

constexpr Implementation implementations[] = {
#if HWY_ARCH_X86
#if HWY_TARGETS & HWY_AVX3
    {"avx512",
     [] {
       return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && has_f16c() &&
              __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
     },
     &N_AVX3::reduce_kernels, N_AVX3::copy_kernels},
#endif
#if HWY_TARGETS & HWY_AVX2
    {"avx2",
     [] {
       return __builtin_cpu_supports("avx2") && has_f16c() && __builtin_cpu_supports("bmi2") &&
              __builtin_cpu_supports("fma");
     },
     &N_AVX2::reduce_kernels, N_AVX2::copy_kernels},
#endif
#if HWY_TARGETS & HWY_SSE4
    {"sse4",
     [] {
       return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
     },
     &N_SSE4::reduce_kernels, N_SSE4::copy_kernels},
#endif
#elif HWY_STATIC_TARGET != HWY_SCALAR
    // Other architectures: the instructions that the compiler may use anyway.
    {"native", [] { return true; }, &HWY_STATIC_DISPATCH(reduce_kernels), HWY_STATIC_DISPATCH(copy_kernels)},
#endif
    {"scalar", [] { return true; }, nullptr, {copy_scalar, copy_scalar, copy2_scalar}},
};

}  // namespace

std::span<const Implementation> all_implementations() { return implementations; }

}  // namespace coll::mem
