// SPDX-License-Identifier: BSD-3-Clause
// What this process has reached of others, by token: one object for all who ask, as long as one of them holds it.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>

#include "transport/process.h"

namespace coll::transport {

template <typename Object>
class Reached {
 public:
  // To be held while entries are used. Thread safe.
  std::unique_lock<std::mutex> lock() {
    std::unique_lock held(mutex_);
    // After fork() this is another process, which does not have its parent's mappings.
    if (!(owner_ == own_token())) all_.clear(), owner_ = own_token();
    std::erase_if(all_, [](const auto& entry) { return entry.second.expired(); });
    return held;
  }
  // REQUIRES: lock().
  std::weak_ptr<Object>& of(const Token& token) { return all_[token.words]; }

 private:
  std::mutex mutex_;
  Token owner_;
  std::map<std::array<uint64_t, 2>, std::weak_ptr<Object>> all_;
};

}  // namespace coll::transport
