// SPDX-License-Identifier: BSD-3-Clause
// Communicators that the MPI shim no longer needs, kept for the next communicator of the same ranks. Programs duplicate
// and free communicators in loops, and creating one takes as long as hundreds of short collectives.
//
// A spare keeps its segment, operation numbers and plans. It is reused once all its ranks have offered it in one
// exchange, which shows that none of them is still in a call on it.
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

// The inputs of a creation that may change during the life of a process. If they are equal, the same ranks get the same
// communicator.
struct Surroundings {
  uint64_t settings = 0;  // config::environment_digest()
  std::bitset<most_cpus> cpus;

  static Surroundings of_process() { return {config::environment_digest(), own_cpus()}; }
  bool operator==(const Surroundings&) const = default;
};

// A communicator whose staging uses more memory than this per rank is not kept.
constexpr size_t most_spare_bytes(int ranks) {
  return std::clamp((size_t(64) << 20) / size_t(ranks), size_t(256) << 10, size_t(4) << 20);
}

// Keeps the communicator as a spare, and destroys the oldest spare if there are more than Hello::most_spares. Returns
// false if it cannot be reused; see Comm::rest(). REQUIRES: only the caller and the communicator's requests hold
// references. Thread-safe.
bool keep_spare(std::shared_ptr<Comm> comm);
// Removes and returns the spares in which this process is rank `rank` of `ranks`, the newest first, at most
// Hello::most_spares. It drops those that would differ if they were created now. To the peers, this rank is alive on
// the returned ones again. Thread-safe.
std::vector<std::shared_ptr<Comm>> take_spares(int rank, int ranks);
// Keeps spares from take_spares() that were not used. Thread-safe.
void put_back(std::vector<std::shared_ptr<Comm>> spares);
// Destroys all spares. Thread-safe.
void drop_spares();

// Returns the token of the first spare that all ranks have offered; 0: none.
uint64_t common_spare(const std::vector<Hello>& hellos);

}  // namespace coll::comm
