// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/hook.h"

#include "mpi/library.h"
#include "mpi/progress.h"

#include <coll/shim.h>

#include <atomic>
#include <dlfcn.h>

namespace coll::shim {
namespace {

void (*hooked)() = nullptr;
std::atomic<bool> was_called{false};  // the library's progress has called the hook

// The function may call MPI, whose progress calls this again.
[[gnu::always_inline]] inline void run_hook() {
  static constinit thread_local bool inside = false;
  if (inside) return;
  inside = true;
  was_called.store(true, std::memory_order_relaxed);
  hooked();
  inside = false;
}

// Whether the progress really calls the hook: that the symbols exist does not mean that the library uses UCX.
bool is_called() {
  for (int round = 0; round < 100 && !was_called.load(std::memory_order_relaxed); round++) drive_mpi_progress(nullptr);
  return was_called.load(std::memory_order_relaxed);
}

}  // namespace

#if defined(OPEN_MPI) || defined(COLL_SHIM_ABI)

namespace {

bool hook_open_mpi() {
  using Callback = int (*)();
  auto *add = reinterpret_cast<int (*)(Callback)>(variable("opal_progress_register"));
  if (add == nullptr) return false;
  const Callback callback = [] {
    run_hook();
    return 0;
  };
  return add(callback) == 0 && is_called();
}

}  // namespace

#endif
#ifndef OPEN_MPI

namespace {

using WorkerProgress = unsigned (*)(void *);
std::atomic<bool> has_hook{false};

WorkerProgress next_worker_progress() {
  if (void *symbol = dlsym(RTLD_NEXT, "ucp_worker_progress")) return reinterpret_cast<WorkerProgress>(symbol);
  // UCX was loaded with RTLD_LOCAL, as a dependency of an MPI library that was.
  void *ucx = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
  return ucx != nullptr ? reinterpret_cast<WorkerProgress>(dlsym(ucx, "ucp_worker_progress")) : nullptr;
}

bool hook_ucx() {
  has_hook.store(true, std::memory_order_release);
  if (is_called()) return true;
  has_hook.store(false, std::memory_order_relaxed);
  return false;
}

}  // namespace

// The hook returns before UCX makes progress: neither runs inside the other.
extern "C" [[gnu::visibility("default")]] unsigned ucp_worker_progress(void *worker) {
  static const WorkerProgress next = next_worker_progress();
  if (has_hook.load(std::memory_order_acquire)) run_hook();
  const unsigned events = next(worker);
  if (events != 0) coll_progress_moved();
  return events;
}

#endif

bool hook_progress(void (*function)()) {
  hooked = function;
#if defined(COLL_SHIM_ABI)
  return over_open_mpi ? hook_open_mpi() : hook_ucx();
#elif defined(OPEN_MPI)
  return hook_open_mpi();
#else
  return hook_ucx();
#endif
}

}  // namespace coll::shim
