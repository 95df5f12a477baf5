// SPDX-License-Identifier: BSD-3-Clause
// A communicator: the placement of its ranks, their shared segment, the bound plans, and the operations in progress.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "comm/bound_plans.h"
#include "comm/living.h"
#include "comm/pieces.h"
#include "comm/segment_layout.h"
#include "comm/settings.h"
#include "comm/spares.h"
#include "exec/bound.h"
#include "exec/channel.h"
#include "exec/latency_blocks.h"
#include "exec/latency_many.h"
#include "exec/run.h"
#include "exec/team.h"
#include "mem/types.h"
#include "sync/lock.h"
#include "topo/hierarchy.h"
#include "topo/machine.h"
#include "tune/select.h"
#include "tune/tuner.h"

namespace coll::exec {
class NeighborExchange;
}
namespace coll::transport {
class Arena;
class LifeRegistration;
class Segment;
}  // namespace coll::transport

namespace coll::comm {

class Scaling;

// One collective call whose arguments have been checked.
struct Call {
  plan::Collective collective = plan::Collective::barrier;
  const void* send = nullptr;
  void* recv = nullptr;
  size_t count = 0;  // elements of the vector, or of each block
  size_t element_bytes = 1;
  int root = 0;
  bool in_place = false;  // alltoall, reduce-scatter: the input is in recv, and send == recv
  exec::Reducer reducer;
  // A scaled sum: `send` is set when the call begins, to the input after its multiplication, see scaled_input().
  std::shared_ptr<const Scaling> scaling;
  const void* input = nullptr;
  std::shared_ptr<const Pieces> pieces;  // of a v-variant, instead of count
  uint64_t signature = 0;                // equal on all ranks if they make the same call; for debug mode
  // Not null: the call is this sparse exchange, and `collective` has no meaning.
  std::shared_ptr<exec::NeighborExchange> exchange;
  const char* function = nullptr;  // of a request: the MPI function, for statistics; see stats.h

  // Whether partial results have a wider type than the data.
  bool rounds() const { return reducer.kernel != nullptr && mem::partial_type(reducer.type) != reducer.type; }
  size_t bytes() const { return count * element_bytes; }
  // Whether there is nothing to do, and every rank knows that from its own arguments.
  bool empty() const {
    if (exchange != nullptr) return false;
    if (pieces == nullptr) return count == 0 && collective != plan::Collective::barrier;
    const bool known = collective == plan::Collective::allgather || collective == plan::Collective::reduce_scatter;
    return known && pieces->total() == 0;
  }
  exec::Arguments arguments() const {
    exec::Arguments arguments{send, recv, &reducer};
    if (pieces != nullptr) {
      arguments.send_offsets = pieces->send_offsets.data();
      arguments.recv_offsets = pieces->recv_offsets.data();
    }
    return arguments;
  }
};

// Memory that grows on demand and is reused by later calls; see scratch.h.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { give_back(); }
  // Returns at least `bytes`, in the arena aligned to a cache line. The previous contents are lost. Throws
  // std::bad_alloc.
  char* reserve(size_t bytes);
  char* memory() const { return memory_; }
  void give_back();

  exec::Reducer reducer;  // for the contents, if their type is not that of the call's data

 private:
  char* memory_ = nullptr;
  size_t bytes_ = 0;
  transport::Arena* arena_ = nullptr;  // the arena of the memory; null: it is from the heap
};

// An allgather among the ranks of the new communicator: send [bytes] -> recv [ranks * bytes]. Returns false on failure.
using Exchange = std::function<bool(const void* send, void* recv, size_t bytes)>;

class Comm;
class Tuning;

// A non-blocking or persistent collective. It keeps its communicator alive from the start to let_go().
class Request {
 public:
  // REQUIRES: a shared_ptr owns comm.
  Request(Comm& comm, const Call& call, bool persistent);
  // Null once the communicator has been destroyed; never null while the request is active.
  std::shared_ptr<Comm> comm() const { return comm_.lock(); }
  bool persistent() const { return persistent_; }
  // Once this is false, the caller may read the status.
  bool active() const {
    const State state = sync::seen(state_);
    return state == State::queued || state == State::running;
  }
  coll_status status() const { return status_; }
  // Returns the status of an inactive request and sets the error message of the thread.
  coll_status result() const;
  // REQUIRES: not active. The communicator may be destroyed here.
  void let_go() { keeps_.reset(); }

