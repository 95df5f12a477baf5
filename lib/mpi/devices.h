// SPDX-License-Identifier: BSD-3-Clause
// Buffers in the memory of a GPU.
//
// A processor cannot read memory that CUDA or HIP have allocated on a device, so neither libcoll nor a peer's kernel
// copy can. The shim asks the runtime library what a buffer is, and exchanges a copy in host memory. That does not
// concern the other ranks: the messages are the same.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace coll::shim {

// Whether buffers of this process may be in a device's memory: the node has a GPU, or such a library was loaded
// before MPI_Init; COLL_DEVICE_MEMORY can say so, too. Set before the first collective.
extern bool has_devices;

// Sets has_devices. Called once, in MPI_Init.
void find_devices();

// Part of a buffer, relative to its beginning.
struct Part {
  std::ptrdiff_t offset_bytes;
  std::size_t bytes;
};

// What the shim needs of CUDA or HIP. All functions are thread safe.
class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;
  virtual const char *name() const = 0;
  // Whether `at` is in a device's memory, where the processor cannot access it.
  virtual bool owns(const void *at) const = 0;
  // Copies the parts of `from` to the same offsets of `to`; one of the two, as `device` says, is in a device's memory.
  // Returns when all is copied: 0, or the error code of the first function that failed.
  virtual int copy(char *to, const char *from, std::span<const Part> parts, const void *device) const = 0;
};

// Return NULL if `library`, which dlopen() has returned, lacks a function.
std::unique_ptr<DeviceRuntime> cuda_runtime(void *library);
std::unique_ptr<DeviceRuntime> hip_runtime(void *library);

// Returns the runtime that owns `at`; NULL if it is in host memory.
const DeviceRuntime *runtime_of(const void *at);
inline bool in_device(const void *at) { return has_devices && at != nullptr && runtime_of(at) != nullptr; }

// DeviceRuntime::copy() to or from `device`, which reports errors in the log. Returns false if there was one.
bool copy_parts(char *to, const char *from, std::span<const Part> parts, const void *device);

// As memcpy(), but `to` may be in a device's memory. Returns false if that copy fails.
bool copy_out(void *to, const void *from, std::size_t bytes);

}  // namespace coll::shim
