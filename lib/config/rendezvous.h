// SPDX-License-Identifier: BSD-3-Clause
// The variables that say where, and how long, ranks wait for each other.
#pragma once

#include <string>

namespace coll::config {

struct Rendezvous {
  std::string directory;  // COLL_RENDEZVOUS_DIR
  int limit_s = 0;        // COLL_RENDEZVOUS_TIMEOUT
};

// Returns "" or an error message for a wrong value; `rendezvous` then has the values up to that one.
std::string read_rendezvous(Rendezvous& rendezvous);

}  // namespace coll::config
