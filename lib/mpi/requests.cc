// SPDX-License-Identifier: BSD-3-Clause
//
// Invariants
//  1. A Started is in the list from enter() until its collective is complete. Then the thread that finds it complete
//     completes the generalized request. The library frees it by free_started(), before or after that call has returned:
//     the later of the two deletes it.
//  2. One thread at a time holds the list's mutex while it tests; other threads continue. So a collective is tested by
//     one thread, as coll_test() requires.
//  3. A thread that must not call MPI moves complete collectives to the list `finished`. Threads of the program complete
//     their requests.
#include "mpi/requests.h"

#include "mpi/errors.h"
#include "mpi/hook.h"
#include "mpi/library.h"
#include "mpi/log.h"
#include "mpi/mpi_tasks.h"
#include "mpi/probing.h"
#include "mpi/progress.h"
#include "mpi/progress_thread.h"
#include "mpi/waits.h"

#include <coll/shim.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

namespace coll::shim {

KeptDatatype::~KeptDatatype() {
  if (duplicated_) mpi.Type_free(&handle_);
}

bool KeptDatatype::keep(Side &side) {
  if (side.packed_bytes() == 0 || is_predefined(side.datatype())) return true;
  duplicated_ = mpi.Type_dup(side.datatype(), &handle_) == MPI_SUCCESS;
  const Datatype *element = duplicated_ ? datatype_of(handle_) : nullptr;
  if (element != nullptr) side.retype(handle_, element);
  return element != nullptr;
}

std::unique_ptr<BlockBuffers> BlockBuffers::make(std::size_t packed_bytes) {
  std::unique_ptr<BlockBuffers> buffers(new (std::nothrow) BlockBuffers);
  if (buffers == nullptr) return nullptr;
  buffers->packed.reset(new (std::nothrow) char[packed_bytes]);
  return buffers->packed != nullptr ? std::move(buffers) : nullptr;
}

bool BlockBuffers::load() const {
  const bool inputs_packed = inputs == no_block || (inputs == all_blocks ? recv.load() : recv.load(inputs));
  return inputs_packed && send.load();
}

coll_status Kept::load() const {
  if (buffers != nullptr && !buffers->load()) return COLL_ERR_TYPE;
  if (exchange != nullptr && !exchange->out.load()) return COLL_ERR_TYPE;
  return copies == nullptr || copies->load() ? COLL_OK : COLL_ERR_BUFFER;
}

coll_status Kept::store() const {
  if (buffers != nullptr && !buffers->store()) return COLL_ERR_TYPE;
  if (exchange != nullptr && !exchange->in.store()) return COLL_ERR_TYPE;
  return copies == nullptr || copies->store() ? COLL_OK : COLL_ERR_BUFFER;
}

namespace {

constexpr int tests_in_a_row = 8;  // unsuccessful tests in one call of the hook

// Oldest first, except that an unsuccessful test moves a collective to the end.
class List {
 public:
  bool empty() const { return first_ == nullptr; }
  void append(Started *started) {
    started->next = nullptr;
    *last_ = started;
    last_ = &started->next;
  }
  Started *pop() {
    Started *popped = std::exchange(first_, first_->next);
    if (first_ == nullptr) last_ = &first_;
    return popped;
  }

