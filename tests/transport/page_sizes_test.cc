// SPDX-License-Identifier: BSD-3-Clause
// Simulates kernels with larger pages than those of this machine: calls that depend on the page size refuse and round
// as such kernels do. COLL_TEST_PAGE is the size in bytes; with COLL_TEST_PAGE_HIDDEN the system reports 4 KiB
// nevertheless, like a user-mode emulator.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "comm/collectives.h"
#include "transport/arena.h"
#include "transport/shared_file.h"

namespace {

size_t simulated_page() {
  static const size_t bytes = [] {
    const char* text = getenv("COLL_TEST_PAGE");
    return text != nullptr ? size_t(atol(text)) : size_t(4096);
  }();
  return bytes;
}
bool is_hidden() { return getenv("COLL_TEST_PAGE_HIDDEN") != nullptr; }
size_t in_pages(size_t bytes) { return (bytes + simulated_page() - 1) / simulated_page() * simulated_page(); }
bool on_page(const void* address) { return uintptr_t(address) % simulated_page() == 0; }
int refuse() { return errno = EINVAL, -1; }

}  // namespace

extern "C" long sysconf(int name) noexcept {
  if (name == _SC_PAGESIZE) return is_hidden() ? 4096 : long(simulated_page());
  static const auto real = reinterpret_cast<long (*)(int)>(dlsym(RTLD_NEXT, "sysconf"));
  return real(name);
}

extern "C" int madvise(void* memory, size_t bytes, int advice) noexcept {
  return on_page(memory) ? int(syscall(SYS_madvise, memory, in_pages(bytes), advice)) : refuse();
}

extern "C" int mprotect(void* memory, size_t bytes, int protection) noexcept {
  return on_page(memory) ? int(syscall(SYS_mprotect, memory, in_pages(bytes), protection)) : refuse();
}

extern "C" int munmap(void* memory, size_t bytes) noexcept {
  return on_page(memory) ? int(syscall(SYS_munmap, memory, in_pages(bytes))) : refuse();
}

extern "C" void* mmap(void* wanted, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  const size_t page = simulated_page();
  if (size_t(offset) % page != 0 || (wanted != nullptr && !on_page(wanted))) return refuse(), MAP_FAILED;
  bytes = in_pages(bytes);
  if (wanted == nullptr) {  // the address with this page size
    const long found = syscall(SYS_mmap, nullptr, bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == -1) return MAP_FAILED;
    const uintptr_t begin = in_pages(size_t(found)), end = begin + bytes, found_end = uintptr_t(found) + bytes + page;
    if (begin > uintptr_t(found)) syscall(SYS_munmap, found, begin - uintptr_t(found));
    if (found_end > end) syscall(SYS_munmap, end, found_end - end);
    wanted = reinterpret_cast<void*>(begin);
    flags |= MAP_FIXED;
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, wanted, bytes, protection, flags, file, offset));
}

