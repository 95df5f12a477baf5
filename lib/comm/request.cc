// SPDX-License-Identifier: BSD-3-Clause
// Non-blocking and persistent collectives. Requests go to the channels in turn, by the order in which they are
// started, which is the same on every rank; on a channel they run one after the other.
#include <new>

#include "comm/comm.h"
#include "comm/long_buffers.h"
#include "comm/scratch.h"
#include "comm/stats.h"
#include "exec/wait.h"
#include "sync/system_wait.h"

namespace coll::comm {

Request::Request(Comm& comm, const Call& call, bool persistent)
    : comm_(comm.weak_from_this()), call_(call), persistent_(persistent) {}

coll_status Request::result() const {
  if (status_ == COLL_OK) return COLL_OK;
  const char* const text = unusable_text(status_);
  return failure(status_,
                 text != nullptr ? text : std::string("the collective of the request failed: ") + status_text(status_));
}

coll_status Comm::start(Request& request) {
  if (request.active()) return failure(COLL_ERR_STATE, "coll_start: the request is active; wait for it first");
  if (failed_ != COLL_OK) return told(failed_);
  if (detached_) return failure(COLL_ERR_STATE, freed_text);
  const Call& call = request.call_;
  request.status_ = COLL_OK;
  if (ranks() == 1) perform_alone(call);
  if (ranks() == 1 || call.empty()) {
    request.state_ = Request::State::complete;
    return COLL_OK;
  }
  if (settings_.huge_pages) use_long_buffers(call, rank(), ranks());
  const unsigned turn = next_queue_ % request_channels;
  std::shared_ptr<exec::Bound>& bound = request.bound_[turn];
  if (bound == nullptr) {
    const BoundEntry* entry;
    coll_status status = bound_for(call, int(turn) + 1, false, entry);
    if (status != COLL_OK) return status;
    bound = entry->bound;
  }
  request.arguments_ = needs_scratch(call) ? apart(call, rank(), ranks(), request.scratch_) : call.arguments();
  request.running_ = bound.get();
  request.run_.reserve(*bound);
  if (stats::wanted()) [[unlikely]]
    request.started_ = stats::now_seconds();
  queues_[turn].requests.push_back(&request);
  // From here on nothing throws. A start that failed has not taken its turn: the peers' turns would be others.
  next_queue_++;
  request.keeps_ = shared_from_this();
  request.state_ = Request::State::queued;
  outstanding_++;
  choose_hook();
  progress();
  return COLL_OK;
}

void Comm::set_progress(void (*function)(void*), void* context) {
  foreign_progress_ = function;
  foreign_context_ = context;
  choose_hook();
}

// What a waiting operation does besides: nothing, where there is nothing to do, so that it may sleep.
void Comm::choose_hook() {
  team_.progress_context = this;
  team_.progress_others = nullptr;
  if (outstanding_ > 0 || foreign_progress_ != nullptr)
    team_.progress_others = [](void* context) {
      Comm& comm = *static_cast<Comm*>(context);
      comm.progress();
      if (comm.foreign_progress_ != nullptr) comm.foreign_progress_(comm.foreign_context_);
    };
}

void Comm::progress() {
  for (Queue& queue : queues_)
    if (!queue.requests.empty()) advance(queue);
}

void Comm::advance(Queue& queue) {
  while (!queue.requests.empty()) {
    Request& request = *queue.requests.front();
    if (request.state_ == Request::State::queued) {
      if (!queue.channel.may_begin(request.running_->plan().staging_bytes)) return;
      request.state_ = Request::State::running;
      coll_status status;
      try {
        status = request.run_.begin(*request.running_, queue.channel, request.arguments_);
      } catch (const std::bad_alloc&) { team_.fail(), status = COLL_ERR_NO_MEMORY; }
      if (status != COLL_OK) return complete(queue, status);
    }
    switch (request.run_.advance()) {
      case exec::Run::Progress::blocked: return;
      case exec::Run::Progress::moved: continue;
      case exec::Run::Progress::done: complete(queue, COLL_OK); continue;
      case exec::Run::Progress::failed: return complete(queue, request.run_.status());
    }
  }
}

void Comm::complete(Queue& queue, coll_status status) {
  if (status != COLL_OK) failed_ = status;
  do {
    Request& request = *queue.requests.front();
    queue.requests.pop_front();
    if (status == COLL_OK && needs_scratch(request.call_)) put_back(request.call_, rank(), request.scratch_);
    request.status_ = status;
    request.state_ = Request::State::complete;
    if (stats::wanted()) [[unlikely]]
      count(request);
    outstanding_--;
    // Those behind one that failed would find its flags: they fail with it.
  } while (status != COLL_OK && !queue.requests.empty());
  choose_hook();
  if (detached_ && outstanding_ == 0) leave();
}

void Comm::detach() {
  detached_ = true;
  set_progress(nullptr, nullptr);
  if (outstanding_ == 0 && !disowned()) leave();
}

// From then on this rank posts nothing. What it has staged stays in the segment, which slower peers have mapped; the kernel
// frees it with the last mapping.
void Comm::leave() {
  if (left_) return;
  left_ = true;
  team_.members[size_t(rank())].state->state.store(exec::RankState::left, std::memory_order_release);
  team_.posted();
}

// Of the parent: it will not complete here.
coll_status Comm::fail_disowned(Request& request) {
  if (request.active()) {
    request.status_ = failed_;
    request.state_ = Request::State::complete;
  }
  return told(request.status_);
}

coll_status Comm::wait(Request& request) {
  if (disowned()) [[unlikely]]
    return fail_disowned(request);
  exec::Wait wait(team_);
  while (request.active()) {
    progress();
    if (!request.active()) break;
    const sync::Rung rung =
        wait.climb([&] { return request.state_ == Request::State::running ? request.run_.awaited() : -1; });
    if (rung == sync::Rung::spin && wait.rounds() % exec::rounds_between_looks != 0) continue;
    if (foreign_progress_ != nullptr) foreign_progress_(foreign_context_);
    if (rung == sync::Rung::spin) continue;
    look_after_peers(rung);
  }
  return told(request.status_);
}

// Whichever operation runs first on a channel, or waits to begin, may be stuck behind a rank that has gone.
void Comm::look_after_peers(sync::Rung rung) {
  for (Queue& queue : queues_) {
    if (queue.requests.empty()) continue;
    Request& first = *queue.requests.front();
    if (first.state_ == Request::State::running) {
      if (!first.run_.idle(rung)) complete(queue, first.run_.status());
    } else if (const size_t bytes = first.running_->plan().staging_bytes;
               !queue.channel.may_begin(bytes) && !queue.channel.idle(bytes, rung)) {
      complete(queue, COLL_ERR_PEER_DIED);
    }
  }
}

// Whoever tests in a loop waits as well: now and then see that the peers live, and let them run.
coll_status Comm::test(Request& request, bool& done) {
  constexpr unsigned tests_between_looks = 64;
  if (disowned()) [[unlikely]]
    return done = true, fail_disowned(request);
  progress();
  if (request.active() && ++fruitless_tests_ % tests_between_looks == 0) {
    look_after_peers(sync::Rung::yield);
    if (team_.patience.vain_yields != 0) sync::yield();
  }
  done = !request.active();
  return done ? told(request.status_) : COLL_OK;
}

}  // namespace coll::comm
