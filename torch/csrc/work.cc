// SPDX-License-Identifier: BSD-3-Clause
#include "work.h"

#include <thread>

#include <c10/core/InferenceMode.h>

namespace torch_coll {
namespace {

// Buffers of failed collectives; never freed (invariant 3).
void hold_for_ever(std::vector<at::Tensor> tensors) {
  static std::mutex mutex;
  static auto* const held = new std::vector<at::Tensor>;
  const std::lock_guard<std::mutex> lock(mutex);
  for (at::Tensor& tensor : tensors) held->push_back(std::move(tensor));
}

}  // namespace

Work::Work(std::shared_ptr<Group> group, c10d::OpType type, const char* title, const c10::optional<Tensors>& inputs,
           Plan plan, c10::IValue outputs, uint64_t sequence, Milliseconds timeout)
    : c10d::Work(group->rank(), type, title, inputs),
      group_(std::move(group)),
      plan_(std::move(plan)),
      outputs_(std::move(outputs)),
      future_(c10::make_intrusive<c10::ivalue::Future>(outputs_.type())),
      sequence_(sequence),
      timeout_(timeout),
      deadline_(Clock::now() + timeout),
      title_(title) {
  requests_.reserve(plan_.starts.size());
  for (const auto& start : plan_.starts) {
    coll_request* request = nullptr;
    const coll_status status = start(group_->comm(), &request);
    if (status == COLL_OK) {
      requests_.push_back(request);
    } else {
      // Earlier collectives are active on the peers, too: only they and this rank together could finish them.
      const std::string why = coll_last_error();
      if (!requests_.empty()) group_->abort(describe() + " could not be started: " + why);
      const std::lock_guard<std::mutex> lock(claim_);
      for (coll_request*& started : requests_) coll_wait(&started);
      complete(status, why);
      return;
    }
  }
}

// The caller holds the claim. Returns true when all requests, and so the work, are complete.
bool Work::ask() {
  for (coll_request*& request : requests_) {
    if (request == nullptr) continue;
    int complete_now = 0;
    const coll_status status = coll_test(&request, &complete_now);
    if (status != COLL_OK && complete_now == 0) continue;  // out of memory at the moment: tested again later
    if (status != COLL_OK) {
      const std::string why = coll_last_error();
      for (coll_request*& other : requests_) coll_wait(&other);  // they fail, too
      complete(status, why);
      return true;
    }
    if (complete_now == 0) return false;
  }
  for (coll_request* request : requests_)
    if (request != nullptr) return false;
  complete(COLL_OK, "");
  return true;
}

// The caller holds the claim.
void Work::complete(coll_status status, const std::string& why) {
  std::exception_ptr problem;
  if (status == COLL_OK) {
    try {
      // Results may be inference tensors, which other modes must not write.
      const c10::InferenceMode mode;
      for (const auto& step : plan_.after) step();
    } catch (...) { problem = std::current_exception(); }
  } else {
    group_->note(status);
    const std::string ours = group_->aborted();
    problem = failure_of("coll: " + describe() + " failed: " + (ours.empty() ? why : ours));
    hold_for_ever(std::move(plan_.held));
  }
  plan_ = Plan{};
  finish(problem);
  done_.store(true, std::memory_order_release);
  if (problem) future_->setErrorIfNeeded(problem);
  else future_->markCompleted(outputs_);
}

std::string Work::describe() const {
  return std::string(title_) + " (number " + std::to_string(sequence_) + " of the group, rank " +
         std::to_string(group_->rank()) + " of " + std::to_string(group_->size()) + ")";
}

bool Work::poll() {
  if (done()) return true;
  const std::unique_lock<std::mutex> claim(claim_, std::try_to_lock);
  return claim.owns_lock() && (done() || ask());
}

bool Work::isCompleted() { return poll(); }

bool Work::isSuccess() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return completed_ && !exception_;
}

std::exception_ptr Work::exception() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return exception_;
}

bool Work::wait(Milliseconds timeout) {
  if (!done()) {
    waiters_.fetch_add(1, std::memory_order_relaxed);
    if (timeout == kNoTimeout || timeout.count() < 0) {
      const std::lock_guard<std::mutex> claim(claim_);
      if (!done()) {
        coll_status status = COLL_OK;
        std::string why;
        for (coll_request*& request : requests_) {
          const coll_status now = coll_wait(&request);
          if (now == COLL_OK || status != COLL_OK) continue;
          status = now;
          why = coll_last_error();
        }
        complete(status, why);
      }
    } else {
      // A wait with a timeout of its own: the collective continues when it expires.
      const auto until = Clock::now() + timeout;
      for (int asked = 0; !poll() && Clock::now() < until; asked++) {
        if (asked < 100) std::this_thread::yield();
        else std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
    waiters_.fetch_sub(1, std::memory_order_relaxed);
  }
  TORCH_CHECK(done(), "coll: ", describe(), " was not complete after ", timeout.count(), " ms");
  if (const std::exception_ptr problem = exception()) std::rethrow_exception(problem);
  return true;
}

void Work::synchronize() { wait(); }

void Work::abort() { group_->abort(describe() + " was aborted by its caller"); }

std::vector<at::Tensor> Work::result() {
  TORCH_CHECK(isCompleted(), "coll: ", describe(), " is not complete");
  if (outputs_.isTensorList()) return outputs_.toTensorVector();
  std::vector<at::Tensor> all;
  for (const c10::IValue& list : outputs_.toList().vec())
    for (const at::Tensor& tensor : list.toTensorVector()) all.push_back(tensor);
  return all;
}

c10::intrusive_ptr<c10::ivalue::Future> Work::getFuture() { return future_; }

uint64_t Work::getSequencenumber() const { return sequence_; }

Milliseconds Work::getTimeout() const { return timeout_; }

void Work::check_deadline(Clock::time_point now) {
  if (done() || now < deadline_) return;
  group_->abort("not complete after its timeout of " + std::to_string(timeout_.count()) +
                    " ms; a peer has not called it, or is late",
                Failure::timeout);
}

}  // namespace torch_coll
