// SPDX-License-Identifier: BSD-3-Clause
// Anonymous files (memfd) that several processes map: how a process makes one, opens one of a peer, and maps it. They
// have no name in any file system, and the kernel frees one with its last mapping and descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace coll::transport {

size_t page_bytes();
constexpr size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Identifies the file of a descriptor: the program may close the descriptor, and get its number for a file of its own.
class FileIdentity {
 public:
  FileIdentity() = default;
  explicit FileIdentity(int descriptor);
  FileIdentity(uint64_t device, uint64_t inode) : device_(device), inode_(inode) {}
  bool is_of(int descriptor) const;

 private:
  uint64_t device_ = 0, inode_ = 0;  // 0: of none
};

// Returns a descriptor of a new, empty file; -1 and a reason if it cannot be made. `name` is what /proc/PID/maps shows.
int make_shared_file(const char* name, std::string& problem);
// Sets the length of the file; new parts are holes. Returns 0 or errno: EFBIG if the limit on file size (ulimit -f)
// forbids it.
int set_length(int descriptor, size_t bytes);
// Opens the file of a descriptor of another process, or of this one. Returns a descriptor; -1, errno, and a reason with
// a fix if that fails.
int open_shared_file(int pid, int descriptor, std::string& problem);

// Reserves addresses without memory, aligned to a huge page; null if there are none. REQUIRES: bytes is a multiple of
// the page size.
char* reserve(size_t bytes);
// Maps [offset, offset + bytes) of a file of this process or of a peer, aligned to a huge page, so that huge pages of
// the file are mapped as such. Children do not inherit the mapping, core dumps exclude it. Null, and errno, if there is
// no room. REQUIRES: offset and bytes are multiples of the page size, offset of the size of a huge page.
char* map_shared_file(int descriptor, size_t offset, size_t bytes);

// Asks the kernel to back mapped memory with huge pages; it may decline.
void advise_huge(void* memory, size_t bytes);
// Backs mapped memory with pages by one system call instead of a fault for each; peers, too, then map several per
// fault. A hint: kernels before 5.14 ignore it.
void touch_pages(void* memory, size_t bytes);
// Maps pages that peers have touched, by one system call as well; a page that no process has touched is allocated.
void map_pages(void* memory, size_t bytes);

}  // namespace coll::transport
