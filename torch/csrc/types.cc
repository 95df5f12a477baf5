// SPDX-License-Identifier: BSD-3-Clause
#include "types.h"

#include <ATen/ops/scalar_tensor.h>

namespace torch_coll {
namespace {

using Op = c10d::ReduceOp;

coll_datatype datatype_of(at::ScalarType type) {
  switch (type) {
    case at::kByte: return COLL_UINT8;
    case at::kChar: return COLL_INT8;
    case at::kShort: return COLL_INT16;
    case at::kInt: return COLL_INT32;
    case at::kLong: return COLL_INT64;
    case at::kHalf: return COLL_FLOAT16;
    case at::kBFloat16: return COLL_BFLOAT16;
    case at::kFloat: return COLL_FLOAT;
    case at::kDouble: return COLL_DOUBLE;
    case at::kComplexFloat: return COLL_COMPLEX_FLOAT;
    case at::kComplexDouble: return COLL_COMPLEX_DOUBLE;
    case at::kBool: return COLL_BOOL;
    default: break;
  }
  const size_t size_bytes = c10::elementSize(type);
  if (is_wide_unsigned(type, size_bytes))
    return size_bytes == 2 ? COLL_UINT16 : size_bytes == 4 ? COLL_UINT32 : COLL_UINT64;
  return 0;
}

const char* name_of(Op::RedOpType op) {
  switch (op) {
    case Op::SUM: return "SUM";
    case Op::AVG: return "AVG";
    case Op::PRODUCT: return "PRODUCT";
    case Op::MIN: return "MIN";
    case Op::MAX: return "MAX";
    case Op::BAND: return "BAND";
    case Op::BOR: return "BOR";
    case Op::BXOR: return "BXOR";
    case Op::PREMUL_SUM: return "PREMUL_SUM";
    default: return "an unknown operation";
  }
}

// A bool is true or false after every operation: a sum is the logical or, as in NCCL.
coll_op logical_op(Op::RedOpType op) {
  switch (op) {
    case Op::SUM:
    case Op::MAX:
    case Op::BOR: return COLL_LOR;
    case Op::PRODUCT:
    case Op::MIN:
    case Op::BAND: return COLL_LAND;
    case Op::BXOR: return COLL_LXOR;
    default: return 0;
  }
}

coll_op numeric_op(Op::RedOpType op) {
  switch (op) {
    case Op::SUM:
    case Op::AVG:
    case Op::PREMUL_SUM: return COLL_SUM;
    case Op::PRODUCT: return COLL_PROD;
    case Op::MIN: return COLL_MIN;
    case Op::MAX: return COLL_MAX;
    case Op::BAND: return COLL_BAND;
    case Op::BOR: return COLL_BOR;
    case Op::BXOR: return COLL_BXOR;
    default: return 0;
  }
}

// PREMUL_SUM's factor, one element of the type.
at::Tensor factor_of(const Op& op, at::ScalarType type) {
  const auto* scaled = dynamic_cast<const c10d::NCCLPreMulSumSupplement*>(op.supplement_.get());
  TORCH_CHECK(scaled != nullptr, "coll: PREMUL_SUM has no factor");
  const at::Tensor tensor = factor_tensor(*scaled);
  if (!tensor.defined()) return at::scalar_tensor(scaled->double_factor, at::kDouble).to(type);
  TORCH_CHECK_VALUE(tensor.numel() == 1, "coll: PREMUL_SUM has a factor of ", tensor.numel(), " elements, not one");
  return tensor.to(at::kCPU, type);
}

void set_scaled_sum(const at::Tensor& factor, Reduction& reduction) {
  TORCH_CHECK(coll_op_create_scaled_sum(factor.data_ptr(), reduction.type, &reduction.op) == COLL_OK,
              "coll: ", coll_last_error());
  reduction.scaled = std::shared_ptr<const void>(nullptr, [op = reduction.op](const void*) { coll_op_free(op); });
}

}  // namespace

Reduction reduction_of(const Op& op, at::ScalarType type) {
  const Op::RedOpType kind = op.op_;
  Reduction result{};
  result.type = datatype_of(type);
  result.op = type == at::kBool ? logical_op(kind) : numeric_op(kind);
  TORCH_CHECK_TYPE(result.type != 0 && result.op != 0 && coll_op_defined(result.op, result.type) != 0,
                   "coll: ", name_of(kind), " is not defined for ", c10::toString(type));
  result.average = kind == Op::AVG;
  if (kind == Op::PREMUL_SUM) {
    TORCH_CHECK_TYPE(at::isFloatingType(type) || at::isComplexType(type), "coll: PREMUL_SUM is not defined for ",
                     c10::toString(type));
    set_scaled_sum(factor_of(op, type), result);
  }
  return result;
}

}  // namespace torch_coll
