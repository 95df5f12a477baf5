// SPDX-License-Identifier: BSD-3-Clause
// Tensors in memory that the peers can map: collectives on them copy data once instead of twice.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_coll {

// A tensor of kByte, [bytes], with unspecified contents.
at::Tensor shared_bytes(int64_t bytes);

// From now on torch allocates the memory of CPU tensors of at least `least_bytes` there. A later call changes the
// limit.
void use_for_tensors(size_t least_bytes);

}  // namespace torch_coll
