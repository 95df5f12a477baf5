// SPDX-License-Identifier: BSD-3-Clause
// A peer's region, or whole pages of it, in this process's address space: loads and stores reach the owner's memory.
//
// A mapping shows the pages that were the owner's when it was made or last found current. When the owner unmaps, moves
// or discards them, the region's generation changes first and the mapping loses them some milliseconds later. So:
//  1. If current() is true before loads and after them, they read the owner's memory.
//  2. If current() is false, loads and stores since it was last true may have met pages that the owner had dropped, or
//     a blank page. Call refresh(), attach again, or copy by KcollDevice.
//  3. No load or store raises a signal, even if the owner unmaps its memory, unregisters it or exits meanwhile: it then
//     meets a blank page, and current() is false from before that on.

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

  // Maps the `bytes` at `offset` of the region, widened to whole pages; bytes 0: up to the region's end. Null, and
  // `status` says why: gone, no_permission (its direction forbids it; what is mapped can always be read), unsuitable
  // (the region does not consist of whole pages), out_of_range, no_allowance, inherited.
  static std::unique_ptr<KcollMapping> attach(std::shared_ptr<KcollDevice> device, uint64_t cookie, uint64_t offset,
                                              size_t bytes, KcollDirection direction, KcollStatus& status);

  // Address of the byte at the requested offset, and how many bytes are mapped from there.
  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  uint64_t region_bytes() const { return region_bytes_; }
  bool writable() const { return writable_; }

  // The generation in which this mapping was made or last refreshed; for copies that must not see a later one.
  uint64_t generation() const { return generation_; }
  // Address of the region's present generation, valid as long as the mapping lives.
  const uint64_t* counter() const { return counter_; }
  // Whether the mapping still shows the owner's memory; reads one word, without a system call. A fence: loads and
  // stores stay on their side of it.
  bool current() const { return seen() == generation_; }
  // Whether the region no longer exists.
  bool dead() const { return (seen() & KCOLL_GEN_DEAD) != 0; }

  // Waits until the mapping shows no page that the owner has dropped, then adopts the present generation: later loads
  // read the owner's memory again. Returns gone if the region no longer exists.
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
