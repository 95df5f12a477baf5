// SPDX-License-Identifier: BSD-3-Clause
#include "transport/arena.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mem/huge_pages.h"
#include "transport/shared_file.h"

namespace coll::transport {

namespace {

constexpr size_t line = 64, least_page = 4096, huge_page = mem::huge_page_bytes;
constexpr size_t least_extent = size_t(64) << 20;
constexpr size_t largest_page = size_t(64) << 10;  // of any kernel on any processor
constexpr size_t most_bytes = size_t(1) << 60;     // of an allocation: sums of a few do not overflow

std::mutex own_mutex;  // held while the arena is made, and around fork()
// Never freed: peers and user memory refer to it until the process ends. Every collective reads it.
std::atomic<Arena*> own_arena{nullptr};
Arena* inherited = nullptr;  // of all ancestors; kept, so that leak checks find pointers in them

// Registered when this library is loaded, so before the handlers of its users: handlers that run before fork() run last
// in, first out, so that the copy contains what the users' handlers write; those of the child run in order, so that it
// has its memory first.
const bool fork_is_watched =
    pthread_atfork(Arena::before_fork, Arena::after_fork_in_parent, Arena::after_fork_in_child) == 0;

size_t alignment_of(size_t bytes) {
  if (bytes >= huge_page) return huge_page;
  return bytes >= page_bytes() ? page_bytes() : bytes >= least_page ? least_page : line;
}
// Memory is given back in units of this size: a user-mode emulator may report smaller pages than those of its kernel,
// which rounds a length up.
size_t unit_given_back() { return std::max(page_bytes(), largest_page); }
// Whether the kernel clears memory that is given back to it. Some accept the advice and do nothing: gVisor, user-mode
// emulators.
bool clears_what_it_takes(char* unit) {
  volatile char* byte = unit;
  *byte = 1;
  const bool clears = madvise(unit, unit_given_back(), MADV_REMOVE) == 0 && *byte == 0;
  *byte = 0;
  madvise(unit, unit_given_back(), MADV_REMOVE);
  return clears;
}

size_t round_down(size_t value, size_t to) { return value / to * to; }

}  // namespace

Arena* Arena::own(std::string& problem) {
  own_token();
  std::lock_guard lock(own_mutex);
  if (Arena* arena = existing()) return arena;
  auto* arena = new (std::nothrow) Arena;
  if (arena == nullptr) return problem = "out of memory", nullptr;
  problem = arena->make();
  if (!problem.empty()) {
    delete arena;
    return nullptr;
  }
  own_arena.store(arena, std::memory_order_release);
  return arena;
}

Arena* Arena::existing() { return own_arena.load(std::memory_order_acquire); }

std::string Arena::make() {
  std::string problem;
  descriptor_ = make_shared_file("libcoll", problem);
  if (descriptor_ < 0) return problem;
  file_ = FileIdentity(descriptor_);
  if (const int reason = grow(0); reason != 0) {
    close(descriptor_);
    return std::string("cannot map ") + std::to_string(least_extent >> 20) +
           " MiB of shared memory: " + strerror(reason) +
           "; raise the limits on address space (ulimit -v) and file size (ulimit -f)";
  }
  auto* header = reinterpret_cast<ArenaHeader*>(extents_[0].base);
  header->owner = own_token();
  header->magic = ArenaHeader::expected_magic;
  kernel_clears_ = clears_what_it_takes(extents_[0].base + extents_[0].bytes - unit_given_back());
  return "";
}

bool Arena::has_descriptor() const { return file_.is_of(descriptor_); }

// Adds an extent in which `bytes` can be allocated. Returns 0 or errno.
int Arena::grow(size_t bytes) {
  const size_t count = extent_count_.load(std::memory_order_relaxed), before = bytes_.load(std::memory_order_relaxed);
  if (count == ArenaHeader::most_extents) return ENOMEM;
  if (!has_descriptor()) return EBADF;
  const size_t header_bytes = count == 0 ? round_up(sizeof(ArenaHeader), page_bytes()) : 0;
  const size_t least = std::max(round_up(header_bytes + bytes, huge_page), count == 0 ? least_extent : huge_page);
  Extent& extent = extents_[count];
  extent.offset = before;
  for (size_t wanted = std::max({least, least_extent, before});;
       wanted = std::max(least, wanted / 2 / huge_page * huge_page)) {
    int reason = set_length(descriptor_, before + wanted);
    if (reason == 0) {
      extent.base = map_shared_file(descriptor_, before, wanted);
      reason = extent.base != nullptr ? 0 : errno;
    }
    if (reason == 0) {
      extent.bytes = wanted;
      break;
    }
    if (wanted == least) return reason;
  }
  extent.holes[before + header_bytes] = extent.bytes - header_bytes;
  bytes_.store(before + extent.bytes, std::memory_order_relaxed);
  reinterpret_cast<ArenaHeader*>(extents_[0].base)->extents[count] = {extent.offset, extent.bytes};
  extent_count_.store(count + 1, std::memory_order_release);
  return 0;
}

void* Arena::allocate(size_t bytes, InChild in_child) {
  if (bytes == 0) bytes = 1;
  if (bytes > most_bytes) return nullptr;
  bytes = round_up(bytes, std::min(alignment_of(bytes), page_bytes()));
  std::lock_guard lock(mutex_);
  for (size_t e = 0; e < extent_count_.load(std::memory_order_relaxed); e++)
    if (void* memory = allocate_in(extents_[e], bytes, in_child)) return memory;
  if (grow(bytes) != 0) return nullptr;
  return allocate_in(extents_[extent_count_.load(std::memory_order_relaxed) - 1], bytes, in_child);
}

void* Arena::allocate_in(Extent& extent, size_t bytes, InChild in_child) {
  const size_t alignment = alignment_of(bytes);
  for (auto hole = extent.holes.begin(); hole != extent.holes.end(); ++hole) {
    auto [begin, length] = *hole;
    const size_t offset = round_up(begin, alignment);
    if (offset - begin > length || length - (offset - begin) < bytes) continue;
    extent.holes.erase(hole);
    if (offset > begin) extent.holes[begin] = offset - begin;
    if (begin + length > offset + bytes) extent.holes[offset + bytes] = begin + length - (offset + bytes);
    allocated_[offset] = {bytes, in_child};
    if (bytes >= huge_page) advise_huge(extent.at(offset), bytes);
    return extent.at(offset);
  }
  return nullptr;
}

bool Arena::free(void* memory) {
  const std::optional<uint64_t> offset = offset_of(memory, 1);
  if (!offset.has_value()) return false;
  std::lock_guard lock(mutex_);
  const auto found = allocated_.find(*offset);
  if (found == allocated_.end()) return false;
  const size_t length = found->second.bytes;
  allocated_.erase(found);
  size_t e = 0;
  while (*offset - extents_[e].offset >= extents_[e].bytes) e++;
  const Hole hole = add_hole(extents_[e], *offset, length);
  clear(static_cast<char*>(memory), length, extents_[e].at(hole.offset), hole.bytes);
  return true;
}

// Zeroes freed memory, which is part of a hole that is otherwise zero: gives the units that are free now back to the
// system, and stores zeros to the rest, or to all of it if the kernel refuses the units, for example locked ones.
void Arena::clear(char* memory, size_t bytes, char* hole, size_t hole_bytes) const {
  const size_t unit = unit_given_back();
  char* const end = memory + bytes;
  const auto pointer = [](uintptr_t address) { return reinterpret_cast<char*>(address); };
  char* const first = std::max(pointer(round_down(uintptr_t(memory), unit)), pointer(round_up(uintptr_t(hole), unit)));
  char* const last =
      std::min(pointer(round_up(uintptr_t(end), unit)), pointer(round_down(uintptr_t(hole) + hole_bytes, unit)));
  if (last <= first || madvise(first, size_t(last - first), MADV_REMOVE) != 0 || !kernel_clears_) {
    memset(memory, 0, bytes);
    return;
  }
  if (memory < first) memset(memory, 0, size_t(first - memory));
  if (last < end) memset(last, 0, size_t(end - last));
}

Arena::Hole Arena::add_hole(Extent& extent, size_t offset, size_t bytes) {
  auto next = extent.holes.lower_bound(offset);
  if (next != extent.holes.end() && offset + bytes == next->first) {
    bytes += next->second;
    next = extent.holes.erase(next);
  }
  if (next != extent.holes.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return {before->first, before->second};
    }
  }
  extent.holes[offset] = bytes;
  return {offset, bytes};
}

