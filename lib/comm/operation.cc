// SPDX-License-Identifier: BSD-3-Clause
#include "comm/operation.h"

#include <array>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "comm/error.h"
#include "mem/types.h"

namespace coll::comm {

namespace {

// A user-defined operation, or a scaled sum.
struct Created {
  coll_op_function function = nullptr;
  void* context = nullptr;
  bool commutative = true;
  std::shared_ptr<const Scaling> scaling = nullptr;
};

std::mutex mutex;
std::unordered_map<coll_op, Created>& created() {
  static auto* map = new std::unordered_map<coll_op, Created>;
  return *map;
}
coll_op next_created = 0x100;

void add(Created operation, coll_op* op) {
  std::lock_guard lock(mutex);
  created()[next_created] = std::move(operation);
  *op = next_created++;
}

std::string quoted(const char* name, uint32_t number) {
  return name != nullptr ? std::string(name) : std::to_string(number);
}

}  // namespace

coll_status create_operation(coll_op_function function, bool commutative, void* context, coll_op* op) {
  if (function == nullptr || op == nullptr) return failure(COLL_ERR_ARG, "coll_op_create: function or op is NULL");
  add({.function = function, .context = context, .commutative = commutative}, op);
  return COLL_OK;
}

coll_status create_scaled_sum(const void* factor, coll_datatype type, coll_op* op) {
  if (factor == nullptr || op == nullptr)
    return failure(COLL_ERR_ARG, "coll_op_create_scaled_sum: factor or op is NULL");
  exec::Reducer sum;
  std::shared_ptr<const Scaling> none;
  if (const coll_status status = make_reducer(COLL_SUM, type, sum, none); status != COLL_OK) return status;
  add({.scaling = std::make_shared<const Scaling>(factor, type)}, op);
  return COLL_OK;
}

coll_status free_operation(coll_op op) {
  std::lock_guard lock(mutex);
  if (created().erase(op) == 0)
    return failure(COLL_ERR_OP, "coll_op_free: " + std::to_string(op) +
                                    " is not an operation made by coll_op_create(), or it has been freed already");
  return COLL_OK;
}

const char* operation_name(coll_op op) {
  if (op < COLL_OP_END_) return mem::op_name(op);
  std::lock_guard lock(mutex);
  const auto found = created().find(op);
  if (found == created().end()) return nullptr;
  return found->second.scaling != nullptr ? "scaled_sum" : "user";
}

bool operation_defined(coll_op op, coll_datatype type) {
  if (op < COLL_OP_END_) return mem::op_defined(op, type);
  std::lock_guard lock(mutex);
  const auto found = created().find(op);
  if (found == created().end()) return false;
  const Scaling* const scaling = found->second.scaling.get();
  return scaling != nullptr ? scaling->type() == type : mem::datatype_size(type) != 0;
}

coll_status make_reducer(coll_op op, coll_datatype type, exec::Reducer& reducer,
                         std::shared_ptr<const Scaling>& scaling) {
  reducer.type = type;
  reducer.element_bytes = mem::datatype_size(type);
  if (reducer.element_bytes == 0) return failure(COLL_ERR_TYPE, "datatype " + std::to_string(type) + " is unknown");
  if (op < COLL_OP_END_) {
    reducer.kernel = mem::reduce_kernel(op, type);
    if (reducer.kernel != nullptr) return COLL_OK;
    return failure(COLL_ERR_OP, "operation " + quoted(mem::op_name(op), op) + " is not defined for datatype " +
                                    quoted(mem::datatype_name(type), type));
  }
  std::lock_guard lock(mutex);
  const auto found = created().find(op);
  if (found == created().end())
    return failure(COLL_ERR_OP,
                   "operation " + std::to_string(op) +
                       " is unknown; use COLL_SUM ... COLL_MAXLOC or an operation made by coll_op_create()");
  scaling = found->second.scaling;
  if (scaling != nullptr) {
    reducer.kernel = mem::reduce_kernel(COLL_SUM, type);
    if (scaling->type() == type) return COLL_OK;
    return failure(COLL_ERR_OP, "operation " + std::to_string(op) + " is a scaled sum of " +
                                    mem::datatype_name(scaling->type()) + ", not of " +
                                    quoted(mem::datatype_name(type), type) +
                                    "; make one with a factor of the datatype of the call");
  }
  reducer.function = found->second.function;
  reducer.context = found->second.context;
  reducer.commutative = found->second.commutative;
  return COLL_OK;
}

}  // namespace coll::comm
