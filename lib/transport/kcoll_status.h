// SPDX-License-Identifier: BSD-3-Clause
// The errors of the kernel module that this library distinguishes, with a fix for each.
#pragma once

#include <string>

namespace coll::transport {

enum class KcollStatus {
  ok,
  absent,         // the module is not loaded
  no_permission,  // this user may not open the device, or may not access this region in this direction
  mismatch,       // not a kcoll that this library can use
  inherited,      // the descriptor or mapping is another process's, from before fork()
  taken,          // this descriptor has joined another domain, or registered before it joined one
  stale,          // the owner has changed the memory: attach again
  gone,           // the region was unregistered, or its owner has exited
  no_allowance,   // RLIMIT_MEMLOCK, max_pinned_mb, max_regions or memory itself is short
  out_of_range,   // beyond the region's end
  unsuitable,     // memory that cannot be registered or mapped so: of a file, of a device, not whole pages
  bad_address,    // not mapped, in this process or in the owner
  failed          // anything else
};

// "stale", for logs and JSON.
const char* name(KcollStatus status);
// Returns one sentence: what is wrong and, if something can be done, how to fix it; "" for ok.
std::string kcoll_hint(KcollStatus status);
// What the errno of an ioctl or mmap() on the device means; 0 is ok. Not the inverse of errno_of().
KcollStatus kcoll_status_of(int error);
// The errno for callers that do not know kcoll: gone is ESRCH, as for any process that has exited.
int errno_of(KcollStatus status);

}  // namespace coll::transport
