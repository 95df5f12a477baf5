// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/switch.h"

#include "mpi/choice.h"

#include <coll/shim.h>

namespace coll::shim {

const char *switched_off() {
  static const char *const why = [] {
    const int choice = choice_of("COLL_MPI", {"on", "off"}, "all collectives are forwarded to MPI");
    if (choice != 0) return choice > 0 ? "COLL_MPI=off" : "the value of COLL_MPI";
    return coll_program_is_served() != 0 ? nullptr : "COLL_PROGRAMS leaves this program alone";
  }();
  return why;
}

}  // namespace coll::shim
