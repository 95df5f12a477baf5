// SPDX-License-Identifier: BSD-3-Clause
// Communicators that the MPI shim has done with, kept for the next one of the same ranks: programs duplicate and free
// communicators in loops, and making one takes as long as hundreds of short collectives.
//
// A spare stays as it was: segment, numbers of operations, plans. It serves again once all its ranks have offered it in one
// exchange; then none of them is in a call on it any more.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/introduction.h"
#include "config/config.h"

namespace coll::comm {

class Comm;

// What decides how a communicator of the same ranks comes out, as far as it may change during the life of a process.
struct Surroundings {
  uint64_t settings = 0;  // config::environment_digest()
  std::bitset<most_cpus> cpus;

  static Surroundings of_process() { return {config::environment_digest(), own_cpus()}; }
  bool operator==(const Surroundings&) const = default;
};

// One whose staging takes more memory than this per rank is not kept.
constexpr size_t most_spare_bytes(int ranks) {
  return std::clamp((size_t(64) << 20) / size_t(ranks), size_t(256) << 10, size_t(4) << 20);
}

// Keeps it, and drops the oldest spare of too many; false, and nothing has changed, when it cannot serve again.
// REQUIRES: the caller's is the only reference but those of its requests. Thread safe.
bool keep_spare(std::shared_ptr<Comm> comm);
// Those of this rank of so many that would still come out alike if they were made now, the newest first; no longer kept.
// To its peers this rank is present on them again. At most Hello::most_spares. Thread safe.
std::vector<std::shared_ptr<Comm>> take_spares(int rank, int ranks);
// What take_spares() returned and was of no use. Thread safe.
void put_back(std::vector<std::shared_ptr<Comm>> spares);
// Thread safe.
void drop_spares();

// Of what all ranks have offered: the segment's token of the spare that all ranks have; 0: none.
uint64_t common_spare(const std::vector<Hello>& hellos);

}  // namespace coll::comm
