// SPDX-License-Identifier: BSD-3-Clause
// The names of the C library's allocator, defined here and led either to the next in line or to the shared heap.
#pragma once

namespace coll::heap {

// Until this is called they lead to the next in line; afterwards large allocations come from the heap if `shared`.
void settle(bool shared);

}  // namespace coll::heap
