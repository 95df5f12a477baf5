/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests ask of a library of device memory: gpu_standin.c, which stands in for CUDA or HIP, or gpu_cuda.c, which
   asks CUDA. */
#ifndef TESTS_MPI_GPU_H
#define TESTS_MPI_GPU_H

#include <dlfcn.h>
#include <stddef.h>

#define GPU_MANAGED_BYTES ((size_t)1 << 20)

/* Memory that the processor cannot access. Returns NULL if there is none left. */
void *gpu_allocate(size_t bytes);
void gpu_free(void *at);
/* GPU_MANAGED_BYTES of managed memory, which it can access; always the same. NULL if the device has none. */
void *gpu_managed(void);
/* Memory of the host that the device can access. */
void *gpu_pinned(size_t bytes);
void gpu_unpin(void *at);
/* As memcpy(), with device or host addresses; not counted. */
void gpu_copy(void *to, const void *from, size_t bytes);

/* The following only of a library that stands in for the device's. How often the shim has asked where a buffer is. */
unsigned long gpu_queries(void);
/* How many copies the shim has made. */
unsigned long gpu_copies(void);
/* How many streams, contexts and devices the shim has left in use. */
int gpu_left_open(void);

/* The same functions of the library that gpu_load() has opened. */
struct gpu {
  void *(*allocate)(size_t bytes);
  void (*free)(void *at);
  void *(*managed)(void);
  void *(*pinned)(size_t bytes);
  void (*unpin)(void *at);
  void (*copy)(void *to, const void *from, size_t bytes);
  unsigned long (*queries)(void);
  unsigned long (*copies)(void);
  int (*left_open)(void);
};
static struct gpu gpu;

/* Returns NULL, or what is wrong. */
static inline const char *gpu_load(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) return dlerror();
  *(void **)&gpu.allocate = dlsym(library, "gpu_allocate");
  *(void **)&gpu.free = dlsym(library, "gpu_free");
  *(void **)&gpu.managed = dlsym(library, "gpu_managed");
  *(void **)&gpu.pinned = dlsym(library, "gpu_pinned");
  *(void **)&gpu.unpin = dlsym(library, "gpu_unpin");
  *(void **)&gpu.copy = dlsym(library, "gpu_copy");
  *(void **)&gpu.queries = dlsym(library, "gpu_queries");
  *(void **)&gpu.copies = dlsym(library, "gpu_copies");
  *(void **)&gpu.left_open = dlsym(library, "gpu_left_open");
  if (gpu.allocate == NULL || gpu.free == NULL || gpu.managed == NULL || gpu.pinned == NULL || gpu.unpin == NULL ||
      gpu.copy == NULL)
    return "the library of device memory lacks a function";
  return NULL;
}

#endif
