// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of one communicator reach each other's ordinary memory: memory that lies in no arena. One
// implementation a mechanism (cma.h, kcoll_copy.h, kcoll_map.h, kcoll_uring.h). The executor asks what it can do and
// never which one it is.
//
// An owner offers a buffer and hands what comes back to its peers through shared memory; a peer copies to and from it
// by that, or maps it. A communicator is used by one thread at a time, and so is its access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace coll::transport {

// What somebody needs of an access.
struct Demands {
  bool reads = false;       // peers' memory is read
  bool writes = false;      // peers' memory is written
  size_t atomic_bytes = 0;  // of memory that two ranks access with nothing that orders them
};

struct Abilities {
  bool reads = false;       // read() works
  bool writes = false;      // write() works
  bool load_store = false;  // map() works for what is offered as mappable
  bool batches = false;     // transfer() moves several in one call
  // Aligned loads and stores up to this size happen as a whole; 0: bytes of a copy arrive in any order.
  size_t atomic_bytes = 0;

  bool meet(const Demands& demands) const {
    return reads >= demands.reads && writes >= demands.writes && atomic_bytes >= demands.atomic_bytes;
  }
};

// How an owner names a buffer to its peers. Plain words: what they mean is the mechanism's.
struct Announced {
  uint64_t region = 0;
  uint64_t place = 0;  // of the buffer's first byte
  bool mappable = false;
};

// Whoever holds one keeps an offered buffer reachable, or a mapped one mapped.
using Hold = std::shared_ptr<const void>;

// A peer's buffer mapped here. Loads never raise a signal. What was loaded, and what was stored, between two looks at
// current() that were both true was the owner's memory; otherwise it may have been anything, and is to be repeated by
// read() or write().
struct Window {
  char* data = nullptr;  // null: not mapped
  const uint64_t* counter = nullptr;
  uint64_t expected = 0;

  // The caller's loads and stores before a look and after it stay on their side. (The thread sanitizer does not know
  // std::atomic_thread_fence(); the other side is the kernel, which it does not see either.)
  static void settle() { __sync_synchronize(); }
  // REQUIRES: settle() since the accesses that it is to judge; several windows share one.
  bool current() const { return __atomic_load_n(counter, __ATOMIC_ACQUIRE) == expected; }
};

// One copy between a peer's buffer and memory here.
struct Transfer {
  bool write = false;  // from here to the peer
  int rank = 0;
  Announced at;
  uint64_t offset = 0;  // into the buffer
  char* local = nullptr;
  size_t bytes = 0;
  int error = 0;  // out: 0 or errno
};

class Access {
 public:
  virtual ~Access() = default;
  // As users force and logs name it: "cma".
  virtual const char* name() const = 0;
  virtual Abilities abilities() const = 0;

  // Lets peers read [memory, memory + bytes), and write it when `writable`, at least until `hold` and all holds of
  // copies of `at` are dropped. False: they cannot, and nothing has changed.
  virtual bool offer(const void* memory, size_t bytes, bool writable, Announced& at, Hold& hold) = 0;

  // Copies `bytes` at `offset` of what `rank` has announced. 0 or errno: ESRCH when the owner has ended or no longer
  // offers it, EPERM when the system forbids it, EFAULT when an address is not mapped. Never a signal.
  virtual int read(int rank, const Announced& at, uint64_t offset, void* to, size_t bytes) = 0;
  virtual int write(int rank, const Announced& at, uint64_t offset, const void* from, size_t bytes) = 0;
  // Several, none of which touches what another one writes. 0 or the first errno, as above; each has its own.
  virtual int transfer(Transfer* transfers, size_t count);

  // Maps what `rank` has announced as mappable, until `hold` is dropped. data is null when it cannot be: copy then.
  virtual Window map(int rank, const Announced& at, bool writable, Hold& hold);

  // What to do about an errno of read() or write(), for people.
  virtual std::string remedy(int error) const = 0;
};

}  // namespace coll::transport
