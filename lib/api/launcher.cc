// SPDX-License-Identifier: BSD-3-Clause
#include "api/launcher.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/handles.h"
#include "launch/claim.h"
#include "launch/gathering.h"
#include "launch/job_rank.h"
#include "sync/system_wait.h"
#include "transport/shared_file.h"

namespace {

using coll::failure;
using coll::launcher::abandoned;
using coll::launcher::Meeting;
using coll::launcher::slot_bytes;

struct Participant {
  Meeting* meeting;
  int rank;
  bool gave_up = false;
};

// A barrier over the ranks. Returns false if a rank has exited and can no longer arrive. Only the launcher detects
// failed ranks: it ends the other ranks or sets `abandoned`.
bool meet(Meeting& meeting) {
  const uint32_t generation = meeting.generation.load(std::memory_order_acquire);
  if ((generation & abandoned) != 0) return false;
  if (meeting.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == meeting.ranks) {
    meeting.arrived.store(0, std::memory_order_relaxed);
    meeting.generation.fetch_add(1, std::memory_order_release);
    coll::launcher::wake_all(meeting);
    return true;
  }
  for (;;) {
    const uint32_t now = meeting.generation.load(std::memory_order_acquire);
    if ((now & ~abandoned) != generation) return true;
    if ((now & abandoned) != 0) return false;
    coll::sync::futex_wait(meeting.generation, generation);
  }
}

int allgather(const void* send, void* recv, size_t bytes, void* context) {
  Participant& self = *static_cast<Participant*>(context);
  if (bytes > slot_bytes) return 1;
  char* slots = reinterpret_cast<char*>(self.meeting) + slot_bytes;
  memcpy(slots + size_t(self.rank) * slot_bytes, send, bytes);
  if (!meet(*self.meeting)) return self.gave_up = true, 1;
  for (uint32_t r = 0; r < self.meeting->ranks; r++)
    memcpy(static_cast<char*>(recv) + r * bytes, slots + r * slot_bytes, bytes);
  if (!meet(*self.meeting)) return self.gave_up = true, 1;
  return 0;
}

// The context of the callback for ranks of other launchers.
struct Gathered {
  coll::launch::Gathering* gathering;
  std::string problem;
};

int allgather_by_sockets(const void* send, void* recv, size_t bytes, void* context) {
  auto& gathered = *static_cast<Gathered*>(context);
  return gathered.gathering->allgather(send, recv, bytes, gathered.problem) ? 0 : 1;
}

int alone(const void* send, void* recv, size_t bytes, void*) {
  memcpy(recv, send, bytes);
  return 0;
}

// The file lock by which this process is that rank. The communicators share it, and the last one releases it.
class Claim {
 public:
  // Returns null if another process holds the lock; `holder` is then its pid, or 0 if the pid is not visible here. Any
  // other failure counts as success: the lock only detects a second process, collectives do not need it.
  static std::shared_ptr<Claim> make(int descriptor, int rank, pid_t& holder) {
    const std::lock_guard guard(mutex);
    struct flock lock = byte_of(rank, F_WRLCK);
    if (fcntl(descriptor, F_SETLK, &lock) != 0 && (errno == EAGAIN || errno == EACCES)) {
      holder = fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? lock.l_pid : 0;
      return nullptr;
    }
    return std::make_shared<Claim>(descriptor, rank);
  }

  // REQUIRES: the mutex is locked.
  Claim(int descriptor, int rank) : descriptor_(descriptor), rank_(rank), file_(descriptor) { claims++; }
  ~Claim() {
    const std::lock_guard guard(mutex);
    struct flock lock = byte_of(rank_, F_UNLCK);
    if (--claims == 0 && file_.is_of(descriptor_)) fcntl(descriptor_, F_SETLK, &lock);
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

 private:
  static struct flock byte_of(int rank, short type) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = rank;
    lock.l_len = 1;
    return lock;
  }

  static inline std::mutex mutex;  // one thread makes or releases the file lock and counts
  static inline int claims = 0;    // of this process: they share one file lock
  int descriptor_, rank_;
  coll::transport::FileIdentity file_;
};

// The contents of COLL_LAUNCH.
struct Launch {
  int rank = 0, ranks = 0, descriptor = -1;
};

// Maps the shared memory of collctl run. Returns null and sets `problem` on failure.
Meeting* map_meeting(const Launch& launch, std::string& problem) {
  const size_t bytes = coll::launcher::meeting_bytes(launch.ranks);
  struct stat file {};
  if (fstat(launch.descriptor, &file) != 0) {
    problem = "descriptor " + std::to_string(launch.descriptor) +
              ", which collctl run passes to its ranks, is closed; keep it open in this program and in what starts it";
    return nullptr;
  }
  const std::string mismatch =
      "COLL_LAUNCH does not match the shared memory of collctl run; start the program with `collctl run -n N program`";
  if (size_t(file.st_size) != bytes) return problem = mismatch, nullptr;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, launch.descriptor, 0);
  if (memory == MAP_FAILED) {
    problem = std::string("cannot map the shared memory of collctl run: ") + strerror(errno);
    return nullptr;
  }
  auto* const meeting = static_cast<Meeting*>(memory);
  if (meeting->ranks == uint32_t(launch.ranks)) return meeting;
  munmap(memory, bytes);
  return problem = mismatch, nullptr;
}

std::string taken(int rank, pid_t holder) {
  return "rank " + std::to_string(rank) + " of collctl run is another process" +
         (holder > 0 ? " (" + std::to_string(holder) + ")" : "") +
         ", which has a communicator; start a further program with a `collctl run` of its own, or unset COLL_LAUNCH to "
         "run it alone";
}

