// SPDX-License-Identifier: BSD-3-Clause
#include "transport/keeper.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transport/process.h"

namespace coll::transport {

// Has memory of its own, which is shared although no other process has it: when memory runs out, the kernel frees the
// private memory of the process that it kills, perhaps before it walks the list.
struct Keeper {
  static constexpr uint32_t refused = ~0u;
  robust_list_head head;
  std::atomic<uint32_t> thread;  // its id; 0: it does not run yet
  size_t marks;
  Keeper* next;
};

namespace {

// The keepers of one process. A child after fork() begins without any.
struct Keepers {
  Keeper* first = nullptr;
  size_t count = 0;
  uint64_t generation = 0;
  LifeMark description;  // of the process, once there is a mark
  bool is_described = false;
  // 1: a thread that has registered a mark has ended, and so may all others.
  std::atomic<uint32_t> registrar_ended = 0;
  std::atomic<bool> one_looks = false;    // a keeper checks whether all of them have ended
  std::atomic<bool> are_refused = false;  // the kernel refuses robust lists
};

// Held around fork(). No memory is allocated or freed under it: an allocator may hold its locks then.
std::mutex mutex;
// Held while a keeper is started, so that threads that register their first marks at once start one.
std::mutex starting;
Keepers keepers;

void begin_anew_in_child() {
  keepers.first = nullptr;
  keepers.count = 0;
  keepers.generation++;
  keepers.is_described = false;
  keepers.registrar_ended = 0;
  keepers.one_looks = false;
  new (&starting) std::mutex;  // a thread of the parent may hold it
  mutex.unlock();
}

const bool fork_is_watched = pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, begin_anew_in_child) == 0;

// A process ends with its last thread, but the C library counts keepers among them. The thread that has registered
// marks is one of the last or ends before them, so keepers need not check before it has ended.
void watch_registrar() {
  static pthread_key_t key;
  static const bool made = pthread_key_create(&key, [](void*) {
                             keepers.registrar_ended.store(1);
                             keepers.registrar_ended.notify_all();
                           }) == 0;
  if (made) pthread_setspecific(key, &keepers);
}

// True if only the first thread, which stays as a zombie, and the keepers are left.
bool all_others_have_ended() {
  const ProcessStat own = stat_of("self");
  std::lock_guard lock(mutex);
  return own.known && own.state == 'Z' && size_t(own.threads) == keepers.count + 1;
}

void* keep(void* of) {
  auto& keeper = *static_cast<Keeper*>(of);
  prctl(PR_SET_NAME, "libcoll-life");
  const bool works = syscall(SYS_set_robust_list, &keeper.head, sizeof keeper.head) == 0;
  keeper.thread.store(works ? uint32_t(syscall(SYS_gettid)) : Keeper::refused);
  keeper.thread.notify_one();
  if (!works) return nullptr;
  keepers.registrar_ended.wait(0);
  while (keepers.one_looks.exchange(true)) pause();
  while (!all_others_have_ended()) sleep(1);
  exit(0);
}

// Blocks all signals of the calling thread, which threads that it starts inherit.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// Starts a thread with a small stack, or with the usual one if the program's thread-local variables need more. Returns
// 0 or errno.
int start_thread(pthread_t& thread, Keeper& keeper) {
  constexpr size_t small_stack = 64 << 10;
  SignalsBlocked blocked;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::max<size_t>(small_stack, size_t(sysconf(_SC_THREAD_STACK_MIN))));
  int reason = pthread_create(&thread, &attributes, keep, &keeper);
  if (reason == EINVAL) reason = pthread_create(&thread, nullptr, keep, &keeper);
  pthread_attr_destroy(&attributes);
  return reason;
}

// Starts a keeper; null if the system refuses it.
Keeper* start_keeper() {
  void* memory = mmap(nullptr, sizeof(Keeper), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, sizeof(Keeper), MADV_DONTFORK);
  auto* keeper = new (memory) Keeper{};
  keeper->head.list.next = &keeper->head.list;
  keeper->head.futex_offset = long(offsetof(LifeMark, word));
  pthread_t thread;
  if (start_thread(thread, *keeper) == 0) {
    keeper->thread.wait(0);
    if (keeper->thread.load() != Keeper::refused) {
      pthread_detach(thread);
      return keeper;
    }
    keepers.are_refused = true;
    pthread_join(thread, nullptr);
  }
  munmap(memory, sizeof(Keeper));
  return nullptr;
}

// REQUIRES: mutex is held.
Keeper* keeper_with_room() {
  Keeper* keeper = keepers.first;
  while (keeper != nullptr && keeper->marks == marks_per_keeper) keeper = keeper->next;
  return keeper;
}

// Stores a pointer that the kernel may follow at any moment.
void set(robust_list*& pointer, robust_list* to) {
  std::atomic_ref<robust_list*>(pointer).store(to, std::memory_order_release);
}

LifeMark& mark_of(robust_list* entry) { return *reinterpret_cast<LifeMark*>(entry); }

// REQUIRES: mutex is held.
void insert(LifeMark& mark, Keeper& keeper) {
  robust_list& head = keeper.head.list;
  mark.word.store(keeper.thread.load(std::memory_order_relaxed), std::memory_order_relaxed);
  mark.entry.next = head.next;
  mark.before = &head;
  if (head.next != &head) mark_of(head.next).before = &mark.entry;
  set(head.next, &mark.entry);
  keeper.marks++;
}

void remove(LifeMark& mark, Keeper& keeper) {
  robust_list* const next = mark.entry.next;
  if (next != &keeper.head.list) mark_of(next).before = mark.before;
  set(mark.before->next, next);
  keeper.marks--;
}

// Puts the mark into the list of a keeper that has room; null if there is none.
Keeper* put(LifeMark& mark, uint64_t& generation) {
  std::lock_guard lock(mutex);
  generation = keepers.generation;
  if (!keepers.is_described) describe_owner(keepers.description);
  keepers.is_described = true;
  mark.start = keepers.description.start;
  mark.stack = keepers.description.stack;
  mark.time_space = keepers.description.time_space;
  Keeper* keeper = keeper_with_room();
  if (keeper != nullptr) insert(mark, *keeper);
  return keeper;
}

}  // namespace

LifeRegistration::LifeRegistration(LifeMark& mark) : mark_(mark) {
  keeper_ = put(mark, generation_);
  if (keeper_ == nullptr) {
    std::lock_guard one_at_a_time(starting);
    keeper_ = put(mark, generation_);
    Keeper* const fresh = keeper_ == nullptr && !keepers.are_refused ? start_keeper() : nullptr;
    if (fresh != nullptr) {
      std::lock_guard lock(mutex);
      fresh->next = keepers.first;
      keepers.first = fresh;
      keepers.count++;
      generation_ = keepers.generation;
      insert(mark, *fresh);
      keeper_ = fresh;
    }
  }
  if (keeper_ != nullptr) watch_registrar();
}

LifeRegistration::~LifeRegistration() {
  std::lock_guard lock(mutex);
  if (keeper_ != nullptr && generation_ == keepers.generation) remove(mark_, *keeper_);
}

}  // namespace coll::transport