namespace {

using namespace ranks;
using coll::transport::Arena;

TEST(PageSizes, AreSimulated) {
  EXPECT_EQ(coll::transport::page_bytes(), is_hidden() ? 4096 : simulated_page());
  char* memory = static_cast<char*>(mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_TRUE(on_page(memory));
  EXPECT_EQ(munmap(memory + 4096, 4096), simulated_page() > 4096 ? -1 : 0);
  EXPECT_EQ(munmap(memory, 4096), 0);
}

// Begins at a page boundary for any size, and ends where only a small page does.
TEST(PageSizes, MemoryAfterAFreedBlockIsKept) {
  std::string problem;
  Arena* arena = Arena::own(problem);
  ASSERT_NE(arena, nullptr) << problem;
  constexpr size_t boundary = size_t(64) << 10, bytes = boundary + 4096, long_bytes = 2 * boundary;
  std::vector<char*> fillers;
  char* memory = static_cast<char*>(arena->allocate(bytes));
  while (memory != nullptr && uintptr_t(memory) % boundary != 0) {
    ASSERT_TRUE(arena->free(memory));
    fillers.push_back(static_cast<char*>(arena->allocate(4096)));
    memory = static_cast<char*>(arena->allocate(bytes));
  }
  char* behind = static_cast<char*>(arena->allocate(long_bytes));  // longer than the holes before
  const size_t page = coll::transport::page_bytes();
  ASSERT_EQ(behind, memory + (bytes + page - 1) / page * page);
  memset(behind, 7, long_bytes);
  ASSERT_TRUE(arena->free(memory));
  EXPECT_TRUE(*behind == 7 && memcmp(behind, behind + 1, long_bytes - 1) == 0);
  ASSERT_TRUE(arena->free(behind));
  for (char* filler : fillers) ASSERT_TRUE(arena->free(filler));
}

// Blocks that share pages of either size with their neighbours.
TEST(PageSizes, FreedMemoryIsZeroAndItsNeighboursAreNot) {
  std::string problem;
  Arena* arena = Arena::own(problem);
  ASSERT_NE(arena, nullptr) << problem;
  for (const size_t bytes :
       {size_t(100), size_t(5000), size_t(12'288), size_t(69'632), size_t(200'000), size_t(3) << 20}) {
    char *before = static_cast<char*>(arena->allocate(8192)), *memory = static_cast<char*>(arena->allocate(bytes)),
         *behind = static_cast<char*>(arena->allocate(8192));
    for (auto [piece, length] : {std::pair(before, size_t(8192)), {memory, bytes}, {behind, size_t(8192)}}) {
      ASSERT_NE(piece, nullptr);
      memset(piece, 7, length);
    }
    ASSERT_TRUE(arena->free(memory));
    for (const char* piece : {before, behind})
      EXPECT_TRUE(*piece == 7 && memcmp(piece, piece + 1, 8191) == 0) << "a neighbour of " << bytes << " bytes";
    char* again = static_cast<char*>(arena->allocate(bytes));
    ASSERT_EQ(again, memory);
    EXPECT_TRUE(*again == 0 && memcmp(again, again + 1, bytes - 1) == 0) << bytes;
    for (char* piece : {before, again, behind}) ASSERT_TRUE(arena->free(piece));
  }
}

TEST(PageSizes, CollectivesWork) {
  run_processes(3, [](Context& c) {
    coll_comm* comm = c.comm();
    if (comm == nullptr) return;
    for (const size_t n : {size_t(1), size_t(3000), size_t(100'000)}) {
      uint32_t *in = nullptr, *out = nullptr;
      RANK_CHECK(c, coll_mem_alloc(n * sizeof *in, reinterpret_cast<void**>(&in)) == COLL_OK);
      RANK_CHECK(c, coll_mem_alloc(n * 3 * sizeof *out, reinterpret_cast<void**>(&out)) == COLL_OK);
      for (size_t i = 0; i < n; i++) in[i] = uint32_t(i) + uint32_t(c.rank);
      RANK_CHECK(c, coll_allreduce(in, out, n, COLL_UINT32, COLL_SUM, comm) == COLL_OK);
      for (size_t i = 0; i < n; i++) RANK_CHECK(c, out[i] == 3 * uint32_t(i) + 3);
      RANK_CHECK(c, coll_allgather(in, out, n, COLL_UINT32, comm) == COLL_OK);
      for (size_t i = 0; i < 3 * n; i++) RANK_CHECK(c, out[i] == uint32_t(i % n) + uint32_t(i / n));
      std::vector<uint32_t> own(in, in + n), sum(n);
      RANK_CHECK(c, coll_allreduce(own.data(), sum.data(), n, COLL_UINT32, COLL_SUM, comm) == COLL_OK);
      for (size_t i = 0; i < n; i++) RANK_CHECK(c, sum[i] == 3 * uint32_t(i) + 3);
      RANK_CHECK(c, coll_mem_free(in) == COLL_OK);
      RANK_CHECK(c, coll_mem_free(out) == COLL_OK);
    }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

}  // namespace
