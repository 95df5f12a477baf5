// SPDX-License-Identifier: BSD-3-Clause
// The transports by which one process accesses another's memory, each on its own, for collctl bench contention.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "transport/process.h"

namespace coll::tools {

// The last two are kcoll_copy with pages pinned at every access: with the gate of the module, and without it.
enum class CopyPath { cma, kcoll_copy, kcoll_map, shm, kcoll_uncached, kcoll_ungated };
inline constexpr std::array<const char*, 6> path_names = {"cma", "kcoll_copy",     "kcoll_map",
                                                          "shm", "kcoll_uncached", "kcoll_ungated"};

// A process's memory, as the other processes address it.
struct Place {
  int pid = 0;
  uint64_t address = 0;
  // Cookies of its kcoll regions; 0: there is none. The first region is pinned eagerly, the others are not, and the
  // last one has no gate.
  uint64_t cookie = 0, uncached = 0, ungated = 0;
  char* shared = nullptr;  // a copy of the same bytes in memory that all processes share
};

// Memory that other processes access: private pages, registered with kcoll if possible, and a shared copy.
class Source {
 public:
  // `shared`: `bytes` of memory that was mapped before the processes were forked. `key`: the domain that all processes
  // join.
  Source(char* shared, size_t bytes, const transport::Token& key);
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // Null if the memory could not be allocated.
  char* data() const { return data_; }
  const Place& place() const { return place_; }
  // Why there is no kcoll region, or "".
  const std::string& kcoll_problem() const { return kcoll_problem_; }

 private:
  char* data_ = nullptr;
  size_t bytes_;
  Place place_;
  std::string kcoll_problem_;
};

// Access to another process's memory. read() and write() are timed, so they set up nothing.
class Access {
 public:
  virtual ~Access() = default;
  // Copies between [offset, offset + bytes) of the other process's memory and the caller's. Returns false on failure,
  // which problem() then describes.
  virtual bool read(size_t offset, char* to, size_t bytes) = 0;
  virtual bool write(size_t offset, const char* from, size_t bytes) = 0;
  virtual std::string problem() const = 0;
};

// Returns null and the reason in `problem` if the transport does not work here. For kcoll, the calling process needs a
// Source.
std::unique_ptr<Access> make_access(CopyPath path, const Place& place, std::string& problem);

}  // namespace coll::tools
