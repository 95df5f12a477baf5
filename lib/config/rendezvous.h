// SPDX-License-Identifier: BSD-3-Clause
// The variables that say where, and how long, ranks wait for each other.
#pragma once

#include <chrono>
#include <string>

namespace coll::config {

struct Rendezvous {
  std::chrono::seconds limit;  // COLL_RENDEZVOUS_TIMEOUT
  std::string directory;       // COLL_RENDEZVOUS_DIR, where rank 0 creates its file; "": it creates none
};

// Returns "" or an error message for a wrong value; `rendezvous` then has the values up to that one.
std::string read_rendezvous(Rendezvous& rendezvous);

}  // namespace coll::config
