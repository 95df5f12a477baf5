// SPDX-License-Identifier: BSD-3-Clause
#include "transport/arena.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "mem/huge_pages.h"
#include "transport/shared_file.h"

namespace coll::transport {

namespace {

constexpr size_t line = 64, page = 4096, huge_page = mem::huge_page_bytes;
constexpr size_t smallest_arena = size_t(64) << 20;

std::mutex own_mutex;  // held while the arena is made, and around fork()
// Never freed: peers and user memory refer to it until the process ends. Looked at in every collective.
std::atomic<Arena*> own_arena{nullptr};
Arena* inherited = nullptr;  // of all ancestors; referred to, so that leak checks find what is in them

// When this library is loaded, so before those that use it: handlers that run before fork() go last in, first out, and
// whatever they still write is to be in the copy; those of the child go in order, and it is to have its memory first.
const bool fork_is_watched =
    pthread_atfork(Arena::before_fork, Arena::after_fork_in_parent, Arena::after_fork_in_child) == 0;

// As large as the machine's memory, rounded up: nobody can use more of it.
size_t wanted_bytes() {
  struct sysinfo info {};
  sysinfo(&info);
  size_t memory = size_t(info.totalram) * info.mem_unit, bytes = size_t(1) << 30;
  while (bytes < memory) bytes *= 2;
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    bytes = std::min<size_t>(bytes, limit.rlim_cur / huge_page * huge_page);
  return bytes;
}

size_t alignment_of(size_t bytes) { return bytes >= huge_page ? huge_page : bytes >= page ? page : line; }
size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }
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
  int reason = ENOMEM;
  for (bytes_ = wanted_bytes(); bytes_ >= smallest_arena; bytes_ /= 2) {
    reason = set_length(descriptor_, bytes_);
    if (reason != 0) continue;
    base_ = map_shared_file(descriptor_, bytes_);
    if (base_ != nullptr) break;
    reason = errno;
  }
  if (base_ == nullptr) {
    close(descriptor_);
    return std::string("cannot map ") + std::to_string(smallest_arena >> 20) +
           " MiB of shared memory: " + strerror(reason) +
           "; raise the limits on address space (ulimit -v) and file size (ulimit -f)";
  }
  auto* header = reinterpret_cast<ArenaHeader*>(base_);
  header->owner = own_token();
  header->magic = ArenaHeader::expected_magic;
  holes_[page] = bytes_ - page;
  return "";
}

void* Arena::allocate(size_t bytes, InChild in_child) {
  if (bytes == 0) bytes = 1;
  if (bytes > bytes_) return nullptr;
  size_t alignment = alignment_of(bytes);
  bytes = round_up(bytes, std::min(alignment, page));
  std::lock_guard lock(mutex_);
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    auto [begin, length] = *hole;
    size_t offset = round_up(begin, alignment);
    if (offset - begin > length || length - (offset - begin) < bytes) continue;
    holes_.erase(hole);
    if (offset > begin) holes_[begin] = offset - begin;
    if (begin + length > offset + bytes) holes_[offset + bytes] = begin + length - (offset + bytes);
    allocated_[offset] = {bytes, in_child};
    if (bytes >= huge_page) madvise(base_ + offset, bytes, MADV_HUGEPAGE);
    return base_ + offset;
  }
  return nullptr;
}

bool Arena::free(void* memory) {
  if (!contains(memory, 1)) return false;
  size_t offset = size_t(static_cast<char*>(memory) - base_);
  std::lock_guard lock(mutex_);
  auto found = allocated_.find(offset);
  if (found == allocated_.end()) return false;
  size_t length = found->second.bytes;
  allocated_.erase(found);
  size_t first = round_up(offset, page), last = (offset + length) / page * page;
  if (last > first) {
    madvise(base_ + first, last - first, MADV_REMOVE);
    memset(base_ + offset, 0, first - offset);
    memset(base_ + last, 0, offset + length - last);
  } else {
    memset(memory, 0, length);
  }
  auto next = holes_.lower_bound(offset);
  if (next != holes_.end() && offset + length == next->first) {
    length += next->second;
    next = holes_.erase(next);
  }
  if (next != holes_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += length;
      return true;
    }
  }
  holes_[offset] = length;
  return true;
}

void Arena::before_fork() {
  own_mutex.lock();
  Arena* arena = existing();
  if (arena == nullptr) return;
  arena->mutex_.lock();
  arena->copy_ = arena->copy_for_child();
}

void Arena::after_fork_in_parent() {
  if (Arena* arena = existing()) {
    Copy& copy = arena->copy_;
    if (copy.memory != nullptr) munmap(copy.memory, copy.bytes);
    copy = {};
    arena->mutex_.unlock();
  }
  own_mutex.unlock();
}

// The child does not have the mapping (MADV_DONTFORK); it starts anew.
void Arena::after_fork_in_child() {
  if (Arena* arena = existing()) {
    // Not by mremap(): UCX, which MPI libraries load, puts one in front of it that forgets the last argument.
    const Copy& copy = arena->copy_;
    if (copy.memory != nullptr && syscall(SYS_mremap, copy.memory, copy.bytes, copy.bytes,
                                          MREMAP_MAYMOVE | MREMAP_FIXED, arena->base_ + copy.offset) < 0)
      munmap(copy.memory, copy.bytes);
    close(arena->descriptor_);
    arena->of_parent_ = inherited;
    inherited = arena;
  }
  own_arena.store(nullptr, std::memory_order_relaxed);
  new (&own_mutex) std::mutex;
}

Arena::Copy Arena::copy_for_child() const {
  size_t first = SIZE_MAX, last = 0;
  for (const auto& [offset, allocation] : allocated_)
    if (allocation.in_child == InChild::copy)
      first = std::min(first, offset), last = std::max(last, offset + allocation.bytes);
  if (last == 0) return {};
  first = round_down(first, huge_page);
  Copy copy{reserve(round_up(last - first, page)), first, round_up(last - first, page)};
  if (copy.memory == nullptr) return {};
  bool complete = mprotect(copy.memory, copy.bytes, PROT_READ | PROT_WRITE) == 0;
  size_t copied = 0;  // up to there: small allocations share pages
  for (const auto& [offset, allocation] : allocated_) {
    if (allocation.in_child != InChild::copy) continue;
    const size_t end = round_up(offset + allocation.bytes, page);
    complete = complete && copy_pages(copy, std::max(copied, round_down(offset, page)), end);
    copied = end;
  }
  if (complete) return copy;
  munmap(copy.memory, copy.bytes);
  return {};
}

// By the file, whose holes stay holes; reading them where they are mapped would fill them.
bool Arena::copy_pages(const Copy& copy, size_t first, size_t last) const {
  while (first < last) {
    const off_t data = lseek(descriptor_, off_t(first), SEEK_DATA);
    if (data < 0) return errno == ENXIO;  // no more of it
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
