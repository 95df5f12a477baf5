// SPDX-License-Identifier: BSD-3-Clause
#include "transport/cma.h"

#include <cerrno>
#include <cstring>
#include <sys/uio.h>

namespace coll::transport {

namespace {

using Call = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

int transfer(Call call, int pid, char* local, uint64_t remote, size_t bytes) {
  while (bytes > 0) {
    iovec here{local, bytes}, there{reinterpret_cast<void*>(remote), bytes};
    ssize_t moved = call(pid, &here, 1, &there, 1, 0);
    if (moved < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    if (moved == 0) return EFAULT;
    local += moved;
    remote += uint64_t(moved);
    bytes -= size_t(moved);
  }
  return 0;
}

}  // namespace

int cma_read(int pid, void* local, uint64_t remote, size_t bytes) {
  return transfer(process_vm_readv, pid, static_cast<char*>(local), remote, bytes);
}

int cma_write(int pid, uint64_t remote, const void* local, size_t bytes) {
  return transfer(process_vm_writev, pid, static_cast<char*>(const_cast<void*>(local)), remote, bytes);
}

std::string cma_remedy(int error) {
  std::string text = strerror(error);
  switch (error) {
    case EPERM:
      return text +
             "; the ranks need one user and ptrace permission (kernel.yama.ptrace_scope=0, or CAP_SYS_PTRACE in a "
             "container)";
    case ENOSYS: return text + "; the kernel lacks CONFIG_CROSS_MEMORY_ATTACH or a seccomp filter hides it";
    default: return text;
  }
}

}  // namespace coll::transport
