// SPDX-License-Identifier: BSD-3-Clause
#include "comm/living.h"

#include <mutex>
#include <pthread.h>
#include <unordered_set>

#include "comm/comm.h"

namespace coll::comm {

namespace {

std::mutex mutex;  // held around fork(), so that the child finds the set complete
std::unordered_set<Comm*>& living() {
  static auto* set = new std::unordered_set<Comm*>;  // never destroyed: exit handlers may free communicators
  return *set;
}

// Stores a status in each and nothing more: another thread of the parent may have been in a call on any of them.
void disown_all() {
  for (Comm* comm : living()) comm->disown();
  mutex.unlock();
}

const bool fork_is_watched = pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, disown_all) == 0;

}  // namespace

void add_living(Comm& comm) {
  std::lock_guard lock(mutex);
  living().insert(&comm);
}

void remove_living(Comm& comm) {
  std::lock_guard lock(mutex);
  living().erase(&comm);
}

}  // namespace coll::comm
