// SPDX-License-Identifier: BSD-3-Clause
// Non-blocking and persistent collectives. Requests are assigned to the channels round-robin in the order in which they
// are started first, which is the same on every rank. On one channel they run one after the other. A persistent request
// keeps its channel: it runs once at a time, and would bind a plan to each channel and touch the staging of all.
#include <new>

#include "comm/comm.h"
#include "comm/long_buffers.h"
#include "comm/scratch.h"
#include "comm/stats.h"
#include "comm/tuning.h"
#include "exec/neighbor_exchange.h"
#include "exec/wait.h"
#include "sync/clock.h"
#include "sync/system_wait.h"
#include "transport/segment.h"

namespace coll::comm {

Request::Request(Comm& comm, const Call& call, bool persistent)
    : comm_(comm.weak_from_this()), call_(call), persistent_(persistent) {
  if (persistent) sync::post(comm.had_persistent_, true);
}

coll_status Request::result() const {
  if (status_ == COLL_OK) return COLL_OK;
  if (const auto comm = comm_.lock(); comm != nullptr && status_ == COLL_ERR_ABORTED) return comm->report_abort();
  const char* const text = unusable_text(status_);
  return failure(status_,
                 text != nullptr ? text : std::string("the collective of the request failed: ") + status_text(status_));
}

// The blocking call keeps the communicator locked while it waits, and advances the requests itself.
coll_status Comm::perform_among_requests(const Call& call) {
  const Locked locked(*this);
  return stats::wanted() ? perform_timed(call) : perform_now(call);
}

// A thread calls this last before it unlocks.
void Comm::note_requests() {
  const bool has = outstanding_ > 0;
  if (has == has_requests_.load(std::memory_order_relaxed)) return;
  comm::note_requests(*this, has);
  sync::post(has_requests_, has);
}

coll_status Comm::start(Request& request) {
  if (request.active()) return failure(COLL_ERR_STATE, "coll_start: the request is active; wait for it first");
  if (disowned()) return report(COLL_ERR_STATE);
  const double began = stats::wanted() ? sync::now_seconds() : 0;
  if (Call& call = request.call_; call.scaling != nullptr && !call.empty()) [[unlikely]]
    call.send = scaled_input(call, ranks(), request.scaled_);
  const Locked locked(*this);
  if (failed_ != COLL_OK) return report(failed_);
  if (detached_) return failure(COLL_ERR_STATE, freed_text);
  const Call& call = request.call_;
  request.status_ = COLL_OK;
  if (ranks() == 1 && call.exchange != nullptr) call.exchange->copy_own(), request.status_ = verdict(*call.exchange);
  else if (ranks() == 1) perform_alone(call);
  if (ranks() == 1 || call.empty()) {
    request.state_ = Request::State::complete;
    return COLL_OK;
  }
  const unsigned turn = request.has_queue_ ? request.queue_ : next_queue_ % request_channels;
  request.queue_ = turn;
  request.running_ = nullptr;
  if (call.exchange == nullptr) {
    if (settings_.huge_pages) use_long_buffers(call, rank(), ranks());
    if (is_tuned(call) && tuning_->is_on()) {
      request.cell_ = &cell_of(call, true);
      request.number_ = request.cell_->started++;
      if (prepare_tuned(request, false) == Readiness::failed) return request.status_;
    } else {
      if (request.bound_ == nullptr) {
        const BoundEntry* entry;
        coll_status status = bound_for(call, int(turn) + 1, 0, entry);
        if (status != COLL_OK) return status;
        request.bound_ = entry->bound;
      }
      equip(request, request.bound_);
    }
  }
  if (stats::wanted()) [[unlikely]]
    request.started_ = began, request.call_.function = stats::function();
  queues_[turn].requests.push_back(&request);
  // From here on nothing throws. A start that failed above has not advanced next_queue_, as it has not on the peers.
  if (!request.has_queue_) next_queue_++;
  request.has_queue_ = request.persistent_;
  request.keeps_ = shared_from_this();
  request.state_ = Request::State::queued;
  outstanding_++;
  choose_hook();
  advance();
  if (began != 0) [[unlikely]]
    count_spent("coll_start", began);
  return COLL_OK;
}

// Gives a request what it needs to run a plan: arguments, scratch memory and room for the run.
void Comm::equip(Request& request, const std::shared_ptr<exec::Bound>& bound) {
  const Call& call = request.call_;
  const size_t element_bytes = bound->element_bytes();
  request.arguments_ = needs_scratch(call, element_bytes)
                           ? separate_buffers(call, element_bytes, rank(), ranks(), request.scratch_)
                           : call.arguments();
  request.run_.reserve(*bound);
  request.running_ = bound.get();
}

void Comm::set_progress(void (*function)(void*), void* context) {
  if (disowned()) return;
  const Locked locked(*this);
  foreign_progress_ = function;
  foreign_context_ = context;
  choose_hook();
}

// Sets the function that a waiting blocking operation calls. With no requests and no callback it is null, so that the
// operation may block. If requests are active, the waiting thread is Locked.
void Comm::choose_hook() {
  team_.progress_context = this;
  team_.progress_others = nullptr;
  if (outstanding_ > 0 || foreign_progress_ != nullptr)
    team_.progress_others = [](void* context) {
      Comm& comm = *static_cast<Comm*>(context);
      comm.advance();
      if (comm.foreign_progress_ != nullptr) comm.foreign_progress_(comm.foreign_context_);
    };
}

bool Comm::try_progress() {
  if (disowned()) return false;
  const Locked locked(*this, std::try_to_lock);
  if (!locked) return false;
  const uint64_t before = movements_;
  advance();
  return movements_ != before;
}

void Comm::advance() {
  team_.make_refused_copies();
  for (Queue& queue : queues_)
    if (!queue.requests.empty()) team_.is_aborted() ? complete(queue, COLL_ERR_ABORTED) : advance(queue);
}

void Comm::advance(Queue& queue) {
  while (!queue.requests.empty()) {
    Request& request = *queue.requests.front();
    if (request.state_ == Request::State::queued) {
      if (request.awaits_plan()) [[unlikely]] {
        Readiness readiness;
        try {
          readiness = prepare_tuned(request, true);
        } catch (const std::bad_alloc&) {
          team_.fail(), readiness = Readiness::failed, request.status_ = COLL_ERR_NO_MEMORY;
        }
        if (readiness == Readiness::failed) return complete(queue, request.status_);
        if (readiness == Readiness::later) return;
      }
      if (!queue.channel.may_begin(request.staging_bytes(ranks()))) return;
      request.state_ = Request::State::running;
      if (request.turn_.sample >= 0) request.began_ns_ = sync::now_ns();
      coll_status status;
      try {
        status = request.begin(queue.channel);
      } catch (const std::bad_alloc&) { team_.fail(), status = COLL_ERR_NO_MEMORY; }
      if (status != COLL_OK) return complete(queue, status);
    }
    const exec::Run::Progress progress = request.advance();
    movements_ += progress != exec::Run::Progress::blocked;
    switch (progress) {
      case exec::Run::Progress::blocked: return;
      case exec::Run::Progress::moved: continue;
      case exec::Run::Progress::done: complete(queue, COLL_OK); continue;
      case exec::Run::Progress::failed: return complete(queue, request.run_status());
    }
  }
}

void Comm::complete(Queue& queue, coll_status status) {
  if (status != COLL_OK) failed_ = status = cause_of(status);
  do {
    Request& request = *queue.requests.front();
    request.status_ = status;
    if (const auto& exchange = request.call_.exchange; exchange != nullptr && status == COLL_OK)
      request.status_ = exchange->verdict();
    if (request.turn_.sample >= 0 && status == COLL_OK)
      request.cell_->record(request.turn_, request.began_ns_, sync::now_ns());
    if (stats::wanted()) [[unlikely]]
      count(request);  // if it throws, a later call completes the request
    queue.requests.pop_front();
    if (status == COLL_OK && request.call_.exchange == nullptr)
      if (const size_t bytes = request.running_->element_bytes(); needs_scratch(request.call_, bytes))
        put_back(request.call_, bytes, rank(), ranks(), request.scratch_);
    outstanding_--;
    // The last access to the request: another thread may be waiting for it and then free it.
    sync::post(request.state_, Request::State::complete);
    // The requests behind a failed one would see its flags, so they fail, too.
  } while (status != COLL_OK && !queue.requests.empty());
  choose_hook();
  if (detached_ && outstanding_ == 0) leave();
}

void Comm::detach() {
  if (disowned()) return;
  set_progress(nullptr, nullptr);
  const Locked locked(*this);
  detached_ = true;
  if (outstanding_ == 0) leave();
}

// This rank posts nothing afterwards. Its staged data stays in the segment for slower peers, which have it mapped; the
// kernel frees the segment with the last mapping.
void Comm::leave() {
  if (left_) return;
  left_ = true;
  sync::post(team_.members[size_t(rank())].state->state, exec::RankState::left);
  team_.posted();
}

bool Comm::rest() {
  if (disowned() || ranks() == 1) return false;
  set_progress(nullptr, nullptr);
  const Locked locked(*this);
  const bool usable = failed_ == COLL_OK && !team_.is_aborted() && !detached_ && outstanding_ == 0;
  if (!usable || had_persistent_ || keeps_pins_ || claim != nullptr || team_.record != nullptr) return false;
  size_t staging_bytes = blocking_.payloads_touched();
  for (int c = 0; c < channel_count; c++)
    for (const exec::StagingRing& ring : channel(c).rings) staging_bytes += ring.touched[0] + ring.touched[1];
  if (staging_bytes > most_spare_bytes(ranks())) return false;
  scratch_.give_back();
  scaled_.give_back();
  leave();
  return true;
}

// The rank is marked alive before any peer can wait for it again, because an exchange follows.
bool Comm::wake(const Surroundings& now) {
  if (disowned() || !(now == surroundings_) || team_.is_aborted()) return false;
  left_ = false;
  team_.traffic = {};
  sync::post(team_.members[size_t(rank())].state->state, exec::RankState::alive);
  return true;
}

uint64_t Comm::token() const { return segment_->address().token.words[0]; }

coll_status Comm::abort(coll_status why) {
  if (disowned()) return report(COLL_ERR_STATE);
  team_.abort(why);
  // This rank's next call fails at once, so that its peers wait for this rank and then see the abort.
  coll_status usable = COLL_OK;
  failed_.compare_exchange_strong(usable, COLL_ERR_ABORTED);
  return COLL_OK;
}

coll_status Comm::report_abort() const {
  const exec::Abort abort = team_.aborted();
  return failure(COLL_ERR_ABORTED, "rank " + std::to_string(abort.by_rank) + " aborted the communicator (" +
                                       status_text(abort.why) + "); it is unusable and must be freed");
}

// For a request of the parent process, which never completes in the child.
coll_status Comm::fail_disowned(Request& request) {
  if (request.active()) {
    request.status_ = failed_;
    request.state_ = Request::State::complete;
  }
  return report(request.status_);
}

coll_status Comm::wait(Request& request) {
  if (disowned()) [[unlikely]]
    return fail_disowned(request);
  if (!stats::wanted()) [[likely]]
    return wait_now(request);
  const double began = sync::now_seconds();
  const coll_status status = wait_now(request);
  count_spent("coll_wait", began);
  return status;
}

coll_status Comm::wait_now(Request& request) {
  exec::Wait wait(team_);
  while (request.active()) {
    try_progress();
    if (!request.active()) break;
    const sync::WaitStage stage = wait.pause([&] { return look_after_peers(request).rank; });
    if (stage == sync::WaitStage::spin && !wait.looks()) continue;
    if (foreign_progress_ != nullptr) foreign_progress_(foreign_context_);
    if (stage == sync::WaitStage::spin) continue;
    const exec::AwaitedPost post = look_after_peers(request);
    if (stage != sync::WaitStage::block || !request.active()) continue;
    if (wait.stays_awake()) continue;
    // Other threads may lock the communicator during the sleep. Without a known post, another thread holds the lock, or
    // the request waits for one that another channel serves.
    if (post.sequence != nullptr) team_.sleep(*post.sequence, post.value, post.rank, exec::nap_us);
    else sync::sleep_us(exec::nap_us);
  }
  return report(request.status_);
}

// Checks the first operation of each channel, running or waiting to begin, and fails it if it waits for a rank that has
// exited. Returns the post that the channel of `request` waits for, if it is known.
exec::AwaitedPost Comm::look_after_peers(const Request& request) {
  exec::AwaitedPost awaited;
  const Locked locked(*this, std::try_to_lock);
  if (!locked) return awaited;
  for (Queue& queue : queues_) {
    if (queue.requests.empty()) continue;
    Request& first = *queue.requests.front();
    exec::AwaitedPost post;
    if (first.state_ == Request::State::running) {
      if (!first.idle(sync::WaitStage::yield)) complete(queue, first.run_status());
      else post = first.awaited();
    } else if (first.awaits_plan()) {
      const int missing = rank_of_awaited_times(first), channel = int(&queue - queues_.data()) + 1;
      if (missing < 0) continue;
      const std::atomic<uint64_t>& number = tuning_->line(channel, missing).number;
      post = {&number, tuning_->number(channel), missing};
      if (team_.will_never_post(number, post.value, missing)) complete(queue, COLL_ERR_PEER_DIED);
    } else if (const size_t bytes = first.staging_bytes(ranks());
               !queue.channel.may_begin(bytes) && !queue.channel.look_after_peers(bytes, post)) {
      complete(queue, COLL_ERR_PEER_DIED);
    }
    if (&queue == &queues_[request.queue_]) awaited = post;
  }
  return awaited;
}

// A caller that tests in a loop waits as well, so every 64th unsuccessful test checks that the peers are alive, and so
// does the first one 50 ms after the last check. Oversubscribed ranks yield at every 64th: a peer may need this core.
coll_status Comm::test(Request& request, bool& done) {
  constexpr unsigned tests_between_looks = 64;
  constexpr int64_t longest_between_looks_ns = 50'000'000;
  if (disowned()) [[unlikely]]
    return done = true, fail_disowned(request);
  try_progress();
  if (request.active()) {
    const bool in_turn = ++fruitless_tests_ % tests_between_looks == 0;
    const int64_t now = sync::now_ns();
    if (in_turn || now - last_look_ns_.load(std::memory_order_relaxed) >= longest_between_looks_ns) {
      last_look_ns_.store(now, std::memory_order_relaxed);
      look_after_peers(request);
    }
    if (in_turn && team_.oversubscribed) sync::yield();
  }
  done = !request.active();
  return done ? report(request.status_) : COLL_OK;
}

}  // namespace coll::comm
