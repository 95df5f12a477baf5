// SPDX-License-Identifier: BSD-3-Clause
// Everything that a choice may depend on. All ranks of a communicator describe a call by equal situations, so they
// choose alike.
#pragma once

#include <cstddef>
#include <string_view>

#include "model/table.h"
#include "plan/plan.h"

namespace coll::tune {

inline constexpr double no_copy = 1e9;  // cma_times if kernel-assisted copies do not work
// COLL_HEAP=shared serves allocations of this size or more.
inline constexpr size_t shared_heap_min_bytes = size_t(16) << 10;
// Calls of this size or more may be auto-tuned. For shorter ones a look-up per call costs more than it could gain.
inline constexpr size_t tuned_min_bytes = size_t(4) << 10;
// Up to this size no plan is faster than the latency path.
inline constexpr size_t tiny_bytes = 1024;

struct Situation {
  plan::Collective collective = plan::Collective::barrier;
  size_t bytes = 0;        // size of the vector, or of one block
  bool irregular = false;  // blocks differ in size, and each rank knows only its own ones; bytes is 0
  size_t element_bytes = 1;
  int ranks = 1;
  int levels = 1;                 // levels of the hierarchy
  bool oversubscribed = false;    // more ranks than cores
  bool scheduler_groups = false;  // and in several scheduler groups, so that yielding does not run a peer
  bool single_copy = false;       // kernel-assisted copies are the default of the communicator, instead of staging
  bool may_stage = false;         // with single_copy: a choice may stage nevertheless
  double cma_times = no_copy;     // without single_copy: the time of a kernel-assisted copy divided by that of staging
  bool cma_works = false;         // kernel-assisted copies work, even if cma_times is unknown
  bool in_place = false;          // peers access all buffers in place
  bool mapped = false;            // buffers of this size are probably in memory that all ranks map
  bool huge_pages = false;        // long buffers are probably in huge pages
  bool rfo_free = false;          // long stores do not wait for lines that another core holds (rep movsb)
  size_t core_cache_bytes = 0;    // L2 of one core; 0: unknown
  size_t cache_bytes = 0;         // caches of all ranks together; 0: unknown
  std::string_view processor;     // name of the processor
  bool table = false;             // the machine has a table; a Selector sets it
  model::Mechanism kernel = model::Mechanism::cma;  // of kernel-assisted copies

  bool has_kernel_copies() const { return cma_works || single_copy || cma_times < no_copy; }
  // Elements of 2 bytes count as 16-bit floats, whose partial results are rounded wherever they are stored.
  bool rounds_partials() const { return element_bytes == 2; }
  // The bytes that pass through one staging ring; for a reduce-scatter the blocks of all ranks.
  size_t vector_bytes() const { return collective == plan::Collective::reduce_scatter ? bytes * size_t(ranks) : bytes; }
};

}  // namespace coll::tune