 private:
  Started *first_ = nullptr;
  Started **last_ = &first_;
};

std::mutex mutex;  // guards the lists
constinit List list;
constinit std::atomic<int> listed{0};
constinit std::atomic<unsigned> looks_by_program{0};  // how often threads of the program have come to test collectives
int user_operations = 0;                              // listed collectives whose operation is a function of the program

// At MPI_THREAD_MULTIPLE MPICH's progress holds locks and must not call MPI: completed collectives wait in a list of
// their own until the library calls poll_started(), or the program MPI_Request_get_status.
bool progress_is_locked = false;
constinit List finished;
constinit std::atomic<int> finished_count{0};

void complete(Started *started) {
  note_served();
  if (started->status == COLL_OK) started->status = started->kept.store();
  started->end();
}

// Tests the listed collectives until `most_useless` of them are not complete, which then go to the end of the list, so
// that each is tested in turn. The caller has locked the mutex. Returns whether one was complete.
bool test_some(int most_useless, bool may_call_mpi) {
  bool any_complete = false;
  for (int left = listed.load(std::memory_order_relaxed), useless = 0; left > 0 && useless < most_useless; left--) {
    Started *started = list.pop();
    int done = 0;
    const coll_status status = coll_test(&started->collective, &done);
    if (done == 0) {
      list.append(started);
      useless++;
    } else {
      any_complete = true;
      user_operations -= started->kept.operation != nullptr;
      listed.fetch_sub(1, std::memory_order_relaxed);
      started->status = status;
      if (may_call_mpi) {
        complete(started);
      } else {
        finished.append(started);
        finished_count.fetch_add(1, std::memory_order_relaxed);
      }
    }
  }
  return any_complete;
}

// COLL_PROGRESS=thread. Never destroyed: a process may exit without MPI_Finalize.
ProgressThread *progress_thread = nullptr;

void advance_requests() {
  if (mpi_tasks_left.load(std::memory_order_relaxed) > 0) [[unlikely]]
    step_mpi_tasks();
  if (!progress_is_locked) complete_finished();
  if (listed.load(std::memory_order_relaxed) == 0) return;
  if (progress_thread != nullptr) [[unlikely]]
    looks_by_program.store(looks_by_program.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (const std::unique_lock lock(mutex, std::try_to_lock); lock) test_some(tests_in_a_row, !progress_is_locked);
  // The shim's thread may hold the mutex and need this thread's core.
  else if (progress_thread != nullptr) std::this_thread::yield();
}

bool thread_runs_user_operations = false;

// Whether a thread of the program has been inside MPI since the last call. Then it advances the collectives itself, and
// the shim's thread would only compete with it for the mutex, and for the core if both are bound to one.
bool program_is_inside_mpi() {
  static unsigned before = 0;
  const unsigned now = looks_by_program.load(std::memory_order_relaxed);
  return now != std::exchange(before, now);
}

ProgressThread::Outcome test_all() {
  if (listed.load(std::memory_order_relaxed) == 0) return ProgressThread::Outcome::nothing_active;
  if (program_is_inside_mpi()) return ProgressThread::Outcome::nothing_moved;
  if (user_operations > 0 && !thread_runs_user_operations) return ProgressThread::Outcome::nothing_moved;
  const bool moved = coll_progress_moves() != 0;
  const bool any_complete = test_some(INT_MAX, false);
  return moved || any_complete ? ProgressThread::Outcome::moved : ProgressThread::Outcome::nothing_moved;
}

// ---- what the library asks of a generalized request ----------------------------------------------------------

#ifdef COLL_SHIM_ABI
MPI_Status empty_status;
bool make_empty_status() {
  return mpi.Status_set_elements(&empty_status, MPI_BYTE, 0) == MPI_SUCCESS &&
         mpi.Status_set_cancelled(&empty_status, 0) == MPI_SUCCESS;
}
#else
bool make_empty_status() { return true; }
#endif

int query_started(void *state, MPI_Status *status) {
  // An empty status, written directly: MPI_Status_set_elements and MPI_Status_set_cancelled take longer than the rest
  // of a request.
#if defined(COLL_SHIM_ABI)
  std::ranges::copy(empty_status.MPI_internal, status->MPI_internal);
#elif defined(OPEN_MPI)
  status->_ucount = 0;
  status->_cancelled = 0;
#else
  status->count_lo = 0;
  status->count_hi_and_cancelled = 0;
#endif
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  return static_cast<Started *>(state)->code;
}

// Open MPI 6.0 may call it twice: by a thread that waits, and inside MPI_Grequest_complete, which finds that the former
// has freed the request.
int free_started(void *state) {
  auto *started = static_cast<Started *>(state);
  const unsigned ends = started->ends.fetch_or(Started::request_freed);
  if ((ends & Started::request_freed) != 0) return MPI_SUCCESS;
  note_freed(started->handle);
  if ((ends & Started::request_completed) != 0) delete started;
  return MPI_SUCCESS;
}

// MPI forbids cancelling a collective.
int cancel_started(void *, int) { return MPI_ERR_REQUEST; }

// MPICH's library exports this function; the standard ABI does not declare it.
using Query = int(void *, MPI_Status *);
using Free = int(void *);
using Cancel = int(void *, int);
using WaitAll = int(int, void **, double, MPI_Status *);
using StartExtended = int(Query *, Free *, Cancel *, Query *, WaitAll *, void *, MPI_Request *);

// If null requests are among its requests, MPICH's MPI_Waitall waits for a generalized request only if this has a wait
// function. Such a request must have a poll function, too, which is then called instead of the library's progress.
int poll_started(void *, MPI_Status *) {
  drive_mpi_progress(nullptr);
  complete_finished();
  return MPI_SUCCESS;
}
int wait_for_started(int count, void **states, double, MPI_Status *status) {
  for (int i = 0; i < count; i++) poll_started(states[i], status);
  return MPI_SUCCESS;
}

StartExtended *start_extended = nullptr;

int start_generalized(Started *started) {
  if (over_open_mpi) return mpi.Grequest_start(query_started, free_started, cancel_started, started, &started->handle);
  return start_extended(query_started, free_started, cancel_started, poll_started, wait_for_started, started,
                        &started->handle);
}

bool find_more() {
  if (over_open_mpi) return true;
  for (const char *name : {"PMPIX_Grequest_start", "MPIX_Grequest_start"})
    if (start_extended == nullptr) start_extended = reinterpret_cast<StartExtended *>(variable(name));
  return start_extended != nullptr;
}

}  // namespace

void Started::end() {
  code = status == COLL_OK ? MPI_SUCCESS : error_code(status);
  // Not in free_started(): MPICH calls it under a lock that freeing a datatype takes.
  kept = {};
  mpi.Grequest_complete(handle);
  if ((ends.fetch_or(request_completed) & request_freed) != 0) delete this;
}

void complete_finished() {
  if (finished_count.load(std::memory_order_relaxed) == 0) return;
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock) return;
  while (!finished.empty()) {
    finished_count.fetch_sub(1, std::memory_order_relaxed);
    complete(finished.pop());
  }
}

int enter(std::unique_ptr<Started> started, MPI_Request *request) {
  if (const int code = start_generalized(started.get()); code != MPI_SUCCESS) {
    coll_wait(&started->collective);
    return code;
  }
  *request = started->handle;
  note_started(started->handle, COLL_STATS_SERVED);
  advance(started.release());
  return MPI_SUCCESS;
}

void advance(Started *started) {
  const std::lock_guard lock(mutex);
  list.append(started);
  listed.fetch_add(1, std::memory_order_relaxed);
  user_operations += started->kept.operation != nullptr;
  if (progress_thread != nullptr) progress_thread->wake();
}

bool progress_calls_mpi() { return !progress_is_locked; }

bool start_requests() {
  int level = MPI_THREAD_SINGLE;
  if (!find_more() || !make_empty_status() || mpi.Query_thread(&level) != MPI_SUCCESS) return false;
  let_threads_call_mpi(level == MPI_THREAD_MULTIPLE);
  progress_is_locked = !over_open_mpi && level == MPI_THREAD_MULTIPLE;
  if (!hook_progress(advance_requests)) return false;
  if (!wants_progress_thread()) return true;
  // Functions of the program may call MPI, and may rely on running in the program's only thread.
  thread_runs_user_operations = level == MPI_THREAD_MULTIPLE;
  auto thread = std::make_unique<ProgressThread>(mutex, test_all);
  if (thread->start()) progress_thread = thread.release();
  else log_line("COLL_PROGRESS=thread: the system has no thread to give; collectives progress inside MPI calls only");
  return true;
}

void end_requests() {
  if (progress_thread == nullptr) return;
  progress_thread->end();
  delete std::exchange(progress_thread, nullptr);
}

}  // namespace coll::shim
