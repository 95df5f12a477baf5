// SPDX-License-Identifier: BSD-3-Clause
// Cross Memory Attach: the kernel copies between two address spaces, once (process_vm_readv, process_vm_writev).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transport/mechanism.h"

namespace coll::transport {

// Copy `bytes` from the peer's address space to this one, or from this one to the peer's; continue after partial
// copies. Return 0 or errno: ESRCH if the peer has exited, EPERM if the system forbids it, EFAULT if an address is not
// mapped.
int cma_read(int pid, void* local, uint64_t remote, size_t bytes);
int cma_write(int pid, uint64_t remote, const void* local, size_t bytes);

// Returns what to do about an errno of these two, as a message for users.
std::string cma_hint(int error);

// The access of a communicator whose ranks are these processes; `pids` by rank.
std::unique_ptr<Mechanism> cma_access(std::vector<int> pids);

}  // namespace coll::transport
