// SPDX-License-Identifier: BSD-3-Clause
// What simd_targets.cc compiles for each target, so deliberately without an include guard. One-lane vectors gain
// nothing over the scalar kernels.
#include "hwy/highway.h"
#if HWY_TARGET != HWY_SCALAR
#include "mem/copy_kernels-inl.h"
#include "mem/reduce_kernels-inl.h"
#endif
