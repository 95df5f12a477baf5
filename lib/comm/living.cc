// SPDX-License-Identifier: BSD-3-Clause
#include "comm/living.h"

#include <memory>
#include <mutex>
#include <pthread.h>

#include "comm/comm.h"

namespace coll::comm {

namespace {

// Held during fork(), so that the child finds the lists consistent. No thread allocates or frees memory while it holds
// the mutex, because an allocator may hold its own locks during fork().
std::mutex mutex;
struct Living {
  std::list<Comm*> idle, active;
  std::list<Comm*>& of(const LivingEntry& place) { return place.has_requests ? active : idle; }
};
Living& living() {
  static auto* all = new Living;  // never destroyed: exit handlers may free communicators
  return *all;
}

// Only stores a status in each communicator, because another thread of the parent may have been in a call on any of
// them.
void disown_all() {
  for (const std::list<Comm*>* list : {&living().idle, &living().active})
    for (Comm* comm : *list) comm->disown();
  mutex.unlock();
}

const bool fork_is_watched = pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, disown_all) == 0;

}  // namespace

void add_living(Comm& comm) {
  std::list<Comm*> added{&comm};
  Living& all = living();
  std::lock_guard lock(mutex);
  comm.living.at = added.begin();
  comm.living.is_listed = true;
  all.idle.splice(all.idle.begin(), added);
}

void remove_living(Comm& comm) {
  std::list<Comm*> removed;
  std::lock_guard lock(mutex);
  if (comm.living.is_listed) removed.splice(removed.begin(), living().of(comm.living), comm.living.at);
  comm.living.is_listed = false;
}

size_t living_communicators() {
  Living& all = living();
  std::lock_guard lock(mutex);
  return all.idle.size() + all.active.size();
}

void note_requests(Comm& comm, bool has_requests) {
  Living& all = living();
  std::lock_guard lock(mutex);
  std::list<Comm*>& before = all.of(comm.living);
  comm.living.has_requests = has_requests;
  std::list<Comm*>& now = all.of(comm.living);
  now.splice(now.end(), before, comm.living.at);
}

// Visits the list while it may change. It unlocks the mutex while a communicator advances, which runs functions of the
// program.
bool progress_living() {
  bool moved = false;
  std::unique_lock lock(mutex);
  std::list<Comm*>& active = living().active;
  for (size_t left = active.size(); left > 0 && !active.empty(); left--) {
    // Null: another thread is destroying the communicator and waits for the mutex.
    std::shared_ptr<Comm> comm = active.front()->weak_from_this().lock();
    active.splice(active.end(), active, active.begin());
    lock.unlock();
    if (comm != nullptr) moved |= comm->try_progress();
    comm.reset();
    lock.lock();
  }
  return moved;
}

}  // namespace coll::comm
