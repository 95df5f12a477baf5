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

// A peer needs to know only the address of a buffer.
class Cma : public Mechanism {
 public:
  explicit Cma(std::vector<int> pids) : pids_(std::move(pids)) {}
  const char* name() const override { return "cma"; }
  Path path() const override { return {.reads = true, .writes = true}; }
  bool offer(const void* memory, size_t, bool, Announced& at, Hold&) override {
    at = {0, uint64_t(uintptr_t(memory))};
    return true;
  }
  int read(int rank, const Announced& at, uint64_t offset, void* to, size_t bytes) override {
    return cma_read(pids_[size_t(rank)], to, at.place + offset, bytes);
  }
  int write(int rank, const Announced& at, uint64_t offset, const void* from, size_t bytes) override {
    return cma_write(pids_[size_t(rank)], at.place + offset, from, bytes);
  }
  std::string hint(int error) const override { return cma_hint(error); }

 private:
  std::vector<int> pids_;
};

}  // namespace

std::unique_ptr<Mechanism> cma_access(std::vector<int> pids) { return std::make_unique<Cma>(std::move(pids)); }

int cma_read(int pid, void* local, uint64_t remote, size_t bytes) {
  return transfer(process_vm_readv, pid, static_cast<char*>(local), remote, bytes);
}

int cma_write(int pid, uint64_t remote, const void* local, size_t bytes) {
  return transfer(process_vm_writev, pid, static_cast<char*>(const_cast<void*>(local)), remote, bytes);
}

std::string cma_hint(int error) {
  std::string text = strerror(error);
  switch (error) {
    case EPERM:
      return text +
             "; the ranks need one user, one user namespace and ptrace permission (kernel.yama.ptrace_scope=0, or "
             "CAP_SYS_PTRACE in a container)";
    case ESRCH: return text + "; the ranks need one pid namespace, and must live";
    case ENOSYS: return text + "; the kernel lacks CONFIG_CROSS_MEMORY_ATTACH or a seccomp filter hides it";
    default: return text;
  }
}

}  // namespace coll::transport
