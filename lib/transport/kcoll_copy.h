// SPDX-License-Identifier: BSD-3-Clause
// Copies by the kernel module between ranks: like Cross Memory Attach, but the owner's pages stay pinned from one copy
// to the next, so that readers of one owner take no lock of its address space and do not wait for each other.
#pragma once

#include <memory>

#include "transport/kcoll_device.h"
#include "transport/kcoll_regions.h"
#include "transport/mechanism.h"

namespace coll::transport {

class KcollCopy : public Mechanism {
 public:
  // REQUIRES: the device has joined the communicator's domain.
  explicit KcollCopy(std::shared_ptr<KcollDevice> device) : KcollCopy(std::move(device), false) {}
  const char* name() const override { return "kcoll_copy"; }
  Path path() const override { return {.reads = true, .writes = true}; }
  bool offer(const void* memory, size_t bytes, bool writable, Announced& at, Hold& hold) override;
  int read(int rank, const Announced& at, uint64_t offset, void* to, size_t bytes) override;
  int write(int rank, const Announced& at, uint64_t offset, const void* from, size_t bytes) override;
  std::string hint(int error) const override;

  const KcollRegions& regions() const { return regions_; }

 protected:
  KcollCopy(std::shared_ptr<KcollDevice> device, bool mappable) : device_(device), regions_(device, mappable) {}
  const std::shared_ptr<KcollDevice>& device() const { return device_; }

 private:
  const std::shared_ptr<KcollDevice> device_;
  KcollRegions regions_;
};

}  // namespace coll::transport
