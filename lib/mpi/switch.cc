// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/switch.h"

#include <coll/shim.h>

#include <cstring>

namespace coll::shim {

const char *switched_off() {
  static const char *const why = [] {
    const char *choice = coll_setting("COLL_MPI");
    if (choice != nullptr && std::strcmp(choice, "off") == 0) return "COLL_MPI=off";
    return coll_program_is_served() != 0 ? nullptr : "COLL_PROGRAMS leaves this program alone";
  }();
  return why;
}

}  // namespace coll::shim