void Arena::before_fork() {
  own_mutex.lock();
  Arena* arena = existing();
  if (arena == nullptr) return;
  arena->mutex_.lock();
  for (Extent& extent : arena->extents_)
    if (extent.base != nullptr) extent.copy = arena->copy_for_child(extent);
}

void Arena::after_fork_in_parent() {
  if (Arena* arena = existing()) {
    for (Extent& extent : arena->extents_) {
      if (extent.copy.memory != nullptr) munmap(extent.copy.memory, extent.copy.bytes);
      extent.copy = {};
    }
    arena->mutex_.unlock();
  }
  own_mutex.unlock();
}

// The child does not have the mapping (MADV_DONTFORK); it starts without an arena.
void Arena::after_fork_in_child() {
  if (Arena* arena = existing()) {
    // Not with mremap(): UCX, which MPI libraries load, interposes one that ignores the last argument.
    for (const Extent& extent : arena->extents_) {
      const Copy& copy = extent.copy;
      if (copy.memory != nullptr && syscall(SYS_mremap, copy.memory, copy.bytes, copy.bytes,
                                            MREMAP_MAYMOVE | MREMAP_FIXED, extent.at(copy.offset)) < 0)
        munmap(copy.memory, copy.bytes);
    }
    if (arena->has_descriptor()) close(arena->descriptor_);
    arena->of_parent_ = inherited;
    inherited = arena;
  }
  own_arena.store(nullptr, std::memory_order_relaxed);
  new (&own_mutex) std::mutex;
}

