// SPDX-License-Identifier: BSD-3-Clause
// Among whom a yield passes the core on.
//
// Linux divides a core between scheduling groups first: sched_yield() lets another process of the caller's own group
// run, but not one of another group. Every session is such a group where sched_autogroup_enabled is set, and so is
// every control group with the cpu controller.
#pragma once

#include <cstdint>

namespace coll::sync {

// Equal for two processes of one machine when they are in the same group. Thread safe; reads /proc.
uint64_t scheduling_group();

}  // namespace coll::sync
