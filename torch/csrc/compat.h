// SPDX-License-Identifier: BSD-3-Clause
// Differences between versions of torch: 1.13 (Debian 12), 2.6 (13) and 2.14 (unstable). No other file depends on the
// version.
#pragma once

#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/version.h>

#define TORCH_COLL_VERSION (TORCH_VERSION_MAJOR * 100 + TORCH_VERSION_MINOR)

// Up to 1.13 a third party's backend is a ProcessGroup itself; since 2.0 a ProcessGroup has a Backend for each device.
#if TORCH_COLL_VERSION >= 200
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

// Allocators are not const since 2.2.
#if TORCH_COLL_VERSION >= 202
#define TORCH_COLL_ALLOCATE_CONST
#else
#define TORCH_COLL_ALLOCATE_CONST const
#endif

namespace torch_coll {

#if TORCH_COLL_VERSION >= 200
using Base = c10d::Backend;
#else
using Base = c10d::ProcessGroup;
#endif

#if TORCH_COLL_VERSION >= 200
constexpr c10d::OpType coalesced_type = c10d::OpType::COALESCED;
#else
constexpr c10d::OpType coalesced_type = c10d::OpType::UNKNOWN;
#endif

using Milliseconds = std::chrono::milliseconds;
using Tensors = std::vector<at::Tensor>;
using TensorLists = std::vector<std::vector<at::Tensor>>;
using WorkPointer = c10::intrusive_ptr<c10d::Work>;

// A failure of the backend: torch.distributed.DistBackendError where torch has it, RuntimeError otherwise.
inline std::exception_ptr failure_of(const std::string& text) {
#if TORCH_COLL_VERSION >= 201
  return std::make_exception_ptr(c10::DistBackendError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, text));
#else
  return std::make_exception_ptr(std::runtime_error(text));
#endif
}

// PREMUL_SUM's factor if it is a tensor; 1.13 has one for each device.
inline at::Tensor factor_tensor(const c10d::NCCLPreMulSumSupplement& factor) {
#if TORCH_COLL_VERSION >= 200
  return factor.tensor_factor;
#else
  return factor.tensor_factors.empty() ? at::Tensor() : factor.tensor_factors[0];
#endif
}

// The unsigned types that torch has since 2.3, by their size; earlier versions lack these names.
inline bool is_wide_unsigned(at::ScalarType type, size_t size_bytes) {
#if TORCH_COLL_VERSION >= 203
  return (type == at::kUInt16 && size_bytes == 2) || (type == at::kUInt32 && size_bytes == 4) ||
         (type == at::kUInt64 && size_bytes == 8);
#else
  (void)type, (void)size_bytes;
  return false;
#endif
}

}  // namespace torch_coll
