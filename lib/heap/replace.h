// SPDX-License-Identifier: BSD-3-Clause
// Defines the functions of the C library's allocator; each calls either the next allocator (RTLD_NEXT) or the shared
// heap.
#pragma once

namespace coll::heap {

// Before this is called they call the next allocator; afterwards large allocations come from the heap if `shared`.
void choose_allocator(bool shared);

}  // namespace coll::heap
