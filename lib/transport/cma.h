// SPDX-License-Identifier: BSD-3-Clause
// Cross Memory Attach: the kernel copies between two address spaces, once (process_vm_readv, process_vm_writev).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transport/access.h"

namespace coll::transport {

// Copies `bytes` from the peer's address to here, or the other way round; continues after partial copies. 0 or errno:
// ESRCH when the peer has ended, EPERM when the system forbids it, EFAULT when an address is not mapped.
int cma_read(int pid, void* local, uint64_t remote, size_t bytes);
int cma_write(int pid, uint64_t remote, const void* local, size_t bytes);

// What to do about an errno of the two, for people.
std::string cma_remedy(int error);

// The same for the ranks of a communicator, whose processes these are.
std::unique_ptr<Access> cma_access(std::vector<int> pids);

}  // namespace coll::transport
