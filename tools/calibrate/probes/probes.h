// SPDX-License-Identifier: BSD-3-Clause
// What collctl calibrate times, so that everything a table of lib/model holds can be worked out of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/calibrate/probes/kcoll_times.h"
#include "tools/calibrate/rounds.h"
#include "topo/machine.h"

namespace coll::tools {

enum class What {
  // Of each core while all do the same; bytes: what it touches again and again.
  load,           // into a few lines
  store,          // of a few lines
  fetch,          // loads of what a neighbour has just written
  take,           // stores into lines that a neighbour has just read
  combine,        // sources of a reduction
  combine_fetch,  // the same, of what a neighbour has just written
  copy,           // from one half to the other
  // bytes: of source and target together; by one core alone, by all.
  copy_alone,
  stream_alone,  // non-temporal
  stream,
  reduce_alone,  // two sources, one target
  reduce,
  reduce_stream_alone,
  reduce_stream,
  // Lines.
  flag,   // one way, by distance
  lines,  // from a post to the last of `concurrent` readers that wait
  look,   // one of several looks at flags that are there
  step,   // of the executor
  // Copies from other processes; bytes of one access, `concurrent` of one owner, whose memory was written before.
  near_copy,     // by loads, of what a core `distance` away has just written
  far_fetch,     // the same by everybody, from somebody so far away
  shared_copy,   // by loads, from one owner at rest
  mapped_copy,   // the same through a mapping of kcoll
  call,          // T1: a system call that does nothing
  check,         // T2: one byte, the rest of the access is found to be allowed
  pages,         // T3: the pages are locked and pinned, nothing is copied
  cma_copy,      // T4
  cma_exchange,  // T4, everybody from its neighbour at once; bytes: what each touches, from one half to the other
  pinned_check,  // kcoll, of pages that stay pinned
  pinned_copy,
  first_copy,  // kcoll, of a region that nobody has touched
};

struct Key {
  What what = What::call;
  double bytes = 0;
  int concurrent = 1;
  topo::Distance distance = topo::Distance::l3;
};
const char* name(What what);
// "cma_copy 64 KiB, 2 at once"
std::string text(const Key& key);

struct Point {
  Key key;
  Timing timing;
};

struct Measured {
  std::vector<Point> points;
  int rounds = 0;
  uint64_t samples = 0, discarded = 0;
  std::vector<KcollTimes> kcoll;  // of the probes of kcoll, made again while the module is watched; one for each heat
  std::string kcoll_remark;       // why there is none, or why it is by counters

  // The good ones of a kind, in order of bytes and concurrency.
  std::vector<Point> of(What what) const;
  // Why there is none of a kind; "" when there is one.
  std::string problem(What what) const;
};

struct MeasureTask {
  int processes = 2;
  std::vector<int> cpus;  // [processes]
  topo::Machine machine;
  bool quick = false;
};

// What a core touches in the probes of memory, ascending: within each cache, at its edge, beyond all.
std::vector<double> footprints(const topo::Machine& machine, int processes, bool quick);

// Forks. Throws Failure.
Measured measure_machine(const MeasureTask& task, const std::function<void(double, const std::string&)>& show);

}  // namespace coll::tools
