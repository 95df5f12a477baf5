// SPDX-License-Identifier: BSD-3-Clause
// A communicator: who is where, one segment of shared memory for all ranks, plans kept ready, operations under way.
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

// One collective call, checked.
struct Call {
  plan::Collective collective = plan::Collective::barrier;
  const void* send = nullptr;
  void* recv = nullptr;
  size_t count = 0;  // of the vector, or of every piece
  size_t element_bytes = 1;
  int root = 0;
  bool in_place = false;  // alltoall, reduce-scatter: the input lies in recv; send is recv then
  exec::Reducer reducer;
  std::shared_ptr<const Pieces> pieces;  // of a v-form, instead of count
  uint64_t signature = 0;                // equal on all ranks when they call alike; for debug mode
  // A sparse exchange, whatever `collective` says.
  std::shared_ptr<exec::NeighborExchange> exchange;
  const char* function = nullptr;  // of a request: for statistics, as in stats.h

  // Partial results have a wider type than the data.
  bool rounds() const { return reducer.kernel != nullptr && mem::partial_type(reducer.type) != reducer.type; }
  size_t bytes() const { return count * element_bytes; }
  // Nothing is to be done, and every rank knows it.
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

// Memory that grows and is kept; see scratch.h.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { give_back(); }
  // Aligned to a cache line in the arena. What was there before is lost. Throws std::bad_alloc.
  char* take(size_t bytes);
  char* memory() const { return memory_; }
  void give_back();

  exec::Reducer reducer;  // of what lies there, where that has another type than the call's data

 private:
  char* memory_ = nullptr;
  size_t bytes_ = 0;
  transport::Arena* arena_ = nullptr;  // that it is from; null: from the heap
};

// An allgather among the ranks of the communicator to be: send [bytes] -> recv [ranks * bytes]. False on failure.
using Exchange = std::function<bool(const void* send, void* recv, size_t bytes)>;

class Comm;
class Tuning;

// A non-blocking or persistent collective. Its communicator lives at least from the start to let_go().
class Request {
 public:
  // REQUIRES: a shared_ptr owns comm.
  Request(Comm& comm, const Call& call, bool persistent);
  // Null once the communicator has ended. Never null of one that is active.
  std::shared_ptr<Comm> comm() const { return comm_.lock(); }
  bool persistent() const { return persistent_; }
  // False: the status can be read.
  bool active() const {
    const State state = sync::seen(state_);
    return state == State::queued || state == State::running;
  }
  coll_status status() const { return status_; }
  // Of one that is not active: its status, with a text.
  coll_status result() const;
  // The caller knows that it is not active. The communicator may end here.
  void let_go() { keeps_.reset(); }

 private:
  friend class Comm;
  enum class State : uint8_t { idle, queued, running, complete };
  // Of a tuned call, queued: its plan is not chosen yet.
  bool awaits_its_turn() const { return running_ == nullptr && call_.exchange == nullptr; }
  // Of the run, a plan's or an exchange's; see there.
  size_t staging_bytes(int ranks) const;
  coll_status begin(exec::Channel& channel);
  exec::Run::Progress advance();
  bool idle(sync::WaitStage stage);
  exec::AwaitedPost awaited() const;
  coll_status run_status() const;
  std::weak_ptr<Comm> comm_;
  std::shared_ptr<Comm> keeps_;  // from the start on
  Call call_;
  bool persistent_;
  std::atomic<State> state_ = State::idle;  // any thread may advance it
  coll_status status_ = COLL_OK;
  unsigned queue_ = 0;                                                // where it was started last
  std::array<std::shared_ptr<exec::Bound>, request_channels> bound_;  // by channel, made when first needed
  const exec::Bound* running_ = nullptr;  // null: it is queued, and waits for its turn in its cell
  // If auto-tuning serves it: its cell, its number there, what it does, and when it began.
  tune::Cell* cell_ = nullptr;
  uint64_t number_ = 0;
  tune::Cell::Turn turn_;
  int64_t began_ns_ = 0;
  exec::Run run_;
  exec::Arguments arguments_;  // of the last start
  double started_ = 0;         // in seconds, when statistics are wanted
  Scratch scratch_;
};

