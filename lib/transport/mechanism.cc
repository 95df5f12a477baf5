// SPDX-License-Identifier: BSD-3-Clause
#include "transport/mechanism.h"

namespace coll::transport {

int Mechanism::transfer(Transfer* transfers, size_t count) {
  int first = 0;
  for (Transfer* t = transfers; t != transfers + count; t++) {
    t->error = t->write ? write(t->rank, t->at, t->offset, t->local, t->bytes)
                        : read(t->rank, t->at, t->offset, t->local, t->bytes);
    if (first == 0) first = t->error;
  }
  return first;
}

Window Mechanism::map(int, const Announced&, bool, Hold&) { return {}; }

}  // namespace coll::transport
