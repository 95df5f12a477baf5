// SPDX-License-Identifier: BSD-3-Clause
// Several works as one, for which a coalescing manager waits.
#pragma once

#include <vector>

#include "compat.h"

namespace torch_coll {

class Together final : public c10d::Work {
 public:
  Together(int rank, std::vector<WorkPointer> works) : c10d::Work(rank, coalesced_type), works_(std::move(works)) {}

  bool isCompleted() override {
    for (const WorkPointer& work : works_)
      if (!work->isCompleted()) return false;
    return true;
  }

  bool isSuccess() const override {
    for (const WorkPointer& work : works_)
      if (!work->isSuccess()) return false;
    return true;
  }

  bool wait(Milliseconds timeout = kNoTimeout) override {
    for (const WorkPointer& work : works_) work->wait(timeout);
    return true;
  }

  void synchronize() override { wait(); }

  void abort() override {
    for (const WorkPointer& work : works_) work->abort();
  }

  // Complete when the last work that has a future is complete.
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    c10::List<c10::intrusive_ptr<c10::ivalue::Future>> futures(
        c10::FutureType::create(c10::ListType::create(c10::TensorType::get())));
    for (const WorkPointer& work : works_)
      if (work->retrieveOpType() != c10d::OpType::SEND && work->retrieveOpType() != c10d::OpType::RECV)
        futures.push_back(work->getFuture());
    return c10::collectAll(futures);
  }

 private:
  std::vector<WorkPointer> works_;
};

}  // namespace torch_coll
