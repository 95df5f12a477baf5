// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of one communicator access each other's ordinary memory: memory outside all arenas. Each mechanism has
// one implementation (cma.h, kcoll_copy.h, kcoll_map.h, kcoll_uring.h). The executor depends on its Path, never on
// which one it is.
//
// An owner offers a buffer and publishes the resulting Announced to its peers in shared memory; a peer uses that to
// copy to and from the buffer, or to map it. A communicator is used by one thread at a time, and so is its mechanism.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace coll::transport {

// What a plan needs of a path.
struct Demands {
  bool reads = false;       // peers' memory is read
  bool writes = false;      // peers' memory is written
  size_t atomic_bytes = 0;  // of memory that two ranks access without synchronisation
};

// The properties of the path to peers' memory by a mechanism.
struct Path {
  bool reads = false;       // read() works
  bool writes = false;      // write() works
  bool load_store = false;  // map() works for what is offered as mappable
  bool batches = false;     // transfer() moves several in one call
  // Aligned loads and stores up to this size are atomic; 0: bytes of a copy arrive in any order.
  size_t atomic_bytes = 0;

  bool meet(const Demands& demands) const {
    return reads >= demands.reads && writes >= demands.writes && atomic_bytes >= demands.atomic_bytes;
  }
};

// How an owner names a buffer to its peers: plain words, whose meaning the mechanism defines.
struct Announced {
  uint64_t region = 0;
  uint64_t place = 0;  // of the buffer's first byte
  bool mappable = false;
};

// Keeps an offered buffer reachable, or a mapped one mapped, until its last copy is dropped.
using Hold = std::shared_ptr<const void>;

// A peer's buffer mapped in this process. Loads and stores never raise a signal. If current() is true before and after
// them, they met the owner's memory; otherwise they may have met anything, and are to be repeated by read() or write().
struct Window {
  char* data = nullptr;  // null: not mapped
  const uint64_t* counter = nullptr;
  uint64_t expected = 0;

  // A fence: the caller's loads and stores before and after a check of current() stay on their side. (The thread
  // sanitizer does not know std::atomic_thread_fence(); the other side is the kernel, which it does not see either.)
  static void fence() { __sync_synchronize(); }
  // Whether the window still shows the owner's memory. REQUIRES: fence() after the accesses to be checked; several
  // windows share one.
  bool current() const { return __atomic_load_n(counter, __ATOMIC_ACQUIRE) == expected; }
};

// One copy between a peer's buffer and memory of this process.
struct Transfer {
  bool write = false;  // from here to the peer
  int rank = 0;
  Announced at;
  uint64_t offset = 0;  // into the buffer
  char* local = nullptr;
  size_t bytes = 0;
  int error = 0;  // out: 0 or errno
};

class Mechanism {
 public:
  virtual ~Mechanism() = default;
  // The name by which users select it and logs print it: "cma".
  virtual const char* name() const = 0;
  virtual Path path() const = 0;

  // Lets peers read [memory, memory + bytes), and write it if `writable`, at least until `hold` and all holds of copies
  // of `at` are dropped. Returns false if they cannot; nothing has changed then.
  virtual bool offer(const void* memory, size_t bytes, bool writable, Announced& at, Hold& hold) = 0;

  // Copies `bytes` at `offset` of the buffer that `rank` has announced. Returns 0 or errno: ESRCH if the owner has
  // exited or no longer offers it, EPERM if the system forbids it, EFAULT if an address is not mapped. Never raises a
  // signal.
  virtual int read(int rank, const Announced& at, uint64_t offset, void* to, size_t bytes) = 0;
  virtual int write(int rank, const Announced& at, uint64_t offset, const void* from, size_t bytes) = 0;
  // Makes several copies, none of which touches memory that another one writes. Returns 0 or the first errno, as above;
  // each transfer has its own.
  virtual int transfer(Transfer* transfers, size_t count);

  // Maps a buffer that `rank` has announced as mappable, until `hold` is dropped. data is null if it cannot be mapped:
  // use copies then.
  virtual Window map(int rank, const Announced& at, bool writable, Hold& hold);

  // Returns what to do about an errno of read() or write(), as a message for users.
  virtual std::string hint(int error) const = 0;
};

}  // namespace coll::transport
