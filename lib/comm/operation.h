// SPDX-License-Identifier: BSD-3-Clause
// Operations: the built-in ones and those that users make. Handles are process-wide.
#pragma once

#include "coll/coll.h"
#include "exec/reducer.h"

namespace coll::comm {

coll_status create_operation(coll_op_function function, bool commutative, void* context, coll_op* op);
coll_status free_operation(coll_op op);
bool is_user_operation(coll_op op);

// Fills `reducer` for the operation on the type. OK, TYPE or OP with a text. Cheap; no lock for built-in operations.
coll_status make_reducer(coll_op op, coll_datatype type, exec::Reducer& reducer);

}  // namespace coll::comm
