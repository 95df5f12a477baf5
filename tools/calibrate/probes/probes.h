// SPDX-License-Identifier: BSD-3-Clause
// The quantities that collctl calibrate measures; every number of a table is computed from them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/calibrate/probes/kcoll_times.h"
#include "tools/calibrate/rounds.h"
#include "topo/machine.h"

namespace coll::tools {

enum class Quantity {
  // By every core, all doing the same concurrently. bytes: the footprint, which is accessed repeatedly.
  load,           // loads, copied to a few lines
  store,          // stores, copied from a few lines
  fetch,          // loads of lines that a neighbour has just written
  take,           // stores to lines that a neighbour has just read, as ranks fill staging
  short_take,     // the same for less than model::short_store_bytes
  combine,        // loads of two sources of a reduction
  combine_fetch,  // the same, one of them just written by a neighbour
  copy,           // copy from one half of the footprint to the other
  // bytes: source and target together. `_alone`: by one core; else by all.
  copy_alone,
  stream_alone,  // with non-temporal stores
  stream,
  reduce_alone,  // two sources, one target
  reduce,
  reduce_stream_alone,
  reduce_stream,
  // Cache lines and steps.
  flag,   // one-way latency, by distance
  lines,  // from a post until the last of `concurrent` waiting readers sees it
  look,   // one of several looks at flags that are already set
  step,   // one step of the executor
  // Copies between cores with vectors or with `rep movsb`, by all processes at once. bytes: of one copy.
  fetch_vectors,  // of data that a neighbour has just written
  fetch_rep_movsb,
  take_vectors,  // to memory that a neighbour has just read
  take_rep_movsb,
  // Copies from other processes. bytes: of one access; `concurrent`: accesses to one owner, whose memory was written
  // before.
  near_copy,     // by loads, of lines that a core at `distance` has just written
  far_fetch,     // the same by all processes, each from a partner at `distance`
  shared_copy,   // by loads, from the process at rest
  mapped_copy,   // the same through a mapping of kcoll
  call,          // T1: a system call without work
  check,         // T2: one byte: the kernel also checks the permission
  pages,         // T3: the kernel locks and pins the pages and copies nothing
  huge_page,     // the same for a huge page, in which long buffers lie
  cma_copy,      // T4: a whole copy
  cma_exchange,  // T4: all processes copy from their neighbours; bytes: footprint, one half the source
  pinned_check,  // kcoll, one byte of pages that stay pinned
  pinned_copy,
  first_copy,  // kcoll, of a region without pinned pages
};

struct Key {
  Quantity quantity = Quantity::call;
  double bytes = 0;
  int concurrent = 1;
  topo::Distance distance = topo::Distance::l3;
};
const char* name(Quantity quantity);
// Returns text such as "cma_copy 64 KiB, 2 at once".
std::string text(const Key& key);

struct Point {
  Key key;
  Timing timing;
};

struct Measured {
  std::vector<Point> points;
  double page_bytes = 4096;  // of the system
  int rounds = 0;
  uint64_t samples = 0, discarded = 0;
  std::vector<KcollTimes> kcoll;  // of the probes of kcoll, run again while the module is watched; one per repetition
  std::string kcoll_remark;       // why `kcoll` is empty, or why it comes from counters

  // The successful points of a quantity, ordered by concurrency and bytes.
  std::vector<Point> of(Quantity quantity) const;
  // Why a quantity has no successful point; "" if it has one.
  std::string problem(Quantity quantity) const;
};

struct MeasureTask {
  int processes = 2;
  std::vector<int> cpus;  // [processes]
  topo::Machine machine;
  bool quick = false;
};

// Footprints of the memory probes, ascending: inside each cache, near its size, and beyond all caches.
std::vector<double> footprints(const topo::Machine& machine, int processes, bool quick);

// Forks processes. Throws Failure.
Measured measure_machine(const MeasureTask& task, const std::function<void(double, const std::string&)>& show);

}  // namespace coll::tools
