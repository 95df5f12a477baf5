// SPDX-License-Identifier: BSD-3-Clause
// What the libraries of CUDA and HIP have in common.
#pragma once

#include "mpi/devices.h"

#include <dlfcn.h>
#include <span>

namespace coll::shim {

// Looks up a function of a library; returns false if it lacks it.
template <typename Function>
bool find_in(void *library, const char *name, Function **function) {
  *function = reinterpret_cast<Function *>(dlsym(library, name));
  return *function != nullptr;
}

// The library's functions on streams, which return 0 or an error code.
struct StreamFunctions {
  int (*create)(void **stream, unsigned flags);
  int (*destroy)(void *stream);
  int (*synchronize)(void *stream);
};

// Calls copy(part, stream), which returns the same, for all parts, and waits for them. They get a stream of their own:
// the default stream would wait for kernels of the program that may wait for this rank. Returns the first error code.
template <typename Copy>
int on_own_stream(const StreamFunctions &functions, std::span<const Part> parts, Copy copy) {
  constexpr unsigned independent_of_others = 1;  // CU_STREAM_NON_BLOCKING, hipStreamNonBlocking
  void *stream = nullptr;
  int result = functions.create(&stream, independent_of_others);
  if (result != 0) return result;
  for (const Part &part : parts)
    if (result == 0) result = copy(part, stream);
  const int end = functions.synchronize(stream);
  functions.destroy(stream);
  return result != 0 ? result : end;
}

}  // namespace coll::shim
