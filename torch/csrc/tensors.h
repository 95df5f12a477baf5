// SPDX-License-Identifier: BSD-3-Clause
// Tensors as contiguous memory for libcoll. Tensors that are not contiguous are copied to such memory and back.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compat.h"

namespace torch_coll {

// Throws unless the tensor is dense and on the CPU.
void check(const at::Tensor& tensor, const char* what);
// The only tensor of a list.
const at::Tensor& only(const Tensors& tensors, const char* what);

// The tensor itself if it is contiguous, otherwise a contiguous copy of it.
at::Tensor for_reading(const at::Tensor& tensor);

// Returns memory for a result: the tensor's own if it is contiguous, otherwise new memory, and adds to `after` a step
// that copies it to the tensor.
at::Tensor for_writing(const at::Tensor& tensor, std::vector<std::function<void()>>& after);

// Returns whether the memories of two contiguous tensors overlap.
bool overlap(const at::Tensor& a, const at::Tensor& b);

// Returns the sizes of tensors in bytes.
std::vector<size_t> sizes_of(const Tensors& tensors);
bool all_equal(const std::vector<size_t>& sizes);

// Returns all tensors one after the other in one memory: without a copy if they are adjacent, otherwise [bytes] of
// kByte.
at::Tensor joined_for_reading(const Tensors& tensors);
at::Tensor joined_for_writing(const Tensors& tensors, std::vector<std::function<void()>>& after);

inline void* address(const at::Tensor& tensor) { return tensor.data_ptr(); }
inline size_t bytes_of(const at::Tensor& tensor) { return size_t(tensor.numel()) * tensor.element_size(); }

}  // namespace torch_coll
