// SPDX-License-Identifier: BSD-3-Clause
// allreduce.c in C++: the average of a value over all ranks.
//
//   c++ -std=c++20 -o allreduce allreduce.cc $(pkg-config --cflags --libs libcoll)
//   collctl run -n 4 ./allreduce
#include <coll/coll.hpp>
#include <cstdio>

int main() try {
  coll::Communicator comm = coll::Communicator::from_launcher();
  const double mine = comm.rank() + 1;
  const double sum = comm.allreduce(mine, coll::sum);
  std::printf("rank %d of %d: mine is %g, the average is %g\n", comm.rank(), comm.size(), mine, sum / comm.size());
} catch (const coll::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