 private:
  friend class Comm;
  enum class State : uint8_t { idle, queued, running, complete };
  // Whether the auto-tuner has yet to choose the plan of this queued request.
  bool awaits_plan() const { return running_ == nullptr && call_.exchange == nullptr; }
  // These forward to the run of the plan or to the sparse exchange; see exec/run.h and exec/neighbor_exchange.h.
  size_t staging_bytes(int ranks) const;
  coll_status begin(exec::Channel& channel);
  exec::Run::Progress advance();
  bool idle(sync::WaitStage stage);
  exec::AwaitedPost awaited() const;
  coll_status run_status() const;
  std::weak_ptr<Comm> comm_;
  std::shared_ptr<Comm> keeps_;  // set by the start, reset by let_go()
  Call call_;
  bool persistent_;
  std::atomic<State> state_ = State::idle;  // any thread may advance it
  coll_status status_ = COLL_OK;
  unsigned queue_ = 0;                    // the queue of the last start
  bool has_queue_ = false;                // persistent: started before, so that the next start uses the same queue
  std::shared_ptr<exec::Bound> bound_;    // bound by the first start, or by the last one if the call is auto-tuned
  const exec::Bound* running_ = nullptr;  // null: queued; its tune::Cell has not chosen a plan
  // If the call is auto-tuned: its cell, its number in that cell, its candidate, and when it began.
  tune::Cell* cell_ = nullptr;
  uint64_t number_ = 0;
  tune::Cell::Assignment turn_;
  int64_t began_ns_ = 0;
  exec::Run run_;
  exec::Arguments arguments_;  // of the last start
  double started_ = 0;         // in seconds, if statistics are collected
  Scratch scratch_;
  Scratch scaled_;  // the multiplied input of a scaled sum
};

// Owned by shared_ptr: by the program's handle and by the requests that were started.
class Comm : public std::enable_shared_from_this<Comm> {
 public:
  // Collective. Every rank takes part in the same number of exchanges whatever fails, and all ranks fail together.
  // `names`: the ranks make the further exchange for sockets even if they need none, because ranks of other parts that
  // share the bootstrap may need it. On failure it returns null, with the status and message of the first rank that
  // failed.
  static std::unique_ptr<Comm> create(int rank, int ranks, const Exchange& exchange, bool names, coll_status& status);
  // As create(), but reuses a spare of the same ranks if all have one; the number of exchanges depends on their spares.
  static std::shared_ptr<Comm> create_or_reuse(int rank, int ranks, const Exchange& exchange, coll_status& status);
  ~Comm();
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  // Collective over this communicator. `out` stays null for a negative colour.
  coll_status split(int colour, int key, std::unique_ptr<Comm>& out);

  int rank() const { return team_.rank; }
  int ranks() const { return team_.ranks; }
  // Whether the ranks compare the signatures of their calls.
  bool compares_calls() const { return settings_.debug; }
  const std::string& description() const { return description_; }
  const topo::Hierarchy& hierarchy() const { return hierarchy_; }
  // How this rank accesses its peers, and the traffic so far.
  const exec::Team& team() const { return team_; }
  // Null: auto-tuning is off.
  const Tuning* tuning() const { return tuning_.get(); }

  // Another library's progress, called while a blocking call waits; null for none.
  void set_progress(void (*function)(void*), void* context);

  // Not thread-safe: one thread at a time may call it, and none while another thread starts a request.
  coll_status perform(const Call& call);
  // start(), wait() and test() are thread-safe for different requests.
  coll_status start(Request& request);
  // Advances the active requests without waiting. Does nothing while any thread, the calling one included, holds the
  // lock. Returns whether a request began, moved data or became complete.
  bool try_progress();
  coll_status wait(Request& request);
  // Polls once. Sets `done` if the request is complete and then returns its status.
  coll_status test(Request& request, bool& done);
  // The program has freed its handle: only calls on active requests follow. This rank leaves when the last one is
  // complete.
  void detach();

  // Leaves the communicator, which becomes a spare: no call may follow before wake(). Returns false if the communicator
  // cannot be reused or keeps too much memory; then only the progress callback is removed.
  bool rest();
  // REQUIRES: rest(). Returns false if it cannot be reused, or if a communicator created now would differ from it.
  bool wake(const Surroundings& now);
  // Identifies the communicator on all its ranks.
  uint64_t token() const;

  // The claim by which this process is a rank of its launcher; held as long as the communicator lives.
  std::shared_ptr<void> claim;

  LivingEntry living;  // used by living.cc only

