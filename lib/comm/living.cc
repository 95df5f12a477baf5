// SPDX-License-Identifier: BSD-3-Clause
#include "comm/living.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <pthread.h>

#include "comm/comm.h"

namespace coll::comm {

namespace {

// Held around fork(), so that the child finds the list complete. No memory is allocated or freed under it: an allocator
// may hold its locks then.
std::mutex mutex;
std::list<Comm*>& living() {
  static auto* list = new std::list<Comm*>;  // never destroyed: exit handlers may free communicators
  return *list;
}

// Stores a status in each and nothing more: another thread of the parent may have been in a call on any of them.
void disown_all() {
  for (Comm* comm : living()) comm->disown();
  mutex.unlock();
}

const bool fork_is_watched = pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, disown_all) == 0;

}  // namespace

void add_living(Comm& comm) {
  std::list<Comm*> added{&comm};
  std::list<Comm*>& all = living();
  std::lock_guard lock(mutex);
  all.splice(all.begin(), added);
}

void remove_living(Comm& comm) {
  std::list<Comm*> removed;
  std::lock_guard lock(mutex);
  std::list<Comm*>& all = living();
  const auto found = std::find(all.begin(), all.end(), &comm);
  if (found != all.end()) removed.splice(removed.begin(), all, found);
}

size_t living_communicators() {
  std::list<Comm*>& all = living();
  std::lock_guard lock(mutex);
  return all.size();
}

}  // namespace coll::comm
