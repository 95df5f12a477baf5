// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shared_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem/huge_pages.h"

namespace coll::transport {

namespace {

constexpr size_t huge_page = mem::huge_page_bytes;

// Gives advice on all pages that the memory has a part of.
void advise_pages(void* memory, size_t bytes, int advice) {
  const size_t begin = size_t(memory) / page_bytes() * page_bytes();
  madvise(reinterpret_cast<void*>(begin), size_t(memory) + bytes - begin, advice);
}

// The user that a process runs as, and the owner of its files in /proc, which is root if it is not dumpable. -1:
// unknown.
struct Users {
  long runs_as = -1, shown_as = -1;
};
Users users_of(const std::string& process) {
  Users users;
  struct stat entry {};
  if (stat((process + "/status").c_str(), &entry) == 0) users.shown_as = long(entry.st_uid);
  std::unique_ptr<FILE, int (*)(FILE*)> file(fopen((process + "/status").c_str(), "re"), &fclose);
  char line[256];
  while (file != nullptr && fgets(line, sizeof line, file.get()) != nullptr)
    if (sscanf(line, "Uid: %*d %ld", &users.runs_as) == 1) break;
  return users;
}

// Returns what to do about a process whose shared memory cannot be opened.
std::string hint(int pid, int error) {
  const Users users = error == EACCES ? users_of("/proc/" + std::to_string(pid)) : Users();
  if (users.runs_as >= 0 && users.runs_as != long(geteuid()))
    return "it runs as user " + std::to_string(users.runs_as) + " and this rank as user " + std::to_string(geteuid()) +
           "; run all ranks as one user";
  if (users.runs_as >= 0 && users.runs_as != users.shown_as)
    return "it is not dumpable, as after setuid() without exec, or of a program that its user may not read; call "
           "prctl(PR_SET_DUMPABLE, 1) in it before it creates a communicator";
  return "run all ranks as one user, and let them see each other in /proc (mount option hidepid)";
}

}  // namespace

size_t page_bytes() {
  static const size_t bytes = size_t(sysconf(_SC_PAGESIZE));
  return bytes;
}

FileIdentity::FileIdentity(int descriptor) {
  struct stat file {};
  if (fstat(descriptor, &file) == 0) device_ = file.st_dev, inode_ = file.st_ino;
}

bool FileIdentity::is_of(int descriptor) const {
  const FileIdentity now(descriptor);
  return now.inode_ != 0 && now.inode_ == inode_ && now.device_ == device_;
}

int make_shared_file(const char* name, std::string& problem) {
  const int descriptor = memfd_create(name, MFD_CLOEXEC);
  if (descriptor < 0)
    problem = std::string("memfd_create: ") + strerror(errno) +
              "; allow memfd_create in the container's seccomp filter, or raise the limit on open files (ulimit -n)";
  return descriptor;
}

int set_length(int descriptor, size_t bytes) {
  // Beyond the limit the kernel would not only refuse but send SIGXFSZ.
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur) return EFBIG;
  return ftruncate(descriptor, off_t(bytes)) == 0 ? 0 : errno;
}

int open_shared_file(int pid, int descriptor, std::string& problem) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(descriptor);
  const int opened = open(path.c_str(), O_RDWR | O_CLOEXEC);
  const int reason = errno;
  if (opened < 0)
    problem = "cannot open the shared memory of process " + std::to_string(pid) + " (" + path +
              "): " + strerror(reason) + "; " + hint(pid, reason);
  errno = reason;
  return opened;
}

char* reserve(size_t bytes) {
  char* memory = static_cast<char*>(
      mmap(nullptr, bytes + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (memory == MAP_FAILED) return nullptr;
  char* aligned = reinterpret_cast<char*>((uintptr_t(memory) + huge_page - 1) / huge_page * huge_page);
  if (aligned > memory) munmap(memory, size_t(aligned - memory));
  munmap(aligned + bytes, huge_page - size_t(aligned - memory));
  return aligned;
}

char* map_shared_file(int descriptor, size_t offset, size_t bytes) {
  char* aligned = reserve(bytes);
  if (aligned == nullptr) return nullptr;
  if (mmap(aligned, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, descriptor, off_t(offset)) ==
      MAP_FAILED) {
    const int reason = errno;
    munmap(aligned, bytes);
    errno = reason;
    return nullptr;
  }
  madvise(aligned, bytes, MADV_DONTFORK);
  madvise(aligned, bytes, MADV_DONTDUMP);
  return aligned;
}

void advise_huge(void* memory, size_t bytes) { advise_pages(memory, bytes, MADV_HUGEPAGE); }

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

void touch_pages(void* memory, size_t bytes) { advise_pages(memory, bytes, MADV_POPULATE_WRITE); }

void map_pages(void* memory, size_t bytes) { advise_pages(memory, bytes, MADV_POPULATE_READ); }

}  // namespace coll::transport