  // Ends all waiting on the communicator, on all ranks. Thread-safe. REQUIRES: `why` is not OK.
  coll_status abort(coll_status why);

  // Called in the child after fork(): this is a copy of the parent's communicator, and its shared memory is not mapped
  // here. From now on every call fails (STATE), and the destructor does not touch shared memory.
  void disown() { failed_ = COLL_ERR_STATE, has_requests_ = false; }
  bool disowned() const { return failed_ == COLL_ERR_STATE; }

 private:
  friend class Request;
  // Held by a thread that starts or advances requests, and by a blocking collective that begins while requests are
  // active, because they share the team and the plans. Without active requests, blocking collectives need no lock:
  // callers never run them concurrently with a start. REQUIRES: not disowned.
  class Locked {
   public:
    explicit Locked(Comm& comm) : comm_(comm), lock_(comm.lock_) {}
    Locked(Comm& comm, std::try_to_lock_t t) : comm_(comm), lock_(comm.lock_, t) {}
    ~Locked() {
      if (lock_) comm_.note_requests();
    }
    explicit operator bool() const { return bool(lock_); }

   private:
    Comm& comm_;
    const std::unique_lock<sync::Lock> lock_;
  };

  struct Queue {
    exec::Channel channel;
    std::deque<Request*> requests;  // the first one runs
  };
  Comm() = default;
  friend class Creation;
  tune::Situation situation(const Call& call) const;
  tune::Forced forced(plan::Collective collective) const;
  void log_decision(const Call& call, const tune::Selection& selected) const;
  void set_latency_paths();
  // If true, the latency paths are those of exec/latency_many.h, latency_blocks.h and latency_reductions.h.
  bool are_many() const { return ranks() > topo::small_group; }
  bool takes_tree() const { return are_many() && !team_.oversubscribed; }
  const exec::Groups& groups();
  const exec::Groups& groups_of(const Call& reduction);
  // Finds the plan that serves a call on a channel, and binds it only if it is not cached.
  coll_status bound_for(const Call& call, int channel, uint8_t candidate, const BoundEntry*& found);
  // Fills the entry; its key and pieces are set already.
  coll_status make_bound(const Call& call, BoundEntry& entry);
  std::string bind(const Call& call, int channel, const tune::Choice& choice, std::shared_ptr<exec::Bound>& bound);
  // `room_bytes`: the staging of the channel.
  const plan::Plan* plan_for(const Call& call, const tune::Choice& choice, size_t room_bytes);
  coll_status run(const exec::Bound& bound, const exec::Arguments& arguments);
  coll_status run(const BoundEntry& entry, const Call& call);
  // Auto-tuning; in tuned.cc.
  bool is_tuned(const Call& call) const {
    return call.exchange == nullptr && call.pieces == nullptr && call.bytes() >= tuned_min_bytes_;
  }
  tune::Cell& cell_of(const Call& call, bool request);
  coll_status perform_tuned(const Call& call);
  coll_status perform_in_trial(const Call& call, tune::Cell& cell);
  // Finds the bound plan of candidate `candidate`; null: the latency path.
  coll_status entry_of(const Call& call, const tune::Cell& cell, uint8_t candidate, const BoundEntry*& entry);
  coll_status perform_with(const Call& call, const BoundEntry* entry);
  bool may_take_latency_path(const Call& call) const;
  coll_status exchange_times(const tune::Cell& cell);
  void begin(const Call& call, tune::Cell& cell, bool request);
  void learn(const Call& call, tune::Cell& cell, int channel);
  void warn_of_drift(const Call& call, size_t bytes, double us);
  void keep_learned() const;
  enum class Readiness : uint8_t { ready, later, failed };
  Readiness prepare_tuned(Request& request, bool at_head);
  void equip(Request& request, const std::shared_ptr<exec::Bound>& bound);
  int rank_of_awaited_times(const Request& request);
  coll_status perform_now(const Call& call);
  coll_status perform_ready(const Call& call);
  coll_status perform_among_requests(const Call& call);
  coll_status perform_timed(const Call& call);
  void count(const Request& request) const;
  void count_spent(const char* which, double began) const;
  coll_status wait_now(Request& request);
  const char* transport() const;
  // Peers' ordinary (unmapped) memory is accessible by kernel-assisted copies only.
  bool copies_only() const { return team_.access_mode == plan::AccessMode::remote && !team_.path.load_store; }
  // Peers access all buffers of this rank in place.
  bool in_place() const { return team_.access_mode == plan::AccessMode::direct || team_.path.load_store; }
  coll_status perform_short(const Call& call);
  coll_status perform_exchange(const Call& call);
  // The status of a completed exchange, with its error message.
  coll_status verdict(const exec::NeighborExchange& exchange) const;
  void perform_alone(const Call& call);
  bool takes_latency_path(const Call& call) const;
  exec::Channel& channel(int index) { return index == 0 ? blocking_ : queues_[size_t(index - 1)].channel; }
  // The next five REQUIRE: Locked.
  void advance();
  void advance(Queue& queue);
  void complete(Queue& queue, coll_status status);
  void choose_hook();
  void note_requests();

