// SPDX-License-Identifier: BSD-3-Clause
// AMD's HIP. Its headers are not needed: the structure and the numbers below are part of its ABI.
#include "mpi/device_library.h"

#include <new>

namespace coll::shim {
namespace {

using Result = int;  // hipError_t: 0 is success
struct Attributes {  // hipPointerAttribute_t
  int type;
  int device;
  void *device_pointer;
  void *host_pointer;
  int is_managed;
  unsigned flags;
};
constexpr int first_version_with_cuda_types = 60000000;  // 6.0: the types of memory got CUDA's numbers
constexpr int copy_default = 4;                          // hipMemcpyDefault: the addresses tell the direction

class Hip final : public DeviceRuntime {
 public:
  bool load(void *library) {
    Result (*get_version)(int *);
    int version = 0;
    const bool good =
        find_in(library, "hipRuntimeGetVersion", &get_version) &&
        find_in(library, "hipPointerGetAttributes", &get_attributes_) &&
        find_in(library, "hipGetDevice", &get_device_) && find_in(library, "hipSetDevice", &set_device_) &&
        find_in(library, "hipPeekAtLastError", &peek_error_) && find_in(library, "hipGetLastError", &take_error_) &&
        find_in(library, "hipStreamCreateWithFlags", &streams_.create) &&
        find_in(library, "hipStreamDestroy", &streams_.destroy) && find_in(library, "hipMemcpyAsync", &copy_) &&
        find_in(library, "hipStreamSynchronize", &streams_.synchronize) && get_version(&version) == 0;
    device_memory_ = version >= first_version_with_cuda_types ? 2 : 1;
    return good;
  }

  const char *name() const override { return "HIP"; }

  bool owns(const void *at) const override {
    Attributes attributes{};
    return attributes_of(at, &attributes) && attributes.type == device_memory_ && attributes.is_managed == 0;
  }

  int copy(char *to, const char *from, std::span<const Part> parts, const void *device) const override {
    Attributes attributes{};
    if (!attributes_of(device, &attributes)) return 1;
    int before = 0;
    if (const Result result = get_device_(&before); result != 0) return result;
    if (const Result result = set_device_(attributes.device); result != 0) return result;
    const Result result = copy_on_device(to, from, parts);
    set_device_(before);
    return result;
  }

 private:
  // Memory of the host is an error, which must not become the one that the program finds at its next hipGetLastError().
  bool attributes_of(const void *at, Attributes *attributes) const {
    const bool was_good = peek_error_() == 0;
    const bool known = get_attributes_(attributes, at) == 0;
    if (!known && was_good) take_error_();
    return known;
  }

  Result copy_on_device(char *to, const char *from, std::span<const Part> parts) const {
    return on_own_stream(streams_, parts, [&](const Part &part, void *stream) {
      return copy_(to + part.offset_bytes, from + part.offset_bytes, part.bytes, copy_default, stream);
    });
  }

  int device_memory_ = 0;  // hipMemoryTypeDevice
  Result (*get_attributes_)(Attributes *, const void *);
  Result (*get_device_)(int *);
  Result (*set_device_)(int);
  Result (*peek_error_)();
  Result (*take_error_)();
  StreamFunctions streams_;
  Result (*copy_)(void *, const void *, std::size_t, int, void *);
};

}  // namespace

std::unique_ptr<DeviceRuntime> hip_runtime(void *library) {
  std::unique_ptr<Hip> hip(new (std::nothrow) Hip);
  if (hip == nullptr || !hip->load(library)) return nullptr;
  return hip;
}

}  // namespace coll::shim