// A shared_ptr owns it: the handle of the program, and the requests that it has started.
class Comm : public std::enable_shared_from_this<Comm> {
 public:
  // All ranks call it alike; every rank takes part in the same number of exchanges whatever goes wrong, and all fail
  // together. `names`: they exchange names of sockets in any case, because others who take part may need them. On failure
  // null, with the status and text of the first rank that failed.
  static std::unique_ptr<Comm> create(int rank, int ranks, const Exchange& exchange, bool names, coll_status& status);
  // As create(), or a spare of the same ranks; the number of exchanges depends on what the ranks have kept.
  static std::shared_ptr<Comm> create_or_reuse(int rank, int ranks, const Exchange& exchange, coll_status& status);
  ~Comm();
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  // Over all ranks of this communicator; *out stays null for a negative colour.
  coll_status split(int colour, int key, std::unique_ptr<Comm>& out);

  int rank() const { return team_.rank; }
  int ranks() const { return team_.ranks; }
  // Whether it looks at the calls' signatures.
  bool compares_calls() const { return settings_.debug; }
  const std::string& description() const { return description_; }
  const topo::Hierarchy& hierarchy() const { return hierarchy_; }
  // How it reaches its peers, and what that has moved so far.
  const exec::Team& team() const { return team_; }
  // Null: it is off.
  const Tuning* tuning() const { return tuning_.get(); }

  // Another library's progress, called while a blocking call waits; null for none.
  void set_progress(void (*function)(void*), void* context);

  // By one thread at a time, and by none while another one starts a request.
  coll_status perform(const Call& call);
  // These by any threads, for different requests.
  coll_status start(Request& request);
  // Advances whatever is under way; never waits. Does nothing while another thread is inside, or this one.
  void try_progress();
  coll_status wait(Request& request);
  // One look; `done` when the request is complete, and then its status.
  coll_status test(Request& request, bool& done);
  // The program has freed its handle: no call but those on active requests follows. This rank leaves when the last one is
  // complete.
  void detach();

  // Leaves, and may come back by wake(): no call follows until then. False, and nothing has changed, when it cannot serve
  // again or keeps much memory.
  bool rest();
  // After rest(). False when another communicator would come out now.
  bool wake(const Surroundings& now);
  // Names it to all its ranks.
  uint64_t token() const;

  // What makes this process a rank of its launcher; kept as long as the communicator.
  std::shared_ptr<void> claim;

  LivingPlace living;  // of living.h alone

  // Ends all waiting on the communicator, on all ranks. By any thread. `why` is not OK.
  coll_status abort(coll_status why);

  // In a child after fork(): this is a copy of the parent's communicator, whose shared memory is not mapped here. From
  // now on every call fails (STATE), and the destructor touches nothing that is shared.
  void disown() { failed_ = COLL_ERR_STATE, has_requests_ = false; }
  bool disowned() const { return failed_ == COLL_ERR_STATE; }

 private:
  friend class Request;
  // Held by a thread that starts or advances requests, and by a blocking collective that begins while requests are active:
  // they share the team and the plans. Without active requests there is nothing to advance, and blocking collectives,
  // which exclude starts, need no lock. REQUIRES: not disowned.
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
  // Latency paths of so many ranks are those of exec/latency_many.h, latency_blocks.h and latency_reductions.h.
  bool are_many() const { return ranks() > topo::small_group; }
  bool takes_tree() const { return are_many() && !team_.oversubscribed; }
  const exec::Groups& groups();
  const exec::Groups& groups_of(const Call& reduction);
  // The plan that serves a call on a channel, bound anew only when it is not at hand.
  coll_status bound_for(const Call& call, int channel, uint8_t way, const BoundEntry*& found);
  // All of the entry but its key and pieces.
  coll_status make_bound(const Call& call, BoundEntry& entry);
  std::string bind(const Call& call, int channel, const tune::Choice& choice, std::shared_ptr<exec::Bound>& bound);
  // For a channel with so much room for staging.
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
  // The plan of a way; null: the latency path.
  coll_status entry_of(const Call& call, const tune::Cell& cell, uint8_t way, const BoundEntry*& entry);
  coll_status perform_with(const Call& call, const BoundEntry* entry);
  bool may_take_latency_path(const Call& call) const;
  coll_status exchange_times(const tune::Cell& cell);
  void begin(const Call& call, tune::Cell& cell, bool request);
  void learn(const Call& call, tune::Cell& cell, int channel);
  void tell_drift(const Call& call, size_t bytes, double us);
  void keep_learned() const;
  enum class Turned : uint8_t { ready, later, failed };
  Turned take_turn(Request& request, bool at_head);
  void equip(Request& request, const std::shared_ptr<exec::Bound>& bound);
  int awaits_times_of(const Request& request);
  coll_status perform_now(const Call& call);
  coll_status perform_among_requests(const Call& call);
  coll_status perform_timed(const Call& call);
  void count(const Request& request) const;
  void count_spent(const char* which, double began) const;
  coll_status wait_now(Request& request);
  const char* transport() const;
  // Peers' ordinary memory is reached by copies of the kernel alone.
  bool copies_only() const { return team_.reach == exec::Reach::remote && !team_.abilities.load_store; }
  // Peers access all buffers of this rank in place.
  bool in_place() const { return team_.reach == exec::Reach::direct || team_.abilities.load_store; }
  coll_status perform_short(const Call& call);
  coll_status perform_exchange(const Call& call);
  // What a rank is told of an exchange that is over.
  coll_status verdict(const exec::NeighborExchange& exchange) const;
  void perform_alone(const Call& call);
  bool takes_latency_path(const Call& call) const;
  exec::Channel& channel(int index) { return index == 0 ? blocking_ : queues_[size_t(index - 1)].channel; }
  // REQUIRES of all of them: Locked.
  void advance();
  void advance(Queue& queue);
  void complete(Queue& queue, coll_status status);
  void choose_hook();
  void note_requests();

