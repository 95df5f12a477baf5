// SPDX-License-Identifier: BSD-3-Clause
// One collective that has been started: torch's Work over requests of libcoll.
//
// Invariants
//  1. Requests are touched by the thread that holds `claim_` only: one that waits, one that asks, or the worker.
//  2. A work completes once, in the thread that holds the claim: results are in place before completed_ is set, and
//     that is before the future is marked, whose callbacks may ask the work.
//  3. Buffers are held until completion. Those of a failed collective are never released: a peer may still write there.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <ATen/core/ivalue.h>
#include <coll/coll.h>

#include "compat.h"
#include "group.h"

namespace torch_coll {

// The parts of a collective: requests to start, buffers that they use, and steps that produce the results.
struct Plan {
  std::vector<std::function<coll_status(coll_comm*, coll_request**)>> starts;
  std::vector<at::Tensor> held;
  std::vector<std::function<void()>> after;  // in the thread that completes the work
};

class Work final : public c10d::Work {
 public:
  using Clock = std::chrono::steady_clock;

  // Starts the plan. Throws if it cannot be started. `outputs` are the result of the work and of its future.
  Work(std::shared_ptr<Group> group, c10d::OpType type, const char* title, const c10::optional<Tensors>& inputs,
       Plan plan, c10::IValue outputs, uint64_t sequence, Milliseconds timeout);

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  bool wait(Milliseconds timeout = kNoTimeout) override;
  void synchronize() override;
  void abort() override;
  std::vector<at::Tensor> result() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  uint64_t getSequencenumber() const;
  Milliseconds getTimeout() const;

  // For the worker. Tests the requests unless another thread does; returns true when the work is complete.
  bool poll();
  bool done() const { return done_.load(std::memory_order_acquire); }
  // Whether a thread waits for the work, and so advances it.
  bool claimed() const { return waiters_.load(std::memory_order_relaxed) != 0; }
  // Whether no thread waits for the work, and none has for a while.
  bool neglected(Clock::time_point now) const { return !done() && !claimed() && now - (deadline_ - timeout_) > grace; }
  // Aborts the communicator if the time is up.
  void check_deadline(Clock::time_point now);

 private:
  // Most callers wait at once. A worker that held the claim would make them wait for itself if it lost its core.
  static constexpr std::chrono::microseconds grace{150};

  bool ask();
  void complete(coll_status status, const std::string& why);
  std::string describe() const;

  std::shared_ptr<Group> group_;
  Plan plan_;
  std::vector<coll_request*> requests_;
  c10::IValue outputs_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  const uint64_t sequence_;
  const Milliseconds timeout_;
  const Clock::time_point deadline_;
  const char* const title_;
  std::mutex claim_;
  std::atomic<int> waiters_{0};
  std::atomic<bool> done_{false};
};

}  // namespace torch_coll
