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

// Calls copy(part, stream), which returns the same, for all parts, and waits for them. They get a stream of their own,
// which waits for the program's default stream: a cudaMemcpy() of a few kilobytes to the device returns when the data
// is in a buffer of the driver, not when it has arrived. The program's other streams do not wait for it. Returns the
// first error code.
template <typename Copy>
int on_own_stream(const StreamFunctions &functions, std::span<const Part> parts, Copy copy) {
  constexpr unsigned after_the_default_stream = 0;  // CU_STREAM_DEFAULT, hipStreamDefault
  void *stream = nullptr;
  int result = functions.create(&stream, after_the_default_stream);
  if (result != 0) return result;
  for (const Part &part : parts)
    if (result == 0) result = copy(part, stream);
  const int end = functions.synchronize(stream);
  functions.destroy(stream);
  return result != 0 ? result : end;
}

}  // namespace coll::shim
