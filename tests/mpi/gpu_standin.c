/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands in for libcuda.so.1, and for libamdhip64.so if HIP is defined: the functions that the shim calls, and an
   allocator for tests. Its device memory faults when the processor touches it, as a GPU's does. The same pages are
   mapped a second time, at an address that only this library knows: it copies there. */
#include "gpu.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROOM_BYTES ((size_t)1 << 28)

static char *device, *mirror;
static char managed[GPU_MANAGED_BYTES];
static size_t used_bytes;
static int live, streams, pushed;
static unsigned long copied, asked;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void map(void) {
  const int file = memfd_create("device", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, (off_t)ROOM_BYTES) != 0) abort();
  device = mmap(NULL, ROOM_BYTES, PROT_NONE, MAP_SHARED, file, 0);
  mirror = mmap(NULL, ROOM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (device == MAP_FAILED || mirror == MAP_FAILED) abort();
  close(file);
}

static int is_device(const void *at) { return (const char *)at >= device && (const char *)at < device + ROOM_BYTES; }
static int is_managed(const void *at) {
  return (const char *)at >= managed && (const char *)at < managed + sizeof managed;
}
static char *real(const void *at) {
  return is_device(at) ? mirror + ((const char *)at - device) : (char *)(uintptr_t)at;
}

static int copy(void *to, const void *from, size_t bytes) {
  if (is_device(to) == is_device(from)) return 1;
  memcpy(real(to), real(from), bytes);
  __atomic_fetch_add(&copied, 1, __ATOMIC_RELAXED);
  return 0;
}

/* ---- for tests ------------------------------------------------------------------------------------------------ */

void *gpu_allocate(size_t bytes) {
  void *found = NULL;
  pthread_mutex_lock(&mutex);
  if (live == 0) used_bytes = 0;
  if (bytes <= ROOM_BYTES - used_bytes) {
    found = device + used_bytes;
    used_bytes += (bytes + 63) / 64 * 64 + 64;
    live++;
  }
  pthread_mutex_unlock(&mutex);
  return found;
}

void *gpu_managed(void) { return managed; }

void *gpu_pinned(size_t bytes) { return malloc(bytes); }
void gpu_unpin(void *at) { free(at); }

/* As CUDA does with data of a few kilobytes: they are copied to the device later, but before later work of the default
   stream, and of those that wait for it. */
static struct {
  void *to, *data;
  size_t bytes;
} pending;

static void finish_pending(void) {
  pthread_mutex_lock(&mutex);
  if (pending.data != NULL) memcpy(real(pending.to), pending.data, pending.bytes);
  free(pending.data);
  pending.data = NULL;
  pthread_mutex_unlock(&mutex);
}

void gpu_free(void *at) {
  finish_pending();
  pthread_mutex_lock(&mutex);
  if (at != NULL) live--;
  pthread_mutex_unlock(&mutex);
}

void gpu_copy(void *to, const void *from, size_t bytes) {
  finish_pending();
  void *later = is_device(to) && bytes <= 65536 ? malloc(bytes) : NULL;
  if (later == NULL) {
    memcpy(real(to), real(from), bytes);
    return;
  }
  memcpy(later, real(from), bytes);
  pthread_mutex_lock(&mutex);
  pending.to = to, pending.data = later, pending.bytes = bytes;
  pthread_mutex_unlock(&mutex);
}

unsigned long gpu_queries(void) { return __atomic_load_n(&asked, __ATOMIC_RELAXED); }

unsigned long gpu_copies(void) { return __atomic_load_n(&copied, __ATOMIC_RELAXED); }

int gpu_left_open(void) {
  return __atomic_load_n(&streams, __ATOMIC_RELAXED) + __atomic_load_n(&pushed, __ATOMIC_RELAXED);
}

/* ---- streams: the work of one is done when it is asked for ------------------------------------------------------ */

static int open_stream(void **stream, unsigned flags) {
  static char one;
  if (flags == 0) finish_pending(); /* it waits for the default stream */
  __atomic_fetch_add(&streams, 1, __ATOMIC_RELAXED);
  *stream = &one;
  return 0;
}

static int close_stream(void *stream) {
  if (stream == NULL) return 1;
  __atomic_fetch_sub(&streams, 1, __ATOMIC_RELAXED);
  return 0;
}

#ifndef HIP

int cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
  const void *at = (const void *)(uintptr_t)address;
  static char context;
  __atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
  if (!is_device(at) && !is_managed(at)) return 1;
  switch (attribute) {
    case 1: *(void **)value = is_device(at) ? &context : NULL; return 0;
    case 2: *(unsigned *)value = 2; return 0;
    case 8: *(unsigned *)value = (unsigned)is_managed(at); return 0;
    case 9: *(int *)value = 0; return 0;
    default: return 1;
  }
}

int cuCtxGetCurrent(void **context) { return *context = NULL, 0; }
int cuCtxPushCurrent_v2(void *context) {
  return context == NULL ? 201 : (__atomic_fetch_add(&pushed, 1, __ATOMIC_RELAXED), 0);
}
int cuCtxPopCurrent_v2(void **context) { return __atomic_fetch_sub(&pushed, 1, __ATOMIC_RELAXED), *context = NULL, 0; }
int cuDevicePrimaryCtxRetain(void **context, int ordinal) { return (void)ordinal, *context = NULL, 101; }
int cuStreamCreate(void **stream, unsigned flags) { return open_stream(stream, flags); }
int cuStreamDestroy_v2(void *stream) { return close_stream(stream); }
int cuStreamSynchronize(void *stream) { return stream == NULL; } /* or 2: that of the thread, which is idle */
int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  /* As of a driver whose device is lost. */
  if (stream == NULL || getenv("STANDIN_FAILS") != NULL) return 999;
  return copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
}

#else

struct attributes {
  int type, device;
  void *device_pointer, *host_pointer;
  int is_managed;
  unsigned flags;
};

static _Thread_local int error, current;

int hipRuntimeGetVersion(int *version) { return *version = HIP, 0; }
int hipPointerGetAttributes(struct attributes *attributes, const void *at) {
  __atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
  if (!is_device(at) && !is_managed(at)) return error = 1;
  *attributes = (struct attributes){.type = HIP >= 60000000 ? 2 : 1, .device = 1, .is_managed = is_managed(at)};
  return 0;
}
int hipGetDevice(int *device) { return *device = current, 0; }
int hipSetDevice(int device) {
  __atomic_fetch_add(&pushed, device - current, __ATOMIC_RELAXED);
  return current = device, 0;
}
int hipPeekAtLastError(void) { return error; }
int hipGetLastError(void) {
  const int last = error;
  return error = 0, last;
}
int hipStreamCreateWithFlags(void **stream, unsigned flags) { return open_stream(stream, flags); }
int hipStreamDestroy(void *stream) { return close_stream(stream); }
int hipStreamSynchronize(void *stream) { return stream == NULL; }
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) {
  if (stream == NULL || kind != 4 || current != 1 || getenv("STANDIN_FAILS") != NULL) return 999;
  return copy(to, from, bytes);
}

#endif
