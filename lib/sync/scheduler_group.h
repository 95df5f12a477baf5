// SPDX-License-Identifier: BSD-3-Clause
// Scheduler groups: the processes among which a yield can give the core to another one.
//
// Linux divides a core between scheduler groups first: sched_yield() lets another process of the caller's own group
// run, but not one of another group. If sched_autogroup_enabled is set, every session is such a group; so is every
// control group with the cpu controller.
#pragma once

#include <cstdint>

namespace coll::sync {

// Returns a number that differs between two processes of one machine if they are in different groups. It may also differ
// within one group, which costs time, not correctness. Thread safe; reads /proc.
uint64_t scheduler_group();

}  // namespace coll::sync
