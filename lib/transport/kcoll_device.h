// SPDX-License-Identifier: BSD-3-Clause
// A descriptor of /dev/kcoll: registers this process's memory, copies between it and regions of its peers.
// kcoll_mapping.h maps peers' regions; include/uapi/kcoll.h documents the commands.
//
// Thread safe. Only register_region(eager) and copies block: they may wait for a page, or at the gate that limits
// pinning; a killed process does not stay in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "transport/kcoll_status.h"
#include "transport/process.h"
#include "uapi/kcoll.h"

namespace coll::transport {

enum class KcollDirection : uint32_t { read = KCOLL_READ, write = KCOLL_WRITE, both = KCOLL_READ | KCOLL_WRITE };

// lazy: pages are pinned when a peer first needs them, and a copy works without pinning if that is refused; eager: they
// are pinned at once, or registering fails. Memory that peers map should be eager, because a mapping needs pinned
// pages.
enum class KcollPinning { lazy, eager };

class KcollDevice {
 public:
  ~KcollDevice();
  KcollDevice(const KcollDevice&) = delete;
  KcollDevice& operator=(const KcollDevice&) = delete;

  // This process's device, opened at the first call; a child after fork() gets its own. Null, and `status` says why:
  // absent, no_permission, mismatch, or another error of opening it.
  static std::shared_ptr<KcollDevice> own(KcollStatus& status);
  // Opens another device, for a second domain or for tests.
  static std::shared_ptr<KcollDevice> open(KcollStatus& status, const char* path = KCOLL_DEVICE);
  // Returns ok if this library can work with a module that reports this about itself, otherwise mismatch.
  static KcollStatus check(const kcoll_info& info);

  // What the module reported when the device was opened.
  const kcoll_info& info() const { return info_; }
  bool has(uint64_t features) const { return (info_.features & features) == features; }
  int descriptor() const { return descriptor_; }

  // Binds the descriptor to the domain whose members share the secret key, or to that of the user in its user
  // namespace; must be called before anything is registered. Other domains cannot reach its regions, and it cannot reach
  // theirs. Without either, no other descriptor reaches them. A later call returns ok for the same domain, taken for
  // another.
  KcollStatus join(const Token& key);
  KcollStatus join_user();

  // Lets peers access [address, address + bytes) by the cookie until it is unregistered. The range may be unmapped or
  // remapped meanwhile: accesses then meet the memory that is there, or fail. Peers can map it if it consists of whole
  // pages. `throttle`: maximum number of tasks that pin pages of it at once; 0: the module decides.
  KcollStatus register_region(const void* address, size_t bytes, KcollDirection direction, KcollPinning pinning,
                              uint64_t& cookie, uint32_t throttle = 0);
  // When it returns, no peer accesses the memory any more.
  KcollStatus unregister_region(uint64_t cookie);

  // Copy `bytes` at `offset` of a region to or from memory of this process. With a generation (kcoll_mapping.h) other
  // than 0 they return stale if the owner has changed the region's memory since, before or during the copy. `done`:
  // bytes copied, also on failure.
  KcollStatus read(uint64_t cookie, uint64_t offset, void* to, size_t bytes, uint64_t generation = 0,
                   uint64_t* done = nullptr);
  KcollStatus write(uint64_t cookie, uint64_t offset, const void* from, size_t bytes, uint64_t generation = 0,
                    uint64_t* done = nullptr);

  // Reads the sums of this descriptor, or of all of its domain since the first of those that overlap was opened.
  KcollStatus stats(kcoll_stats& stats, bool all = false);
  // Switches on or off that copies of this descriptor which find pinned pages are timed, too.
  KcollStatus measure_times(bool on);

 private:
  KcollDevice(int descriptor, const kcoll_info& info) : descriptor_(descriptor), info_(info) {}
  KcollStatus enter(const std::optional<Token>& key);
  KcollStatus copy(uint32_t direction, uint64_t cookie, uint64_t offset, uint64_t address, size_t bytes,
                   uint64_t generation, uint64_t* done);

  const int descriptor_;
  const kcoll_info info_;
  std::mutex joining_;
  bool joined_ = false;
  std::optional<Token> key_;  // of what it has joined; none: the user's
};

}  // namespace coll::transport
