// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/memory.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "coll/coll.h"
#include "mpi/communicators.h"
#include "mpi/intercept.h"
#include "mpi/log.h"

#ifdef COLL_SHIM_HEAP
#include "heap/heap.h"
#endif

namespace coll::shim {

namespace {

// Before main(), since malloc() must be replaced before the program allocates. COLL_SHIM_HEAP: the shim is built with the
// heap, which needs jemalloc and no sanitizer.
[[gnu::constructor]] void start_heap() {
#ifdef COLL_SHIM_HEAP
  heap::start([](const char *line) { log_line("%s", line); });
#else
  const char *wish = std::getenv("COLL_HEAP");
  if (wish != nullptr && std::strcmp(wish, "shared") == 0)
    log_line(
        "COLL_HEAP=shared: this shim was built without the shared heap (it needs libjemalloc-dev and a build without "
        "sanitizers); allocations use private memory");
#endif
}

}  // namespace

// Hints are requests that only the MPI library understands. `base`: the address of the program's pointer, as in MPI.
int intercept_alloc_mem(MPI_Aint bytes, bool has_hints, void *base) {
  if (bytes <= 0 || has_hints || base == nullptr || !prepare()) return not_intercepted;
  return coll_mem_alloc(static_cast<std::size_t>(bytes), static_cast<void **>(base)) == COLL_OK ? MPI_SUCCESS
                                                                                                : not_intercepted;
}

int intercept_free_mem(void *base) {
  return base != nullptr && coll_mem_free(base) == COLL_OK ? MPI_SUCCESS : not_intercepted;
}

void log_heap([[maybe_unused]] int rank) {
#ifdef COLL_SHIM_HEAP
  const heap::Account account = heap::account();
  if (account.allocations > 0)
    log_line("rank %d: heap: %llu allocations from %llu MiB", rank,
             static_cast<unsigned long long>(account.allocations),
             static_cast<unsigned long long>(account.grown_bytes >> 20));
#endif
}

}  // namespace coll::shim
