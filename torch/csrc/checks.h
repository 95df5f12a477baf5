// SPDX-License-Identifier: BSD-3-Clause
// What callers may get wrong, and the blocks of collectives whose ranks have blocks of different lengths.
#pragma once

#include <vector>

#include "compat.h"

namespace torch_coll {

// Each throws what is wrong; `what` names the collective.
void check_all(const Tensors& tensors, const char* what);
void check_ranks(size_t found, int ranks, const char* what);
void check_same_type(const at::Tensor& a, const at::Tensor& b, const char* what);
void check_blocks(const at::Tensor& whole, const at::Tensor& block, int ranks, const char* what);
// The only list, of dense tensors.
const Tensors& only(const TensorLists& lists, const char* what);

// Blocks of a v-form, in bytes, one after the other.
struct Blocks {
  std::vector<size_t> counts, displs;
  explicit Blocks(std::vector<size_t> sizes);
};

// The rows of dimension 0 for each rank; equal parts where `splits` is empty.
Blocks blocks_of(const at::Tensor& tensor, const std::vector<int64_t>& splits, int ranks, const char* what);

}  // namespace torch_coll
