// SPDX-License-Identifier: BSD-3-Clause
// A peer's region, or whole pages of it, in this process's address space: loads and stores reach the owner's memory.
//
// A mapping shows the pages that were the owner's when it was made or last found current. When the owner unmaps, moves
// or discards them, the region's generation changes first and the mapping loses them some milliseconds later. So:
//   1. current() before the loads and current() after them: what was loaded between was the owner's memory.
//   2. current() is false: what was loaded or stored since the last true may have met pages that the owner had
//      dropped, or a page that is nobody's. refresh(), attach anew, or copy by KcollDevice.
//   3. No load or store raises a signal, also when the owner has unmapped its memory, has unregistered it or has ended
//      in the middle of it: then it meets a page that is nobody's, and current() is false from before that on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "transport/kcoll_device.h"

namespace coll::transport {

class KcollMapping {
 public:
  ~KcollMapping();
  KcollMapping(const KcollMapping&) = delete;
  KcollMapping& operator=(const KcollMapping&) = delete;

  // Maps the `bytes` at `offset` of the region, widened to whole pages; bytes 0: all that follows. Null and why: gone,
  // no_permission (its direction forbids it; what is mapped can always be read), unsuitable (the region is not made of
  // whole pages), out_of_range, no_allowance, inherited.
  static std::unique_ptr<KcollMapping> attach(std::shared_ptr<KcollDevice> device, uint64_t cookie, uint64_t offset,
                                              size_t bytes, KcollAccess access, KcollStatus& status);

  // The byte at the offset that was asked for, and how many are mapped from there.
  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  uint64_t region_bytes() const { return region_bytes_; }
  bool writable() const { return writable_; }

  // The generation that this mapping was made in; for copies that must not see a later one.
  uint64_t generation() const { return generation_; }
  // Where the generation that holds now can be read, for as long as the mapping lives.
  const uint64_t* counter() const { return counter_; }
  // Whether it still holds; reads one word, no system call. Loads and stores stay on their side of it.
  bool current() const { return seen() == generation_; }
  // Whether the region is no more.
  bool dead() const { return (seen() & KCOLL_GEN_DEAD) != 0; }

  // Waits until the mapping shows no page that the owner has dropped; then takes the generation that holds now as
  // its own, as what is loaded from now on is the owner's memory again. gone when the region is no more.
  KcollStatus refresh();

 private:
  KcollMapping() = default;
  uint64_t seen() const;

  std::shared_ptr<KcollDevice> device_;
  Token process_;
  uint64_t cookie_ = 0, generation_ = 0, region_bytes_ = 0;
  char *pages_ = nullptr, *data_ = nullptr;
  size_t mapped_bytes_ = 0, bytes_ = 0;
  bool writable_ = false;
  void* counters_ = nullptr;
  const uint64_t* counter_ = nullptr;
};

}  // namespace coll::transport
