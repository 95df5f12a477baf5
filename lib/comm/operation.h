// SPDX-License-Identifier: BSD-3-Clause
// Built-in operations and those that the program has created. Handles are valid in the whole process. All functions are
// thread-safe.
#pragma once

#include <memory>

#include "coll/coll.h"
#include "comm/scaling.h"
#include "exec/reducer.h"

namespace coll::comm {

coll_status create_operation(coll_op_function function, bool commutative, void* context, coll_op* op);
coll_status create_scaled_sum(const void* factor, coll_datatype type, coll_op* op);
coll_status free_operation(coll_op op);
// As coll_op_name() and coll_op_defined().
const char* operation_name(coll_op op);
bool operation_defined(coll_op op, coll_datatype type);

// Fills `reducer` for the operation on the type, and sets `scaling` if it is a scaled sum: the reducer then adds, and
// the caller multiplies its input first. Returns OK, or TYPE or OP with an error message. Built-in operations need no
// lock.
coll_status make_reducer(coll_op op, coll_datatype type, exec::Reducer& reducer,
                         std::shared_ptr<const Scaling>& scaling);

}  // namespace coll::comm
