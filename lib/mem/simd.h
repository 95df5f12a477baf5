// SPDX-License-Identifier: BSD-3-Clause
// Which SIMD target the copy and reduce kernels use. Chosen at first use: the best one that this processor has, or
// the one named by COLL_SIMD. Sanitizer builds start with "scalar", whose memory accesses are checked.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace coll::mem {

// Names of the targets that are compiled in and that this processor runs, best first; "scalar" is always the last.
std::span<const char* const> simd_targets();

// The target in use.
const char* simd_target();

// Uses another target from now on, for tests and comparisons: copies change at once, reduce kernels when they are
// looked up again. False when `name` is not one of simd_targets().
bool simd_select(std::string_view name);

// Describes what is wrong with the value of COLL_SIMD and how to fix it; empty if nothing is. A wrong value is ignored.
std::string simd_environment_error();

}  // namespace coll::mem