  exec::AwaitedPost look_after_peers(const Request& request);
  coll_status report(coll_status status);
  coll_status report_abort() const;
  // Returns ABORTED instead of PEER_DIED if the communicator was aborted.
  coll_status cause_of(coll_status status) const {
    return status == COLL_ERR_PEER_DIED && team_.is_aborted() ? COLL_ERR_ABORTED : status;
  }
  coll_status fail_disowned(Request& request);
  void leave();

  // Begins the statistics and logs the new communicator. `name`: the program's name for it, or null.
  void announce(const char* name) const;
  void write_trace() const;

  exec::Team team_;
  exec::Channel blocking_;
  exec::Run blocking_run_;  // reused for its memory
  Scratch scratch_;         // of blocking collectives
  Scratch scaled_;          // of blocking scaled sums: the multiplied input
  std::array<Queue, request_channels> queues_;
  unsigned next_queue_ = 0;
  std::atomic<unsigned> fruitless_tests_ = 0;
  std::atomic<int64_t> last_look_ns_ = 0;  // when a test last checked that the peers are alive; of sync::now_ns()
  int outstanding_ = 0;
  uint64_t movements_ = 0;  // increases whenever a request begins, moves data or becomes complete
  sync::Lock lock_;
  // Whether requests are outstanding; updated when a thread unlocks.
  std::atomic<bool> has_requests_ = false;
  bool detached_ = false;
  bool left_ = false;
  std::atomic<bool> had_persistent_ = false;  // persistent requests may outlive the handle
  bool keeps_pins_ = false;                   // the kernel module keeps pages of user buffers pinned
  Surroundings surroundings_;                 // at creation
  // Not OK: an operation failed, and flags and staging of the ranks are inconsistent from then on. STATE: disowned.
  std::atomic<coll_status> failed_ = COLL_OK;
  void (*foreign_progress_)(void*) = nullptr;
  void* foreign_context_ = nullptr;

  Settings settings_;
  std::shared_ptr<const topo::Machine> machine_;
  topo::Hierarchy hierarchy_;
  std::string description_;
  size_t cache_bytes_ = 0;
  double cma_times_ = tune::no_copy;
  bool copies_work_ = false;       // kernel-assisted copies work, although data is staged by default
  bool exchanges_names_ = false;   // create() made the exchange for sockets: parts make it, too
  bool scheduler_groups_ = false;  // oversubscribed ranks are in different scheduler groups
  bool huge_pages_ = false;        // all ranks can use them for long buffers
  bool is_traced_ = false;         // some rank has COLL_TRACE: all ranks take the same path
  bool heaps_are_shared_ = false;  // large allocations of the program are probably mapped by all ranks
  tune::Selector selector_;
  std::array<size_t, plan::collectives> latency_bytes_{};
  // For many ranks with a core each: the groups of the tree of short broadcasts, and this rank's place in the barrier
  // tree.
  topo::Hierarchy bcast_groups_;
  exec::TreeNeighbors barrier_tree_;
  // For the latency paths of many ranks; set by the first call that needs them. Empty until then.
  exec::Groups groups_;
  exec::Groups aligned_groups_, single_ranks_;  // for reductions, see groups_of()
  std::optional<exec::Forwarding> forwarding_;
  std::shared_ptr<transport::Segment> segment_;                // null while the communicator is not complete
  std::unique_ptr<transport::LifeRegistration> registration_;  // of this rank's life mark in the segment

  std::unordered_map<std::string, std::unique_ptr<plan::Plan>> plans_;
  BoundPlans bounds_;
  std::unique_ptr<Tuning> tuning_;  // null: auto-tuning is off
  size_t tuned_min_bytes_ = SIZE_MAX;
  bool took_latency_path_ = false;                         // of the last tuned blocking call
  std::array<uint8_t, plan::collectives> stale_trials_{};  // consecutive ones; warn_of_drift()
};

}  // namespace coll::comm
