// SPDX-License-Identifier: BSD-3-Clause
// Copies by the kernel module as kcoll_copy makes them, and several that do not depend on each other as one submission
// to io_uring: one system call for all, and where there are idle cores the long ones side by side.
#pragma once

#include <memory>

#include "transport/kcoll_copy.h"

namespace coll::transport {

class KcollUring : public KcollCopy {
 public:
  // Null and why: a device without URING is unsuitable, a kernel that grants no ring says no_permission or no_allowance.
  // `idle_cores`: copies may run beside this thread.
  static std::unique_ptr<KcollUring> make(std::shared_ptr<KcollDevice> device, bool idle_cores, KcollStatus& status);
  ~KcollUring() override;

  const char* name() const override { return "kcoll_uring"; }
  Abilities abilities() const override { return {.reads = true, .writes = true, .batches = true}; }
  int transfer(Transfer* transfers, size_t count) override;

  // Submissions to the ring, and copies in them, ever.
  uint64_t submissions() const { return submissions_; }
  uint64_t submitted() const { return submitted_; }

 private:
  struct Ring;
  KcollUring(std::shared_ptr<KcollDevice> device, bool idle_cores);
  bool submit(Transfer* transfers, size_t count);

  std::unique_ptr<Ring> ring_;
  const bool idle_cores_;
  uint64_t submissions_ = 0, submitted_ = 0;
};

}  // namespace coll::transport
