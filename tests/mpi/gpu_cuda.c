/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a GPU, for tests. Asks CUDA's driver library, whose headers are not needed: handles are pointers, and the
   numbers below are part of its ABI. No thread keeps a context, so the shim must find it by the address. */
#include "gpu.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { attach_global = 1 };

static struct {
  int (*initialize)(unsigned flags);
  int (*get_device)(int *device, int ordinal);
  int (*retain_primary)(void **context, int device);
  int (*push)(void *context);
  int (*pop)(void **context);
  int (*allocate)(uint64_t *at, size_t bytes);
  int (*allocate_managed)(uint64_t *at, size_t bytes, unsigned flags);
  int (*allocate_pinned)(void **at, size_t bytes);
  int (*free)(uint64_t at);
  int (*free_pinned)(void *at);
  int (*copy)(uint64_t to, uint64_t from, size_t bytes);
} cuda;

static void *context, *managed;

static void must(const char *what, int code) {
  if (code == 0) return;
  fprintf(stderr, "CUDA: %s: error %d\n", what, code);
  exit(1);
}

static void find(void *library, void *function, const char *name) {
  *(void **)function = dlsym(library, name);
  if (*(void **)function == NULL) {
    fprintf(stderr, "CUDA lacks %s\n", name);
    exit(1);
  }
}

static void enter(void) { must("cuCtxPushCurrent", cuda.push(context)); }
static void leave(void) {
  void *popped;
  must("cuCtxPopCurrent", cuda.pop(&popped));
}

__attribute__((constructor)) static void start(void) {
  int device;
  uint64_t at = 0;
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  find(library, &cuda.initialize, "cuInit");
  find(library, &cuda.get_device, "cuDeviceGet");
  find(library, &cuda.retain_primary, "cuDevicePrimaryCtxRetain");
  find(library, &cuda.push, "cuCtxPushCurrent_v2");
  find(library, &cuda.pop, "cuCtxPopCurrent_v2");
  find(library, &cuda.allocate, "cuMemAlloc_v2");
  find(library, &cuda.allocate_managed, "cuMemAllocManaged");
  find(library, &cuda.allocate_pinned, "cuMemAllocHost_v2");
  find(library, &cuda.free, "cuMemFree_v2");
  find(library, &cuda.free_pinned, "cuMemFreeHost");
  find(library, &cuda.copy, "cuMemcpy");
  must("cuInit", cuda.initialize(0));
  must("cuDeviceGet", cuda.get_device(&device, 0));
  must("cuDevicePrimaryCtxRetain", cuda.retain_primary(&context, device));
  enter();
  if (cuda.allocate_managed(&at, GPU_MANAGED_BYTES, attach_global) == 0) managed = (void *)(uintptr_t)at;
  leave();
}

void *gpu_allocate(size_t bytes) {
  uint64_t at = 0;
  enter();
  const int code = cuda.allocate(&at, bytes);
  leave();
  return code == 0 ? (void *)(uintptr_t)at : NULL;
}

void gpu_free(void *at) {
  enter();
  must("cuMemFree", cuda.free((uintptr_t)at));
  leave();
}

void *gpu_managed(void) { return managed; }

void *gpu_pinned(size_t bytes) {
  void *at = NULL;
  enter();
  must("cuMemAllocHost", cuda.allocate_pinned(&at, bytes));
  leave();
  return at;
}

void gpu_unpin(void *at) {
  enter();
  must("cuMemFreeHost", cuda.free_pinned(at));
  leave();
}

void gpu_copy(void *to, const void *from, size_t bytes) {
  enter();
  must("cuMemcpy", cuda.copy((uintptr_t)to, (uintptr_t)from, bytes));
  leave();
}
