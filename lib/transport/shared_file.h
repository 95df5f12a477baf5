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

// Which file a descriptor was of: the program may close it, and get its number for a file of its own.
class FileIdentity {
 public:
  FileIdentity() = default;
  explicit FileIdentity(int descriptor);
  FileIdentity(uint64_t device, uint64_t inode) : device_(device), inode_(inode) {}
  bool is_of(int descriptor) const;

 private:
  uint64_t device_ = 0, inode_ = 0;  // 0: of none
};

// A descriptor of a new, empty file; -1 and a reason when there is none. `name` is what /proc/PID/maps shows.
int make_shared_file(const char* name, std::string& problem);
// Makes the file so long, of holes. 0 or errno: EFBIG when the limit on file size (ulimit -f) forbids it.
int set_length(int descriptor, size_t bytes);
// Opens the file behind a descriptor of another process, or of this one; -1, errno, and a reason with a fix when that
// fails.
int open_shared_file(int pid, int descriptor, std::string& problem);

// Addresses without memory, aligned to a huge page; null when there are none. REQUIRES: bytes is a multiple of the page
// size.
char* reserve(size_t bytes);
// Maps [offset, offset + bytes) of a file, one's own or a peer's, on a boundary of huge pages: where the file has one, it
// is mapped as one. Children do not inherit the mapping, core dumps leave it out. Null, and errno, when there is no room.
// REQUIRES: offset and bytes are multiples of the page size, offset of the size of a huge page.
char* map_shared_file(int descriptor, size_t offset, size_t bytes);

// Asks for huge pages behind mapped memory, whole ones of it; the system may decline.
void advise_huge(void* memory, size_t bytes);
// Backs mapped memory with pages by one call instead of a fault for each; peers, too, then map several at a fault. A
// hint: kernels before 5.14 leave it to the faults.
void touch_pages(void* memory, size_t bytes);
// Maps pages that peers have touched, by one call as well; a page that no process has touched is allocated.
void map_pages(void* memory, size_t bytes);

}  // namespace coll::transport
