// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/world_ranks.h"

#include "mpi/library.h"

#include <algorithm>
#include <numeric>

namespace coll::shim {

std::vector<int> world_ranks(MPI_Comm comm, int ranks) {
  std::vector<int> own(static_cast<std::size_t>(ranks)), of_world(own.size());
  std::iota(own.begin(), own.end(), 0);
  MPI_Group members, world;
  if (mpi.Comm_group(comm, &members) != MPI_SUCCESS) return {};
  bool good = mpi.Comm_group(mpi.world, &world) == MPI_SUCCESS;
  if (good) {
    good = mpi.Group_translate_ranks(members, ranks, own.data(), world, of_world.data()) == MPI_SUCCESS;
    mpi.Group_free(&world);
  }
  mpi.Group_free(&members);
  return good ? of_world : std::vector<int>();
}

bool has_other_worlds(MPI_Comm comm, int ranks) {
  return comm != mpi.world && std::ranges::count(world_ranks(comm, ranks), MPI_UNDEFINED) > 0;
}

}  // namespace coll::shim
