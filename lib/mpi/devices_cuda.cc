// SPDX-License-Identifier: BSD-3-Clause
// CUDA's driver interface. Its headers are not needed: handles are pointers, and the numbers below are part of its ABI.
#include "mpi/device_library.h"

#include <cstdint>
#include <new>

namespace coll::shim {
namespace {

using Result = int;  // CUresult: 0 is success
enum Attribute : int { context_attribute = 1, memory_type = 2, is_managed = 8, device_ordinal = 9 };
constexpr unsigned device_memory = 2;  // CU_MEMORYTYPE_DEVICE

class Cuda final : public DeviceRuntime {
 public:
  bool load(void *library) {
    return find_in(library, "cuPointerGetAttribute", &get_attribute_) &&
           find_in(library, "cuCtxGetCurrent", &get_current_) && find_in(library, "cuCtxPushCurrent_v2", &push_) &&
           find_in(library, "cuCtxPopCurrent_v2", &pop_) &&
           find_in(library, "cuDevicePrimaryCtxRetain", &retain_primary_) &&
           find_in(library, "cuStreamCreate", &streams_.create) &&
           find_in(library, "cuStreamDestroy_v2", &streams_.destroy) && find_in(library, "cuMemcpyAsync", &copy_) &&
           find_in(library, "cuStreamSynchronize", &streams_.synchronize);
  }

  const char *name() const override { return "CUDA"; }

  // The processor can access managed memory. An address that CUDA does not know, or before the program has initialised
  // CUDA, is an error, hence host memory.
  bool owns(const void *at) const override {
    unsigned type = 0, managed = 0;
    if (get_attribute_(&type, memory_type, address(at)) != 0 || type != device_memory) return false;
    return get_attribute_(&managed, is_managed, address(at)) != 0 || managed == 0;
  }

  int copy(char *to, const char *from, std::span<const Part> parts, const void *device) const override {
    void *context = nullptr;
    if (const Result result = context_of(device, &context); result != 0) return result;
    if (const Result result = push_(context); result != 0) return result;
    const Result result = copy_in_context(to, from, parts);
    void *popped;
    pop_(&popped);
    return result;
  }

 private:
  static std::uint64_t address(const void *at) { return reinterpret_cast<std::uintptr_t>(at); }

  // The context in which `device` was allocated. Memory of pools has none: then the calling thread's, or, if it has
  // none, that of the device which programs share.
  Result context_of(const void *device, void **context) const {
    if (get_attribute_(context, context_attribute, address(device)) == 0 && *context != nullptr) return 0;
    if (get_current_(context) == 0 && *context != nullptr) return 0;
    int ordinal = 0;
    if (const Result result = get_attribute_(&ordinal, device_ordinal, address(device)); result != 0) return result;
    return retain_primary_(context, ordinal);
  }

  Result copy_in_context(char *to, const char *from, std::span<const Part> parts) const {
    // In a program compiled with a default stream for each thread, that is the one to wait for.
    void *const of_this_thread = reinterpret_cast<void *>(2);  // CU_STREAM_PER_THREAD
    if (const Result result = streams_.synchronize(of_this_thread); result != 0) return result;
    return on_own_stream(streams_, parts, [&](const Part &part, void *stream) {
      return copy_(address(to + part.offset_bytes), address(from + part.offset_bytes), part.bytes, stream);
    });
  }

  Result (*get_attribute_)(void *, Attribute, std::uint64_t);
  Result (*get_current_)(void **);
  Result (*push_)(void *);
  Result (*pop_)(void **);
  Result (*retain_primary_)(void **, int);
  StreamFunctions streams_;
  Result (*copy_)(std::uint64_t, std::uint64_t, std::size_t, void *);
};

}  // namespace

std::unique_ptr<DeviceRuntime> cuda_runtime(void *library) {
  std::unique_ptr<Cuda> cuda(new (std::nothrow) Cuda);
  if (cuda == nullptr || !cuda->load(library)) return nullptr;
  return cuda;
}

}  // namespace coll::shim
