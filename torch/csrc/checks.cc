// SPDX-License-Identifier: BSD-3-Clause
#include "checks.h"

#include <numeric>

#include "tensors.h"

namespace torch_coll {

void check_all(const Tensors& tensors, const char* what) {
  for (const at::Tensor& tensor : tensors) check(tensor, what);
}

void check_ranks(size_t found, int ranks, const char* what) {
  TORCH_CHECK(found == size_t(ranks), "coll: ", what, " needs a tensor for each of ", ranks, " ranks, got ", found);
}

void check_same_type(const at::Tensor& a, const at::Tensor& b, const char* what) {
  TORCH_CHECK_TYPE(a.scalar_type() == b.scalar_type(), "coll: ", what, ": tensors of different types, ",
                   a.scalar_type(), " and ", b.scalar_type());
}

void check_blocks(const at::Tensor& whole, const at::Tensor& block, int ranks, const char* what) {
  check_same_type(whole, block, what);
  TORCH_CHECK_VALUE(whole.numel() == block.numel() * ranks, "coll: ", what, ": a tensor of ", whole.numel(),
                    " elements for ", ranks, " blocks of ", block.numel());
}

const Tensors& only(const TensorLists& lists, const char* what) {
  TORCH_CHECK(lists.size() == 1, "coll: ", what, " takes one list of tensors, got ", lists.size());
  check_all(lists[0], what);
  return lists[0];
}

Blocks::Blocks(std::vector<size_t> sizes) : counts(std::move(sizes)), displs(counts.size()) {
  std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), size_t(0));
}

Blocks blocks_of(const at::Tensor& tensor, const std::vector<int64_t>& splits, int ranks, const char* what) {
  const int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  if (splits.empty()) {
    TORCH_CHECK_VALUE(rows % ranks == 0, "coll: ", what, ": ", rows, " rows cannot be split among ", ranks, " ranks");
    return Blocks(std::vector<size_t>(size_t(ranks), bytes_of(tensor) / size_t(ranks)));
  }
  check_ranks(splits.size(), ranks, what);
  TORCH_CHECK_VALUE(std::accumulate(splits.begin(), splits.end(), int64_t(0)) == rows, "coll: ", what,
                    ": the splits do not add up to the ", rows, " rows of the tensor");
  std::vector<size_t> sizes;
  for (const int64_t split : splits) sizes.push_back(rows == 0 ? 0 : bytes_of(tensor) / size_t(rows) * size_t(split));
  return Blocks(sizes);
}

}  // namespace torch_coll
