// SPDX-License-Identifier: BSD-3-Clause
#include "memory.h"

#include <atomic>
#include <cstring>

#include <ATen/ops/from_blob.h>
#include <c10/core/CPUAllocator.h>
#include <coll/coll.h>

#include "compat.h"

namespace torch_coll {
namespace {

void release(void* memory) { coll_mem_free(memory); }

void* allocate_shared(size_t bytes) {
  void* memory = nullptr;
  TORCH_CHECK(coll_mem_alloc(bytes, &memory) == COLL_OK, "coll: ", coll_last_error());
  return memory;
}

// Allocates large tensors in shared memory, the others with the previous allocator.
class Allocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) TORCH_COLL_ALLOCATE_CONST override {
    if (bytes < least_bytes.load(std::memory_order_relaxed)) return ordinary->allocate(bytes);
    void* const memory = allocate_shared(bytes);
    return {memory, memory, &release, at::Device(at::kCPU)};
  }

#if TORCH_COLL_VERSION >= 201
  void copy_data(void* to, const void* from, size_t bytes) const override { memcpy(to, from, bytes); }
#endif

  std::atomic<size_t> least_bytes{0};
  c10::Allocator* const ordinary = c10::GetDefaultCPUAllocator();
};

}  // namespace

at::Tensor shared_bytes(int64_t bytes) {
  TORCH_CHECK_VALUE(bytes >= 0, "coll: a tensor of ", bytes, " bytes");
  return at::from_blob(allocate_shared(size_t(bytes)), {bytes}, release, at::kByte);
}

void use_for_tensors(size_t least_bytes) {
  static auto* const allocator = new Allocator;  // tensors may outlive every static object
  allocator->least_bytes = least_bytes;
  c10::SetCPUAllocator(allocator, /*priority=*/100);
}

}  // namespace torch_coll
