// SPDX-License-Identifier: BSD-3-Clause
#include "comm/spares.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <mutex>

#include "comm/comm.h"

namespace coll::comm {

namespace {

std::mutex mutex;
// The newest first. Never destroyed: exit handlers may free communicators.
std::deque<std::shared_ptr<Comm>>& spares() {
  static auto* all = new std::deque<std::shared_ptr<Comm>>;
  return *all;
}

}  // namespace

bool keep_spare(std::shared_ptr<Comm> comm) {
  if (!comm->rest()) return false;
  std::shared_ptr<Comm> dropped;  // destroyed after the mutex is unlocked
  const std::lock_guard lock(mutex);
  spares().push_front(std::move(comm));
  if (spares().size() > Hello::most_spares) {
    dropped = std::move(spares().back());
    spares().pop_back();
  }
  return true;
}

std::vector<std::shared_ptr<Comm>> take_spares(int rank, int ranks) {
  std::vector<std::shared_ptr<Comm>> taken;
  {
    const std::lock_guard lock(mutex);
    if (spares().empty()) return taken;
    const auto of_others = [&](const std::shared_ptr<Comm>& spare) {
      return spare->rank() != rank || spare->ranks() != ranks;
    };
    const auto fitting = std::stable_partition(spares().begin(), spares().end(), of_others);
    std::move(fitting, spares().end(), std::back_inserter(taken));
    spares().erase(fitting, spares().end());
  }
  const Surroundings now = Surroundings::of_process();
  std::erase_if(taken, [&](const std::shared_ptr<Comm>& spare) { return !spare->wake(now); });
  return taken;
}

void put_back(std::vector<std::shared_ptr<Comm>> unused) {
  std::ranges::reverse(unused);
  for (std::shared_ptr<Comm>& spare : unused) keep_spare(std::move(spare));
}

void drop_spares() {
  std::deque<std::shared_ptr<Comm>> dropped;
  const std::lock_guard lock(mutex);
  dropped.swap(spares());
}

uint64_t common_spare(const std::vector<Hello>& hellos) {
  for (const uint64_t token : hellos[0].spares()) {
    const bool is_common = std::ranges::all_of(
        hellos, [token](const Hello& hello) { return std::ranges::count(hello.spares(), token) != 0; });
    if (token != 0 && is_common) return token;
  }
  return 0;
}

}  // namespace coll::comm
