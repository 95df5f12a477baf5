// SPDX-License-Identifier: BSD-3-Clause
// Scans: the time of the last rank, or of the busiest one.
#include <algorithm>
#include <bit>
#include <vector>

#include "model/formulas.h"
#include "model/work.h"

namespace coll::model {

Terms scan_all_read(const Setting& on, double bytes, const Knobs& knobs) {
  return allreduce_all_read(on, bytes, knobs);
}

namespace {

// In each of log2 p steps a rank combines its partial result with the total of the ranks before its block. `again`: the
// number of additions that the busiest rank makes twice.
Terms sklansky(const Setting& on, double bytes, const Knobs& knobs, int again) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  const Passes passes(bytes, knobs.chunk_bytes);
  // The busiest rank is the one whose number has most set bits; usually it takes no part in the largest step.
  int most_ones = 0;
  for (int rank = 0; rank < p; ++rank) most_ones = std::max(most_ones, std::popcount(unsigned(rank)));
  Terms first = transfer(on.stage_us(passes.bytes)), work;
  double busiest_us = 0;
  for (int step = 1, number = 1; step < p; step *= 2, ++number) {
    // The upper half of a block reads the total of the last rank of the lower half.
    std::vector<int> readers;
    for (int rank = 1; rank <= std::min(step, p - step); ++rank) readers.push_back(rank);
    const double link_us = passes.bytes * on.link_us_per_byte(0, readers, false, true);
    const topo::Distance distance = on.hierarchy().distance(step - 1, std::min(2 * step, p) - 1);
    Terms add = transfer(on.add_us(passes.bytes, distance)) + Terms{.startup_us = on.access().startup_us[distance]};
    const double times = step < 1 << again ? 2 : 1;
    if (number <= most_ones) work += times * add + flags(on.look_us());
    busiest_us = std::max(busiest_us, link_us);
    add.transfer_us = std::max(add.transfer_us, link_us);
    first += times * add + flags(on.flag_us(on.exchange_distance(number - 1)));
  }
  if (busiest_us > work.total_us()) work.transfer_us += busiest_us - work.total_us();
  return first + (passes.number - 1) * work;
}

}  // namespace

Terms scan_sklansky(const Setting& on, double bytes, const Knobs& knobs) { return sklansky(on, bytes, knobs, 0); }
// As long as the bits of its number are set, a rank makes its own result and also the total that others read.
Terms exscan_sklansky(const Setting& on, double bytes, const Knobs& knobs) {
  return sklansky(on, bytes, knobs, std::max(int(log2_up(on.ranks())) - 3, 0));
}

Terms scan_fused(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  // A rank makes the prefixes of all ranks for its slice. A prefix has one source for each set bit of its length; every
  // second source is an input that is read again. All ranks read the inputs of one rank after the other, at the same
  // time.
  return Work(on, bytes, knobs)
      .meets()
      .reads_slices()
      .fetches(0.5, p / 2.0)
      .reduces_again(1, int(log2_up(p) / 2) + 1)
      .fetches_slices()
      .copies_results_out()
      .meets()
      .total();
}

}  // namespace coll::model
