// SPDX-License-Identifier: BSD-3-Clause
// The C entry points for datatypes, operations and memory.
#include "mem/types.h"
#include "api/handles.h"
#include "comm/operation.h"
#include "transport/arena.h"

using coll::failure;
using coll::api::guarded;

extern "C" {

size_t coll_datatype_size(coll_datatype type) { return coll::mem::datatype_size(type); }
const char* coll_datatype_name(coll_datatype type) { return coll::mem::datatype_name(type); }

coll_status coll_op_create(coll_op_function function, int commutative, void* context, coll_op* op) {
  return guarded([&] { return coll::comm::create_operation(function, commutative != 0, context, op); });
}
coll_status coll_op_create_scaled_sum(const void* factor, coll_datatype type, coll_op* op) {
  return guarded([&] { return coll::comm::create_scaled_sum(factor, type, op); });
}
coll_status coll_op_free(coll_op op) {
  return guarded([&] { return coll::comm::free_operation(op); });
}
const char* coll_op_name(coll_op op) { return coll::comm::operation_name(op); }
int coll_op_defined(coll_op op, coll_datatype type) { return coll::comm::operation_defined(op, type); }

coll_status coll_mem_alloc(size_t bytes, void** memory) {
  if (memory == nullptr) return failure(COLL_ERR_ARG, "coll_mem_alloc: memory is NULL");
  *memory = nullptr;
  return guarded([&] {
    std::string problem;
    coll::transport::Arena* arena = coll::transport::Arena::own(problem);
    if (arena == nullptr) return failure(COLL_ERR_NO_MEMORY, problem);
    *memory = arena->allocate(bytes, coll::transport::InChild::copy);
    if (*memory == nullptr)
      return failure(COLL_ERR_NO_MEMORY,
                     "coll_mem_alloc: " + std::to_string(bytes) + " bytes do not fit into this process's shared arena");
    return COLL_OK;
  });
}

coll_status coll_mem_free(void* memory) {
  if (memory == nullptr) return COLL_OK;
  return guarded([&] {
    coll::transport::Arena* arena = coll::transport::Arena::existing();
    if (arena == nullptr || !arena->free(memory))
      return failure(COLL_ERR_ARG,
                     "coll_mem_free: the memory was not allocated by coll_mem_alloc(), or it has been freed already");
    return COLL_OK;
  });
}

}  // extern "C"