std::string ended(uint32_t rank) {
  return "rank " + std::to_string(rank) +
         " of collctl run has ended without creating this communicator; every rank must call "
         "coll_comm_create_from_launcher() equally often";
}

// Keeps a second thread out: the exchanges of the two would mix. It holds the process, because a child after fork() does
// not have the thread that was in the call.
class OnlyThread {
 public:
  OnlyThread() {
    pid_t other = inside.load();
    entered_ = other != getpid() && inside.compare_exchange_strong(other, getpid());
  }
  ~OnlyThread() {
    if (entered_) inside.store(0);
  }
  OnlyThread(const OnlyThread&) = delete;
  OnlyThread& operator=(const OnlyThread&) = delete;
  coll_status status() const {
    if (entered_) return COLL_OK;
    return failure(COLL_ERR_STATE,
                   "another thread of this process is in coll_comm_create_from_launcher(); let one thread at a time "
                   "call it");
  }

 private:
  static inline std::atomic<pid_t> inside = 0;
  bool entered_ = false;
};

// Creates a communicator of one rank.
coll_status create_alone(coll_comm** comm) {
  const coll_bootstrap bootstrap{sizeof(coll_bootstrap), 0, 1, alone, nullptr};
  return coll_comm_create(&bootstrap, comm);
}

// Creates a communicator of the ranks that collctl run has started.
coll_status create(const Launch& launch, coll_comm** comm) {
  const OnlyThread only;
  if (only.status() != COLL_OK) return COLL_ERR_STATE;
  std::string problem;
  Meeting* const meeting = map_meeting(launch, problem);
  if (meeting == nullptr) return failure(COLL_ERR_BOOTSTRAP, problem);
  coll_status status = COLL_ERR_BOOTSTRAP;
  pid_t holder = 0;
  if (std::shared_ptr<Claim> claim = Claim::make(launch.descriptor, launch.rank, holder)) {
    Participant self{meeting, launch.rank};
    const coll_bootstrap bootstrap{sizeof(coll_bootstrap), launch.rank, launch.ranks, allgather, &self};
    status = coll_comm_create(&bootstrap, comm);
    if (self.gave_up) failure(status, ended(meeting->ended_rank.load()));
    if (status == COLL_OK) (*comm)->comm->claim = std::move(claim);
  } else {
    failure(status, taken(launch.rank, holder));
  }
  munmap(meeting, coll::launcher::meeting_bytes(launch.ranks));
  return status;
}

coll_status create_by_collctl(coll_comm** comm) {
  const char* text = std::getenv(coll::launcher::variable);
  Launch launch;
  if (sscanf(text, "%d/%d/%d", &launch.rank, &launch.ranks, &launch.descriptor) != 3 || launch.ranks < 1 ||
      launch.rank < 0 || launch.rank >= launch.ranks)
    return failure(COLL_ERR_BOOTSTRAP,
                   std::string("COLL_LAUNCH='") + text +
                       "' was not set by collctl run; start the program with `collctl run -n N program`");
  return create(launch, comm);
}

// Creates a communicator of the ranks that any other launcher has started.
coll_status create_by(const coll::launch::Launcher& launcher, coll::launch::JobRank job_rank, coll_comm** comm) {
  coll::config::Rendezvous options;
  std::string problem = coll::config::read_rendezvous(options);
  if (!problem.empty()) return failure(COLL_ERR_ARG, problem);
  if (!job_rank.problem.empty()) return failure(COLL_ERR_BOOTSTRAP, job_rank.problem);
  if (job_rank.ranks == 1) return create_alone(comm);
  const OnlyThread only;
  if (only.status() != COLL_OK) return COLL_ERR_STATE;
  // Claims the rank before it queries the launcher, which may treat a second process of the same rank as a failure.
  std::shared_ptr<void> claimed = coll::launch::claim(job_rank, problem);
  if (claimed == nullptr) return failure(COLL_ERR_BOOTSTRAP, problem);
  if (launcher.ask != nullptr) launcher.ask(job_rank);
  if (!job_rank.problem.empty()) return failure(COLL_ERR_BOOTSTRAP, job_rank.problem);
  if (job_rank.ranks == 1) return create_alone(comm);
  const std::unique_ptr<coll::launch::Gathering> gathering = coll::launch::Gathering::meet(job_rank, options, problem);
  if (gathering == nullptr) return failure(COLL_ERR_BOOTSTRAP, problem);
  Gathered gathered{gathering.get(), ""};
  const coll_bootstrap bootstrap{sizeof(coll_bootstrap), job_rank.rank, job_rank.ranks, allgather_by_sockets,
                                 &gathered};
  const coll_status status = coll_comm_create(&bootstrap, comm);
  if (!gathered.problem.empty()) failure(status, gathered.problem);
  if (status == COLL_OK) (*comm)->comm->claim = std::move(claimed);
  return status;
}

}  // namespace

extern "C" coll_status coll_comm_create_from_launcher(coll_comm** comm) {
  if (comm == nullptr) return failure(COLL_ERR_ARG, "coll_comm_create_from_launcher: comm is NULL");
  *comm = nullptr;
  return coll::api::guarded([&] {
    const coll::launch::Launcher* launcher = nullptr;
    const coll::launch::JobRank job_rank = coll::launch::find(&launcher);
    if (launcher == nullptr) return create_alone(comm);
    if (launcher == &coll::launch::collctl_run) return create_by_collctl(comm);
    return create_by(*launcher, job_rank, comm);
  });
}
