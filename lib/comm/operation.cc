// SPDX-License-Identifier: BSD-3-Clause
#include "comm/operation.h"

#include <array>
#include <mutex>
#include <unordered_map>

#include "comm/error.h"
#include "mem/types.h"

namespace coll::comm {

namespace {

struct UserOperation {
  coll_op_function function;
  void* context;
  bool commutative;
};

std::mutex mutex;
std::unordered_map<coll_op, UserOperation>& user_operations() {
  static auto* map = new std::unordered_map<coll_op, UserOperation>;
  return *map;
}
coll_op next_user_operation = 0x100;

std::string quoted(const char* name, uint32_t number) {
  return name != nullptr ? std::string(name) : std::to_string(number);
}

}  // namespace

coll_status create_operation(coll_op_function function, bool commutative, void* context, coll_op* op) {
  if (function == nullptr || op == nullptr) return failure(COLL_ERR_ARG, "coll_op_create: function or op is NULL");
  std::lock_guard lock(mutex);
  *op = next_user_operation++;
  user_operations()[*op] = {function, context, commutative};
  return COLL_OK;
}

coll_status free_operation(coll_op op) {
  std::lock_guard lock(mutex);
  if (user_operations().erase(op) == 0)
    return failure(COLL_ERR_OP, "coll_op_free: " + std::to_string(op) +
                                    " is not an operation made by coll_op_create(), or it has been freed already");
  return COLL_OK;
}

bool is_user_operation(coll_op op) {
  std::lock_guard lock(mutex);
  return user_operations().contains(op);
}

coll_status make_reducer(coll_op op, coll_datatype type, exec::Reducer& reducer) {
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
  auto found = user_operations().find(op);
  if (found == user_operations().end())
    return failure(COLL_ERR_OP,
                   "operation " + std::to_string(op) +
                       " is unknown; use COLL_SUM ... COLL_MAXLOC or an operation made by coll_op_create()");
  reducer.function = found->second.function;
  reducer.context = found->second.context;
  reducer.commutative = found->second.commutative;
  return COLL_OK;
}

}  // namespace coll::comm