  exec::AwaitedPost look_after_peers(const Request& request);
  coll_status report(coll_status status);
  coll_status told_of_abort() const;
  // ABORTED instead of PEER_DIED where that is why.
  coll_status cause_of(coll_status status) const {
    return status == COLL_ERR_PEER_DIED && team_.is_aborted() ? COLL_ERR_ABORTED : status;
  }
  coll_status fail_disowned(Request& request);
  void leave();

  // In statistics and the log, once it is complete. `name`: the program's for it; null: none.
  void announce(const char* name) const;
  void write_trace() const;

  exec::Team team_;
  exec::Channel blocking_;
  exec::Run blocking_run_;  // kept for its memory
  Scratch scratch_;         // of blocking collectives
  std::array<Queue, request_channels> queues_;
  unsigned next_queue_ = 0;
  std::atomic<unsigned> fruitless_tests_ = 0;
  int outstanding_ = 0;
  sync::Lock lock_;
  // Whether requests are outstanding, as the last thread that was Locked has left it.
  std::atomic<bool> has_requests_ = false;
  bool detached_ = false;
  bool left_ = false;
  std::atomic<bool> had_persistent_ = false;  // requests; they may outlive the handle
  bool keeps_pins_ = false;                   // of users' memory, in the kernel module
  Surroundings surroundings_;                 // when it was made
  // Of the executor: flags and staging are out of step from then on. STATE: disowned.
  std::atomic<coll_status> failed_ = COLL_OK;
  void (*foreign_progress_)(void*) = nullptr;
  void* foreign_context_ = nullptr;

  Settings settings_;
  std::shared_ptr<const topo::Machine> machine_;
  topo::Hierarchy hierarchy_;
  std::string description_;
  size_t cache_bytes_ = 0;
  double cma_times_ = tune::no_copy;
  bool copies_work_ = false;       // kernel-assisted ones, although staging is the rule
  bool exchanges_names_ = false;   // create() has: parts do, too
  bool groups_apart_ = false;      // ranks that share cores are of several scheduling groups
  bool huge_pages_ = false;        // all ranks get them for long buffers in use
  bool heaps_are_shared_ = false;  // large memory of the program's is mapped by all, most likely
  tune::Selector selector_;
  std::array<size_t, plan::collectives> latency_bytes_{};
  // Of many ranks that each have a core: the groups down which short broadcasts go, and the place in the barriers' tree.
  topo::Hierarchy bcast_groups_;
  exec::TreePlace barrier_place_;
  // Of the latency paths of many ranks for blocks, once there was such a call: groups(), and what alltoall needs.
  exec::Groups groups_;
  exec::Groups aligned_groups_, single_ranks_;  // the same for reductions
  std::optional<exec::Forwarding> forwarding_;
  std::shared_ptr<transport::Segment> segment_;                // null while the communicator is not complete
  std::unique_ptr<transport::LifeRegistration> registration_;  // of this rank's mark in it

  std::unordered_map<std::string, std::unique_ptr<plan::Plan>> plans_;
  BoundPlans bounds_;
  std::unique_ptr<Tuning> tuning_;  // null: off
  size_t tuned_min_bytes_ = SIZE_MAX;
  bool took_latency_path_ = false;                         // the last tuned blocking call
  std::array<uint8_t, plan::collectives> stale_trials_{};  // in succession; tell_drift()
};

}  // namespace coll::comm
