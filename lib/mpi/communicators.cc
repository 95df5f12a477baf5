// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/communicators.h"

#include "mpi/agreement.h"
#include "mpi/background.h"
#include "mpi/choice.h"
#include "mpi/datatypes.h"
#include "mpi/devices.h"
#include "mpi/ending.h"
#include "mpi/library.h"
#include "mpi/log.h"
#include "mpi/memory.h"
#include "mpi/names.h"
#include "mpi/operations.h"
#include "mpi/persistent.h"
#include "mpi/placement.h"
#include "mpi/presence.h"
#include "mpi/progress.h"
#include "mpi/requests.h"
#include "mpi/spending.h"
#include "mpi/switch.h"
#include "mpi/world_ranks.h"

#include <coll/shim.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <utility>

namespace coll::shim {

constinit thread_local HandleCache<Communicator> recent_communicators;
bool requests_work = false;

namespace {

enum class Phase { before, open, closed };

std::atomic<Phase> phase{Phase::before};
thread_local bool inside_shim = false;  // this thread is in MPI calls of the shim, which are not the program's
struct InsideShim {
  InsideShim() { inside_shim = true; }
  ~InsideShim() { inside_shim = false; }
};

bool has_own_objects = false;  // all MPI objects of the shim were created
int keyval = MPI_KEYVAL_INVALID;
MPI_Comm own_communicator;
MPI_Request own_request;  // a receive that no message matches
char own_byte;

std::mutex communicators_mutex;  // guards the list and `total`
Communicator *all_communicators = nullptr;
Tally total;
std::atomic<std::uint64_t> forwarded_without_state[collectives][whys];  // of communicators without state

void enlist(Communicator *communicator) {
  const std::lock_guard lock(communicators_mutex);
  communicator->next = all_communicators;
  communicator->link = &all_communicators;
  if (all_communicators != nullptr) all_communicators->link = &communicator->next;
  all_communicators = communicator;
}

void close(Communicator *communicator) {
  communicator->background.reset();
  coll_comm_keep(communicator->coll);
  communicator->coll = nullptr;
  communicator->nodes.reset();
  for (int i = 0; i < collectives; i++) {
    total.intercepted[i] += communicator->tally.intercepted[i];
    for (std::size_t why = 0; why < whys; why++) total.forwarded[i][why] += communicator->tally.forwarded[i][why];
  }
  communicator->tally = {};
}

int delete_communicator(MPI_Comm, int, void *value, void *) {
  HandleCache<Communicator>::invalidate_all();
  auto *communicator = static_cast<Communicator *>(value);
  // Open MPI 4.1 crashes if a communicator is freed before its non-blocking collectives are complete. MPICH keeps it
  // until then, and calls this function in the progress that completes the last one.
  if (over_open_mpi && communicator->background != nullptr) communicator->background->end_first_round();
  const std::lock_guard lock(communicators_mutex);
  *communicator->link = communicator->next;
  if (communicator->next != nullptr) communicator->next->link = communicator->link;
  close(communicator);
  delete communicator;
  return MPI_SUCCESS;
}

// A duplicate is another communicator: its state is created by its first collective.
int keep_from_duplicate(MPI_Comm, int, void *, void *, void *, int *flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

bool create_own_communicator() {
  // Not MPI_Comm_dup, which would copy the program's attributes. The first new communicator may get the handle of one
  // that the program has freed and uses by mistake; that handle must stay invalid.
  MPI_Comm first;
  if (mpi.Comm_split(mpi.self, 0, 0, &first) != MPI_SUCCESS) return false;
  const bool second = mpi.Comm_split(mpi.self, 0, 0, &own_communicator) == MPI_SUCCESS;
  mpi.Comm_free(&first);
  if (!second) return false;
  mpi.Comm_set_errhandler(own_communicator, mpi.errors_return);
  return true;
}

bool create_own_objects() {
  load_operations();
  create_pair_operations();
  if (!create_own_communicator() || !load_datatypes()) return false;
  if (mpi.Comm_create_keyval(keep_from_duplicate, delete_communicator, &keyval, nullptr) != MPI_SUCCESS) {
    keyval = MPI_KEYVAL_INVALID;
    return false;
  }
  return mpi.Irecv(&own_byte, 1, MPI_BYTE, 0, 0, own_communicator, &own_request) == MPI_SUCCESS;
}

void open() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (phase.load(std::memory_order_relaxed) != Phase::before) return;
  if (switched_off() != nullptr) {
    phase.store(Phase::closed, std::memory_order_release);
    return;
  }
  if (!mpi_is_running()) return;
  const InsideShim guard;
  find_devices();
  choice_of("COLL_HEAP", {"off", "shared"}, "the heap uses private memory");
  has_own_objects = create_own_objects();
  requests_work = has_own_objects && start_requests();
  int rank = 0;
  if (mpi.Comm_rank(mpi.world, &rank) == MPI_SUCCESS) begin_statistics(rank);
  phase.store(Phase::open, std::memory_order_release);
}

#if defined(COLL_SHIM_ABI)
constexpr const char *shim_kind = "MPI's standard ABI";
#elif defined(OPEN_MPI)
constexpr const char *shim_kind = "Open MPI";
#else
constexpr const char *shim_kind = "MPICH";
#endif

struct Shape {
  Communicator *communicator;
  int is_inter;
  int rank;
  int ranks;
};

// Whether `comm` is a communicator. Under Open MPI the caller's next call finds out: see QuietErrors.
bool is_communicator(MPI_Comm comm) {
  if (over_open_mpi || comm == mpi.world || comm == mpi.self) return true;
  int relation = 0;
  return has_own_objects && mpi.Comm_compare(own_communicator, comm, &relation) == MPI_SUCCESS;
}

// Returns false if `comm` is not a communicator.
bool look_up(MPI_Comm comm, Shape *shape) {
  *shape = {};
  if (!may_be_communicator(comm) || comm == MPI_COMM_NULL) return false;
  const QuietErrors quiet;
  if (!is_communicator(comm)) return false;
  void *value = nullptr;
  int flag = 0;
  if (keyval != MPI_KEYVAL_INVALID) {
    if (mpi.Comm_get_attr(comm, keyval, &value, &flag) != MPI_SUCCESS) return false;
    if (flag != 0) {
      shape->communicator = static_cast<Communicator *>(value);
      return true;
    }
  }
  return mpi.Comm_test_inter(comm, &shape->is_inter) == MPI_SUCCESS &&
         mpi.Comm_rank(comm, &shape->rank) == MPI_SUCCESS && mpi.Comm_size(comm, &shape->ranks) == MPI_SUCCESS;
}

// Whether this process logs messages that would be the same on all ranks.
bool logs_for_all() {
  int rank = 0;
  return log_wanted() && mpi.usable && mpi.Comm_rank(mpi.world, &rank) == MPI_SUCCESS && rank == 0;
}

// Logs the versions of libcoll and the MPI library.
void log_versions() {
  if (!logs_for_all()) return;
  int length = 0;
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  if (mpi.Get_library_version(library, &length) != MPI_SUCCESS) return;
  library[std::strcspn(library, "\r\n")] = '\0';
  log_line("version %s, shim for %s; %s", coll_version(), shim_kind, library);
}

// While rank 0 of a communicator creates libcoll's: passes the communicator's name to libcoll's log.
class LoggedName {
 public:
  LoggedName(MPI_Comm comm, int rank) {
    int length = 0;
    if (rank != 0 || !log_wanted()) return;
    if (mpi.Comm_get_name(comm, text_, &length) == MPI_SUCCESS && length > 0) coll_log_next_name(text_);
  }
  ~LoggedName() { coll_log_next_name(nullptr); }
  LoggedName(const LoggedName &) = delete;
  LoggedName &operator=(const LoggedName &) = delete;

