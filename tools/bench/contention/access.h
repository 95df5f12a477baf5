// SPDX-License-Identifier: BSD-3-Clause
// How one process moves bytes from or to another's memory, by each mechanism alone: what collctl bench contention times.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "transport/process.h"

namespace coll::tools {

// The last two copy as kcoll_copy does, but pin pages at every access: with the module's gate, and without it.
enum class CopyPath { cma, kcoll_copy, kcoll_map, shm, kcoll_uncached, kcoll_ungated };
inline constexpr std::array<const char*, 6> way_names = {"cma", "kcoll_copy",     "kcoll_map",
                                                         "shm", "kcoll_uncached", "kcoll_ungated"};

// A process's memory, as the others need to know it.
struct Place {
  int pid = 0;
  uint64_t address = 0;
  // Of its kcoll regions; 0: it has none. The first one is pinned; the others are not, and the last has no gate.
  uint64_t cookie = 0, uncached = 0, ungated = 0;
  char* shared = nullptr;  // the same bytes in memory that all processes share
};

// Memory that others access: private pages, registered with kcoll where that is possible, and a shared copy.
class Source {
 public:
  // `shared`: `bytes` of memory mapped before the processes were forked; `key`: the domain of all of them.
  Source(char* shared, size_t bytes, const transport::Token& key);
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // Null data: no memory.
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

// One process's way to another's memory. move() is what is timed: nothing is set up in it.
class Access {
 public:
  virtual ~Access() = default;
  // Between [offset, offset + bytes) of the other's memory and here. False: it failed; problem() says why.
  virtual bool read(size_t offset, char* to, size_t bytes) = 0;
  virtual bool write(size_t offset, const char* from, size_t bytes) = 0;
  virtual std::string problem() const = 0;
};

// Null with the problem where that way does not work here. For kcoll the calling process has a Source.
std::unique_ptr<Access> make_access(CopyPath way, const Place& place, std::string& problem);

}  // namespace coll::tools
