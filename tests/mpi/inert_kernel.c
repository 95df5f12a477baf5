/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded: accepts MADV_REMOVE and does nothing, as gVisor and user-mode emulators do. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int madvise(void *memory, size_t bytes, int advice) {
  return advice == MADV_REMOVE ? 0 : (int)syscall(SYS_madvise, memory, bytes, advice);
}
