// SPDX-License-Identifier: BSD-3-Clause
#include "tensors.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

namespace torch_coll {
namespace {

// Returns whether each tensor begins where the previous one ends, in one storage: then they are already one memory.
bool adjacent(const Tensors& tensors) {
  const char* next = nullptr;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.is_contiguous() || !tensor.storage().is_alias_of(tensors[0].storage())) return false;
    const char* const start = static_cast<const char*>(address(tensor));
    if (next != nullptr && start != next) return false;
    next = start + bytes_of(tensor);
  }
  return !tensors.empty();
}

at::Tensor memory_of(const Tensors& tensors) {
  size_t total = 0;
  for (const at::Tensor& tensor : tensors) total += bytes_of(tensor);
  return at::empty({int64_t(total)}, at::kByte);
}

// The memory of adjacent tensors, for the lifetime of the first one.
at::Tensor one_memory(const Tensors& tensors) {
  int64_t total = 0;
  for (const at::Tensor& tensor : tensors) total += int64_t(bytes_of(tensor));
  return at::from_blob(
      address(tensors[0]), {total}, [kept = tensors[0]](void*) {}, at::kByte);
}

}  // namespace

void check(const at::Tensor& tensor, const char* what) {
  TORCH_CHECK(tensor.defined(), "coll: ", what, ": a tensor is undefined");
  TORCH_CHECK(tensor.device().is_cpu(), "coll: ", what, ": a tensor is on ", tensor.device(),
              "; this backend moves tensors of the CPU");
  TORCH_CHECK(tensor.layout() == at::kStrided, "coll: ", what, ": a tensor is not dense");
}

const at::Tensor& only(const Tensors& tensors, const char* what) {
  TORCH_CHECK(tensors.size() == 1, "coll: ", what, " takes one tensor, got ", tensors.size());
  check(tensors[0], what);
  return tensors[0];
}

at::Tensor for_reading(const at::Tensor& tensor) {
  // Lazy conjugation and negation are properties of the tensor, not of its memory.
  return tensor.resolve_conj().resolve_neg().contiguous();
}

at::Tensor for_writing(const at::Tensor& tensor, std::vector<std::function<void()>>& after) {
  if (tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg()) return tensor;
  at::Tensor memory = at::empty(tensor.sizes(), tensor.options().memory_format(at::MemoryFormat::Contiguous));
  after.push_back([tensor, memory] { at::Tensor(tensor).copy_(memory); });
  return memory;
}

bool overlap(const at::Tensor& a, const at::Tensor& b) {
  const char* const from = static_cast<const char*>(address(a));
  const char* const to = static_cast<const char*>(address(b));
  return bytes_of(a) != 0 && bytes_of(b) != 0 && from < to + bytes_of(b) && to < from + bytes_of(a);
}

std::vector<size_t> sizes_of(const Tensors& tensors) {
  std::vector<size_t> sizes;
  for (const at::Tensor& tensor : tensors) sizes.push_back(bytes_of(tensor));
  return sizes;
}

bool all_equal(const std::vector<size_t>& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [&](size_t size) { return size == sizes[0]; });
}

at::Tensor joined_for_reading(const Tensors& tensors) {
  if (adjacent(tensors)) return one_memory(tensors);
  at::Tensor memory = memory_of(tensors);
  char* to = static_cast<char*>(address(memory));
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor from = for_reading(tensor);
    if (bytes_of(from) != 0) memcpy(to, address(from), bytes_of(from));
    to += bytes_of(from);
  }
  return memory;
}

at::Tensor joined_for_writing(const Tensors& tensors, std::vector<std::function<void()>>& after) {
  if (adjacent(tensors)) return one_memory(tensors);
  at::Tensor memory = memory_of(tensors);
  after.push_back([tensors, memory] {
    const char* from = static_cast<const char*>(address(memory));
    for (at::Tensor tensor : tensors) {
      const size_t bytes = bytes_of(tensor);
      if (bytes == 0) continue;
      if (tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg()) memcpy(address(tensor), from, bytes);
      else tensor.copy_(at::from_blob(const_cast<char*>(from), tensor.sizes(), tensor.options()));
      from += bytes;
    }
  });
  return memory;
}

}  // namespace torch_coll