 private:
  char text_[MPI_MAX_OBJECT_NAME];
};

// Why no call on `comm` is served, the same on all its ranks; Why::count_ if calls may be. Processes of another
// MPI_COMM_WORLD may lack the shim, and a message that asks them would be visible to the program.
Why obstacle(MPI_Comm comm, const Shape &shape) {
  if (shape.is_inter != 0) return Why::inter;
  if (shape.ranks == 1) return Why::alone;
  return has_other_worlds(comm, shape.ranks) ? Why::worlds : Why::count_;
}

// Creates the state of `comm`. Returns NULL if there is no memory, or MPI reports an error.
Communicator *attach(MPI_Comm comm, const Shape &shape, Why why) {
  if (!has_own_objects) return nullptr;
  auto *communicator = new (std::nothrow) Communicator{};
  if (communicator == nullptr) return nullptr;
  communicator->rank = shape.rank;
  communicator->ranks = shape.ranks;
  communicator->why = why;
  enlist(communicator);
  if (mpi.Comm_set_attr(comm, keyval, communicator) == MPI_SUCCESS) return communicator;
  delete_communicator(comm, keyval, communicator, nullptr);
  return nullptr;
}

void fill(Communicator *communicator, Agreement agreement) {
  communicator->coll = agreement.coll;
  communicator->nodes = std::move(agreement.nodes);
  communicator->why = agreement.why;
  coll_comm *coll = communicator->nodes != nullptr ? communicator->nodes->intra_node().coll() : communicator->coll;
  if (coll != nullptr) coll_comm_set_progress(coll, drive_mpi_progress, nullptr);
}

Communicator *make(MPI_Comm comm, const Shape &shape) {
  const InsideShim guard;
  const Why why = obstacle(comm, shape);
  Communicator *communicator = attach(comm, shape, why);
  if (why != Why::count_) return communicator;
  const LoggedName name(comm, shape.rank);
  Agreement agreement = agree(comm, shape.rank, shape.ranks, communicator != nullptr);
  if (communicator == nullptr) return nullptr;
  if (!agreement.lasting) {
    mpi.Comm_delete_attr(comm, keyval);
    return nullptr;
  }
  fill(communicator, std::move(agreement));
  return communicator;
}

Communicator *make_locally(MPI_Comm comm, const Shape &shape) {
  const InsideShim guard;
  const Why why = obstacle(comm, shape);
  Communicator *communicator = attach(comm, shape, why);
  if (why != Why::count_) return communicator;
  // Forwarding is no fallback: the peers begin an agreement, which needs this rank.
  if (communicator == nullptr) throw std::bad_alloc();
  communicator->background = Background::begin(comm, shape.rank, shape.ranks);
  communicator->why = Why::refused;
  communicator->agreement_state =
      communicator->background != nullptr ? AgreementState::in_background : AgreementState::blocking_only;
  return communicator;
}

// Returns the state of `comm`, which `make` creates if there is none.
template <typename Make>
Communicator *get_or_create(MPI_Comm comm, int root, Make make) {
  if (Ending::ends(comm)) return nullptr;
  Shape shape;
  if (!look_up(comm, &shape)) return nullptr;
  Communicator *communicator = shape.communicator;
  if (communicator == nullptr) {
    if (shape.is_inter == 0 && (root < 0 || root >= shape.ranks)) return nullptr;
    communicator = make(comm, shape);
  }
  if (communicator != nullptr) recent_communicators.store(handle_bits(comm), communicator);
  return communicator;
}

// Takes the outcome of an agreement in the background that has ended. Returns whether there is a libcoll communicator.
bool take_outcome(Communicator &communicator) {
  if (communicator.coll != nullptr) return true;
  if (coll_comm *made = communicator.background->release_communicator(); made != nullptr) {
    fill(&communicator, {made, nullptr, true, Why::refused});
    return true;
  }
  communicator.why = communicator.background->why();
  communicator.background.reset();
  communicator.agreement_state = AgreementState::blocking_only;
  return false;
}

std::uint64_t forwarded_in_all(int collective, std::size_t why) {
  return total.forwarded[collective][why] + forwarded_without_state[collective][why];
}

// Logs lines such as "rank 0: bcast: 12 intercepted, 3 forwarded (2 one rank, 1 wrong arguments)".
void log_total(int rank) {
  for (int i = 0; i < collectives; i++) {
    std::uint64_t forwarded = 0;
    std::string reasons;
    for (std::size_t why = 0; why < whys; why++) {
      const std::uint64_t count = forwarded_in_all(i, why);
      if (count == 0) continue;
      forwarded += count;
      reasons += (reasons.empty() ? " (" : ", ") + std::to_string(count) + ' ' + why_name(static_cast<Why>(why));
    }
    log_line("rank %d: %s: %llu intercepted, %llu forwarded%s%s", rank, own_name(static_cast<Collective>(i)),
             static_cast<unsigned long long>(total.intercepted[i]), static_cast<unsigned long long>(forwarded),
             reasons.c_str(), reasons.empty() ? "" : ")");
  }
}

}  // namespace

char *Communicator::packing_space(std::size_t bytes) {
  if (bytes > packed_bytes) {
    packed.reset(new (std::nothrow) char[bytes]);
    packed_bytes = packed != nullptr ? bytes : 0;
  }
  return packed.get();
}

std::size_t *Communicator::make_numbers() {
  numbers.reset(new (std::nothrow) std::size_t[4 * static_cast<std::size_t>(ranks)]);
  return numbers.get();
}

bool prepare() {
  if (phase.load(std::memory_order_acquire) == Phase::open) return !inside_shim;
  mpi_library();
  if (phase.load(std::memory_order_acquire) == Phase::closed || inside_shim) return false;
  open();
  return phase.load(std::memory_order_acquire) == Phase::open;
}

Communicator *acquire(MPI_Comm comm, int root) { return get_or_create(comm, root, make); }

Communicator *acquire_locally(MPI_Comm comm, int root) { return get_or_create(comm, root, make_locally); }

void release(MPI_Comm comm) {
  if (phase.load(std::memory_order_acquire) != Phase::open || keyval == MPI_KEYVAL_INVALID) return;
  if (!may_be_communicator(comm) || comm == MPI_COMM_NULL || comm == mpi.world || comm == mpi.self) return;
  const QuietErrors quiet;
  if (!is_communicator(comm)) return;
  void *value = nullptr;
  int flag = 0;
  if (mpi.Comm_get_attr(comm, keyval, &value, &flag) != MPI_SUCCESS || flag == 0) return;
  // MPICH would not call the program's delete callbacks in MPI_Comm_free, but later inside its progress, at a different
  // point of each rank's program.
  const auto *communicator = static_cast<const Communicator *>(value);
  if (communicator->background != nullptr) communicator->background->end_first_round();
  mpi.Comm_delete_attr(comm, keyval);
}

Why why_without_state(MPI_Comm comm) {
  if (Ending::ends(comm)) return Why::ending;
  if (phase.load(std::memory_order_acquire) != Phase::before || inside_shim) return Why::closed;
  static std::once_flag began;
  std::call_once(began, [] { begin_statistics(std::max(rank_in_job(), 0)); });
  return Why::session;
}

Why admit_locally(Communicator &communicator) {
  if (communicator.agreement_state == AgreementState::blocking_only) return communicator.why;
  if (!communicator.background->is_over_for_start()) return Why::agreement;
  if (!take_outcome(communicator)) return communicator.why;
  communicator.background.reset();
  communicator.agreement_state = AgreementState::decided;
  return Why::count_;
}

Why admit(MPI_Comm comm, Communicator &communicator) {
  if (communicator.coll != nullptr) return Why::count_;
  if (communicator.agreement_state == AgreementState::in_background) {
    communicator.background->wait();
    if (take_outcome(communicator)) return Why::count_;
  }
  const InsideShim guard;
  Agreement agreement = agree(comm, communicator.rank, communicator.ranks, true);
  if (!agreement.lasting) return agreement.why;
  fill(&communicator, std::move(agreement));
  communicator.agreement_state = AgreementState::decided;
  return communicator.intercepts() ? Why::count_ : communicator.why;
}

MPI_Comm private_communicator() { return own_communicator; }

MPI_Request endless_request() { return own_request; }

void count_forwarded(Communicator *communicator, Collective collective, Why why) {
  const auto reason = static_cast<std::size_t>(why);
  if (communicator != nullptr) communicator->tally.forwarded[collective][reason]++;
  else forwarded_without_state[collective][reason].fetch_add(1, std::memory_order_relaxed);
}

void start_up() {
  static std::atomic_flag started;
  if (started.test_and_set()) return;
  const int lacking = lacking_rank();
  if (lacking >= 0 && switched_off() == nullptr) {
    warn_once(
        "the process with local rank %d on this node has no shim of this version (LD_PRELOAD, COLL_MPI=off, "
        "COLL_PROGRAMS), or is in another network namespace (COLL_RENDEZVOUS_DIR names a directory of all ranks): all "
        "collectives are forwarded to MPI",
        lacking);
    phase.store(Phase::closed, std::memory_order_release);
    return;
  }
  if (const char *why = switched_off(); why != nullptr && logs_for_all())
    log_line("%s: all collectives are forwarded to MPI", why);
  if (const MpiLibrary &library = mpi_library(); !library.usable && switched_off() == nullptr)
    warn_once("the MPI library has no function %s, which the shim needs: all collectives are forwarded to it",
              library.missing);
  if (!prepare()) return;
  const InsideShim guard;
  log_versions();
  // A communicator that is ready serves non-blocking collectives from the first one on. Here all ranks are, so that this
  // is the one communicator for which that needs no collective of the program.
  try {
    if (place_processes()) acquire(mpi.world, 0);
  } catch (const std::bad_alloc &) { /* the first collective tries again */
  }
}

void shut_down() {
  if (phase.load(std::memory_order_acquire) == Phase::open) Background::end_all(), end_requests();
  if (phase.exchange(Phase::closed, std::memory_order_acq_rel) != Phase::open) return;
  HandleCache<Communicator>::invalidate_all();
  free_persistent();
  {
    const std::lock_guard lock(communicators_mutex);
    for (Communicator *communicator = all_communicators; communicator != nullptr; communicator = communicator->next)
      close(communicator);
  }
  coll_comm_free_kept();
  int rank = -1;
  mpi.Comm_rank(mpi.world, &rank);
  if (debug_wanted()) log_total(rank), log_heap(rank);
  if (all_ranks_count()) compare_ranks(private_world());
  coll_stats_write(rank);
  // Attributes outlive their keyval: MPI still calls the delete callbacks.
  if (keyval != MPI_KEYVAL_INVALID) mpi.Comm_free_keyval(&keyval);
  if (!has_own_objects) return;
  unload_datatypes();
  free_private_world();
  mpi.Cancel(&own_request);
  mpi.Wait(&own_request, MPI_STATUS_IGNORE);
  mpi.Comm_free(&own_communicator);
}

}  // namespace coll::shim
