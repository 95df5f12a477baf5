// SPDX-License-Identifier: BSD-3-Clause
// Whether collectives still take as long as the table says. Now and then all ranks take the time of the same call, and rank 0
// compares. Other calls cost one decrement.
//
// A call lasts from the moment the last rank begins it to the moment the last one ends it, so waiting for a late rank does
// not count. Ranks tell each other their moments by stamps in shared memory:
// 1. A stamp is written by its rank alone. `call` is 0 while it is being written.
// 2. Stamp i belongs to looked-at calls i, i + stamps, ...; rank 0 reads those of a call when it comes to the next one.
// 3. Rank 0 uses a call only when every rank's stamp has that call's number before and after it was read; a rank that
//    is that much ahead or behind, or does not take part (COLL_DRIFT=off), only costs the sample.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "sync/flag.h"

namespace coll::comm {

// One rank's moments of one call, of the monotonic clock.
struct alignas(sync::line_bytes) Stamp {
  std::atomic<uint64_t> call;
  std::atomic<int64_t> begin_ns, end_ns;
};
inline constexpr size_t stamps = 4;  // of each rank

class Drift {
 public:
  // The table does not fit when calls take `factor` times as long, or as short, by the exponentially weighted mean of the
  // logarithms of at least `least_samples` of one size class.
  static constexpr double factor = 3;
  static constexpr int least_samples = 64;

  // all[r]: the `stamps` stamps of rank r, zero when the communicator is made.
  Drift(int rank, std::vector<Stamp*> all) : rank_(rank), all_(std::move(all)) {}

  // To be asked once per call, on all ranks alike.
  bool due() { return --left_ == 0; }
  // A call that was due. expected_us: 0 when the table does not know. On rank 0 a sentence when the table has just been
  // found not to fit, once for each collective; else "".
  std::string look(plan::Collective collective, size_t bytes, double expected_us, int64_t begin_ns, int64_t end_ns);

 private:
  static constexpr int classes = 65;
  struct Mean {
    float log2_ratio = 0;
    int samples = 0;
  };
  struct Sample {
    plan::Collective collective = plan::Collective::barrier;
    size_t bytes = 0;
    double expected_us = 0;
  };
  double measured_us(uint64_t call) const;
  std::string judge(const Sample& sample, double us);

  uint32_t left_ = 1;    // until the next one is due
  uint64_t looked_ = 0;  // calls that were looked at
  int rank_;
  std::vector<Stamp*> all_;
  Sample last_;
  std::array<std::array<Mean, classes>, plan::collectives> means_{};
  std::array<bool, plan::collectives> told_{};
};

}  // namespace coll::comm
