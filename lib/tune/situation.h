// SPDX-License-Identifier: BSD-3-Clause
// Everything that a choice may depend on. All ranks of a communicator describe a call alike, so they choose alike.
#pragma once

#include <cstddef>
#include <string_view>

#include "model/table.h"
#include "plan/plan.h"

namespace coll::tune {

inline constexpr double no_copy = 1e9;                             // ratio of times: kernel-assisted copies do not work
inline constexpr size_t shared_heap_min_bytes = size_t(16) << 10;  // of a buffer that COLL_HEAP=shared makes mappable
// Calls of this size or more are auto-tuned. Below it one more look-up for each call costs more than it may gain.
inline constexpr size_t tuned_min_bytes = size_t(4) << 10;
// Up to here no plan is faster than the latency path.
inline constexpr size_t tiny_bytes = 1024;

struct Situation {
  plan::Collective collective = plan::Collective::barrier;
  size_t bytes = 0;        // of the vector, or of one block
  bool irregular = false;  // blocks differ in size, and each rank knows its own alone: bytes is 0
  size_t element_bytes = 1;
  int ranks = 1;
  int levels = 1;                 // of the hierarchy
  bool oversubscribed = false;    // more ranks than cores
  bool scheduler_groups = false;  // and the ranks are in several scheduler groups: yielding does not run a peer
  bool single_copy = false;       // kernel-assisted copies are the rule, instead of staging
  bool may_stage = false;         // all the same: what the choice says counts
  double cma_times = no_copy;     // otherwise: the time of a kernel-assisted copy over that of staging
  bool cma_works = false;         // a table knows better than a short trial whether such copies pay
  bool in_place = false;          // peers access all buffers in place
  bool mapped = false;            // buffers of this size are most likely in memory that all ranks map
  bool huge_pages = false;        // long buffers are most likely in huge pages
  bool rfo_free = false;          // long stores do not wait for lines that another core holds (rep movsb)
  size_t core_cache_bytes = 0;    // L2 of one core; 0: unknown
  size_t cache_bytes = 0;         // caches of all ranks together; 0: unknown
  std::string_view processor;     // its name
  bool table = false;             // the machine has a table; a Selector sets it
  model::Mechanism kernel = model::Mechanism::cma;  // of kernel-assisted copies

  bool has_kernel_copies() const { return cma_works || single_copy || cma_times < no_copy; }
  // Partial results of 16-bit floats, told by their size, are rounded wherever they are stored.
  bool rounds_partials() const { return element_bytes == 2; }
  // The bytes that pass through one staging ring: of a reduce-scatter, the blocks of all ranks.
  size_t vector_bytes() const { return collective == plan::Collective::reduce_scatter ? bytes * size_t(ranks) : bytes; }
};

}  // namespace coll::tune
