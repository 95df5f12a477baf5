// SPDX-License-Identifier: BSD-3-Clause
// A C++20 program as a user would write it: the launcher's bootstrap without a launcher, a broadcast.
#include <coll/coll.h>

#if __has_include(<coll/coll.hpp>)
#include <coll/coll.hpp>
#endif

#include <array>
#include <cstdlib>
#include <iostream>

namespace {

void require(coll_status status, const char *what) {
  if (status != COLL_OK) {
    std::cerr << what << ": " << coll_strerror(status) << ": " << coll_last_error() << '\n';
    std::exit(1);
  }
}

}  // namespace

int main() {
  coll_comm *comm = nullptr;
  require(coll_comm_create_from_launcher(&comm), "coll_comm_create_from_launcher");
  if (coll_comm_size(comm) != 1 || coll_comm_rank(comm) != 0) {
    std::cerr << "rank " << coll_comm_rank(comm) << " of " << coll_comm_size(comm) << ", expected the only one\n";
    return 1;
  }
  std::array<int, 2> values = {7, 11};
  require(coll_bcast(values.data(), values.size(), COLL_INT, 0, comm), "coll_bcast");
  require(coll_barrier(comm), "coll_barrier");
  require(coll_comm_free(comm), "coll_comm_free");
  if (values != std::array<int, 2>{7, 11}) {
    std::cerr << "bcast of one rank changed the vector\n";
    return 1;
  }
  std::cout << "C++ program: ok\n";
}
