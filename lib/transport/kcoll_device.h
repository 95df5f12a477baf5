// SPDX-License-Identifier: BSD-3-Clause
// A descriptor of /dev/kcoll: registers this process's memory, copies between it and regions of its peers. How peers'
// regions are mapped: kcoll_mapping.h. What the commands mean: include/uapi/kcoll.h.
//
// All of it may be called by several threads at once. Nothing blocks but register_region(eager) and copies, which may
// wait for a page or for their turn to pin; a killed process leaves them.
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

enum class KcollAccess : uint32_t { read = KCOLL_READ, write = KCOLL_WRITE, both = KCOLL_READ | KCOLL_WRITE };

// lazy: pages are pinned when a peer first needs them, and a copy does without where that is refused; eager: now, or
// registering fails. Memory that peers map wants to be eager: a mapping cannot do without pinned pages.
enum class KcollPinning { lazy, eager };

class KcollDevice {
 public:
  ~KcollDevice();
  KcollDevice(const KcollDevice&) = delete;
  KcollDevice& operator=(const KcollDevice&) = delete;

  // This process's one, opened at the first call; a child after fork() gets its own. Null and why: absent,
  // no_permission, mismatch.
  static std::shared_ptr<KcollDevice> own(KcollStatus& status);
  // Another one, for a second domain or for tests.
  static std::shared_ptr<KcollDevice> open(KcollStatus& status, const char* path = KCOLL_DEVICE);
  // Whether this library can work with a module that says this of itself.
  static KcollStatus judge(const kcoll_info& info);

  // What the module said when it was opened.
  const kcoll_info& info() const { return info_; }
  bool has(uint64_t features) const { return (info_.features & features) == features; }
  int descriptor() const { return descriptor_; }

  // Binds the descriptor to the domain whose members share the secret key. Before anything is registered; regions are
  // then out of reach of other domains, and theirs of this descriptor. Again with the same key: ok; another: taken.
  KcollStatus join(const Token& key);

  // Peers may access [address, address + bytes) by the cookie until it is unregistered. The range may be unmapped or
  // mapped anew meanwhile: accesses see what is there then, or fail. Can be mapped if it is made of whole pages.
  // `throttle`: most tasks that pin pages of it at once; 0: as the module decides.
  KcollStatus register_region(const void* address, size_t bytes, KcollAccess access, KcollPinning pinning,
                              uint64_t& cookie, uint32_t throttle = 0);
  // When it returns nobody accesses the memory any more.
  KcollStatus unregister_region(uint64_t cookie);

  // Copies `bytes` at `offset` of a region to or from here. With a generation (kcoll_mapping.h) other than 0: stale if
  // the owner has changed the region's memory since, before or during the copy. `done`: bytes copied, also on failure.
  KcollStatus read(uint64_t cookie, uint64_t offset, void* to, size_t bytes, uint64_t generation = 0,
                   uint64_t* done = nullptr);
  KcollStatus write(uint64_t cookie, uint64_t offset, const void* from, size_t bytes, uint64_t generation = 0,
                    uint64_t* done = nullptr);

  // Sums of this descriptor, or of all since the module was loaded.
  KcollStatus stats(kcoll_stats& stats, bool all = false);
  // From now on measure (or not) the times of this descriptor's copies that find pinned pages, too.
  KcollStatus measure_times(bool on);

 private:
  KcollDevice(int descriptor, const kcoll_info& info) : descriptor_(descriptor), info_(info) {}
  KcollStatus copy(uint32_t direction, uint64_t cookie, uint64_t offset, uint64_t address, size_t bytes,
                   uint64_t generation, uint64_t* done);

  const int descriptor_;
  const kcoll_info info_;
  std::mutex joining_;
  std::optional<Token> domain_;
};

}  // namespace coll::transport
