// SPDX-License-Identifier: BSD-3-Clause
// Checks arguments of callers, and computes the blocks of collectives whose ranks have blocks of different lengths.
#pragma once

#include <vector>

#include "compat.h"

namespace torch_coll {

// Each throws an error that names the fault; `what` names the collective.
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

// Returns the rows of dimension 0 for each rank; equal parts if `splits` is empty.
Blocks blocks_of(const at::Tensor& tensor, const std::vector<int64_t>& splits, int ranks, const char* what);

}  // namespace torch_coll
