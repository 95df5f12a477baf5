// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/world_ranks.h"

#include "mpi/library.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <numeric>

namespace coll::shim {
namespace {

// A merged communicator had processes of several worlds. Then so may those that are made from it, and all processes of
// such a communicator have merged.
std::atomic<bool> worlds_have_merged{false};

bool has_outsiders(MPI_Comm comm, int ranks) { return std::ranges::count(world_ranks(comm, ranks), MPI_UNDEFINED) > 0; }

}  // namespace

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

void note_merge(MPI_Comm merged) try {
  int ranks = 0;
  if (worlds_have_merged.load(std::memory_order_relaxed) || mpi.Comm_size(merged, &ranks) != MPI_SUCCESS) return;
  if (has_outsiders(merged, ranks)) worlds_have_merged.store(true, std::memory_order_relaxed);
} catch (const std::bad_alloc &) {
  worlds_have_merged.store(true, std::memory_order_relaxed);  // each communicator is examined from now on
}

bool has_other_worlds(MPI_Comm comm, int ranks) {
  return worlds_have_merged.load(std::memory_order_relaxed) && comm != mpi.world && has_outsiders(comm, ranks);
}

}  // namespace coll::shim
