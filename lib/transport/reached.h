// SPDX-License-Identifier: BSD-3-Clause
// The objects of other processes that this process has reached, by token: all callers share one object as long as one
// of them holds it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "transport/process.h"

namespace coll::transport {

template <typename Object>
class Reached {
 public:
  // The lock to hold while entries are used. Thread safe.
  std::unique_lock<std::mutex> lock() {
    std::unique_lock held(mutex_);
    // After fork() this is another process, which does not have its parent's mappings.
    if (!(owner_ == own_token())) all_.clear(), owner_ = own_token();
    // Only after the table has doubled, because a communicator of many ranks looks up each of them.
    if (all_.size() >= sweep_at_) {
      std::erase_if(all_, [](const auto& entry) { return entry.second.expired(); });
      sweep_at_ = std::max(least_sweep, 2 * all_.size());
    }
    return held;
  }
  // REQUIRES: lock().
  std::weak_ptr<Object>& of(const Token& token) { return all_[token.words]; }

 private:
  static constexpr size_t least_sweep = 16;

  std::mutex mutex_;
  Token owner_;
  size_t sweep_at_ = least_sweep;
  std::map<std::array<uint64_t, 2>, std::weak_ptr<Object>> all_;
};

}  // namespace coll::transport
