// SPDX-License-Identifier: BSD-3-Clause
// Variables whose value is one of a few words.
#pragma once

#include <initializer_list>

namespace coll::shim {

// The place of a variable's value in `words`; 0 if it is not set. For another value it is -1, and the first rank of the
// job says so (warn_once()), with `consequence`. Thread safe.
int choice_of(const char *variable, std::initializer_list<const char *> words, const char *consequence);

}  // namespace coll::shim
