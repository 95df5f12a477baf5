// SPDX-License-Identifier: BSD-3-Clause
// Built-in and user-defined operations. Handles are valid in the whole process. All functions are thread-safe.
#pragma once

#include "coll/coll.h"
#include "exec/reducer.h"

namespace coll::comm {

coll_status create_operation(coll_op_function function, bool commutative, void* context, coll_op* op);
coll_status free_operation(coll_op op);
bool is_user_operation(coll_op op);

// Fills `reducer` for the operation on the type. Returns OK, or TYPE or OP with an error message. Built-in operations
// need no lock.
coll_status make_reducer(coll_op op, coll_datatype type, exec::Reducer& reducer);

}  // namespace coll::comm
