// SPDX-License-Identifier: BSD-3-Clause
// Peers' buffers mapped by the kernel module: loads and stores reach the owner's memory, and reductions read their
// operands in place. The module copies memory that cannot be mapped, or that has changed under a mapping.
//
// Whole regions are mapped, so one mapping serves every buffer in the region. Of every peer the most recently used
// mappings are kept, at most `most_mappings`; a dropped one stays mapped until its last Hold is dropped.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "transport/kcoll_copy.h"
#include "transport/kcoll_mapping.h"

namespace coll::transport {

class KcollMap : public KcollCopy {
 public:
  static constexpr size_t most_mappings = 32;

  KcollMap(std::shared_ptr<KcollDevice> device, int ranks)
      : KcollCopy(std::move(device), true), peers_(size_t(ranks)) {}
  const char* name() const override { return "kcoll_map"; }
  Path path() const override {
    return {.reads = true, .writes = true, .load_store = true, .atomic_bytes = sizeof(uint64_t)};
  }
  Window map(int rank, const Announced& at, bool writable, Hold& hold) override;

  size_t kept(int rank) const { return peers_[size_t(rank)].size(); }
  // Number of mappings made so far.
  uint64_t mapped() const { return mapped_; }

 private:
  struct Entry {
    std::shared_ptr<KcollMapping> mapping;
    uint64_t used = 0;
  };
  using Mappings = std::map<uint64_t, Entry>;  // by cookie

  std::shared_ptr<KcollMapping> find(Mappings& mappings, uint64_t cookie, bool writable);

  std::vector<Mappings> peers_;
  uint64_t uses_ = 0, mapped_ = 0;
};

}  // namespace coll::transport
