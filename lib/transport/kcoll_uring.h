// SPDX-License-Identifier: BSD-3-Clause
// Copies by the kernel module like those of kcoll_copy, and several that do not depend on each other in one submission
// to io_uring: one system call for all, and with idle cores the long ones run in parallel.
#pragma once

#include <memory>

#include "transport/kcoll_copy.h"

namespace coll::transport {

class KcollUring : public KcollCopy {
 public:
  // Null, and `status` says why: unsuitable if the device lacks URING, no_permission or no_allowance if the kernel
  // grants no ring. `idle_cores`: copies may run in parallel with this thread.
  static std::unique_ptr<KcollUring> make(std::shared_ptr<KcollDevice> device, bool idle_cores, KcollStatus& status);
  ~KcollUring() override;

  const char* name() const override { return "kcoll_uring"; }
  Path path() const override { return {.reads = true, .writes = true, .batches = true}; }
  int transfer(Transfer* transfers, size_t count) override;

  // Number of submissions to the ring, and of copies in them, so far.
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