Arena::Copy Arena::copy_for_child(const Extent& extent) const {
  const size_t page = page_bytes();
  const auto begin = allocated_.lower_bound(extent.offset), end = allocated_.lower_bound(extent.offset + extent.bytes);
  size_t first = SIZE_MAX, last = 0;
  for (auto it = begin; it != end; ++it)
    if (it->second.in_child == InChild::copy)
      first = std::min(first, it->first), last = std::max(last, it->first + it->second.bytes);
  if (last == 0) return {};
  first = round_down(first, huge_page);
  Copy copy{reserve(round_up(last - first, page)), first, round_up(last - first, page)};
  if (copy.memory == nullptr) return {};
  bool complete = mprotect(copy.memory, copy.bytes, PROT_READ | PROT_WRITE) == 0;
  size_t copied = 0;  // up to there: small allocations share pages
  for (auto it = begin; it != end && complete; ++it) {
    if (it->second.in_child != InChild::copy) continue;
    const size_t behind = round_up(it->first + it->second.bytes, page);
    complete = copy_pages(extent, copy, std::max(copied, round_down(it->first, page)), behind);
    copied = behind;
  }
  if (complete) return copy;
  munmap(copy.memory, copy.bytes);
  return {};
}

// Copies from the file, whose holes stay holes; reading them through the mapping would fill them.
bool Arena::copy_pages(const Extent& extent, const Copy& copy, size_t first, size_t last) const {
  if (first < last && !has_descriptor())
    return memcpy(copy.memory + (first - copy.offset), extent.at(first), last - first), true;
  while (first < last) {
    const off_t data = lseek(descriptor_, off_t(first), SEEK_DATA);
    if (data < 0) return errno == ENXIO;  // no data follows
    first = size_t(data);
    if (first >= last) return true;
    const size_t end = std::min(last, size_t(lseek(descriptor_, data, SEEK_HOLE)));
    if (end - first >= huge_page) madvise(copy.memory + (first - copy.offset), end - first, MADV_HUGEPAGE);
    while (first < end) {
      const ssize_t got = pread(descriptor_, copy.memory + (first - copy.offset), end - first, off_t(first));
      if (got <= 0) return false;
      first += size_t(got);
    }
  }
  return true;
}

}  // namespace coll::transport
