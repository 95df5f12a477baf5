// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/spending.h"

#include "mpi/datatypes.h"
#include "mpi/library.h"

#include <coll/shim.h>

#include <chrono>
#include <utility>

namespace coll::shim {

std::atomic<bool> counts_calls_flag{false};

namespace {

struct Announced {
  bool pending = false;
  Collective collective;
  Why why;
  std::size_t bytes;
};
thread_local Announced announced;

// The layout of MPI_DOUBLE_INT.
struct ValueAtRank {
  double value;
  int rank;
};

}  // namespace

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Serving::begin(Collective collective) {
  function_ = mpi_name(collective);
  coll_stats_inside(function_);
  began_ = now_seconds();
}

void Serving::end() {
  coll_stats_inside(nullptr);
  coll_stats_spent(function_, COLL_STATS_SERVED, now_seconds() - began_);
}

void announce_forwarded(Collective collective, Why why, MPI_Count count, MPI_Datatype datatype) {
  const Datatype *element = count > 0 ? datatype_of(datatype) : nullptr;
  std::size_t bytes = count == 0 ? 0 : SIZE_MAX;
  if (element != nullptr) bytes = static_cast<std::size_t>(count) * element->size_bytes;
  announced = {true, collective, why, bytes};
}

Forwarding::Forwarding()
    : counts_(std::exchange(announced.pending, false)),
      collective_(announced.collective),
      why_(announced.why),
      bytes_(announced.bytes),
      began_(counts_ ? now_seconds() : 0) {}

Forwarding::~Forwarding() {
  if (counts_)
    coll_stats_forwarded(mpi_name(collective_), libcoll_name(collective_), why_name(why_), bytes_,
                         now_seconds() - began_);
}

void begin_statistics(int rank) { counts_calls_flag.store(coll_stats_begin(rank) != 0, std::memory_order_relaxed); }

void compare_ranks(MPI_Comm world) {
  int rank = 0, ranks = 0;
  double sums[3];
  if (mpi.Comm_rank(world, &rank) != MPI_SUCCESS || mpi.Comm_size(world, &ranks) != MPI_SUCCESS) return;
  if (coll_stats_sums(sums) != COLL_OK) return;
  ValueAtRank own[3], least[3] = {}, greatest[3] = {};
  double all[3] = {};
  for (int i = 0; i < 3; i++) own[i] = {sums[i], rank};
  if (mpi.Reduce(own, least, 3, MPI_DOUBLE_INT, MPI_MINLOC, 0, world) != MPI_SUCCESS ||
      mpi.Reduce(own, greatest, 3, MPI_DOUBLE_INT, MPI_MAXLOC, 0, world) != MPI_SUCCESS ||
      mpi.Reduce(sums, all, 3, MPI_DOUBLE, MPI_SUM, 0, world) != MPI_SUCCESS || rank != 0)
    return;
  coll_stats_spread spreads[3];
  for (int i = 0; i < 3; i++)
    spreads[i] = {least[i].value, all[i] / ranks, greatest[i].value, least[i].rank, greatest[i].rank};
  coll_stats_all_ranks(ranks, spreads);
}

}  // namespace coll::shim
