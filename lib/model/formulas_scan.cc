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

// As lib/algo/scan.cc: for every set bit of its number a rank adds the total that the last rank before its block shows.
// In an exclusive scan it makes its own total apart from its result.
Terms sklansky(const Setting& on, double bytes, const Knobs& knobs, bool exclusive) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  const Passes passes(bytes, knobs.chunk_bytes);
  const double staging_us = on.stage_us(passes.bytes), look_us = on.look_us();
  std::vector<double> link_us;  // by bit: of the readers of one total
  for (int step = 1; step < p; step *= 2)
    link_us.push_back(passes.bytes * on.link_us_per_byte(on.to_first(std::min(step, p - step), false), true));
  ByDistance adding_us = on.access().startup_us;
  for (int d = 0; d < topo::distance_count; ++d) adding_us.at[size_t(d)] += on.add_us(passes.bytes, topo::Distance(d));
  // The first iteration ends with the last rank, each of the others takes as long as the busiest one works.
  std::vector shown_us(size_t(p), 0.0);
  double first_us = 0, busiest_us = 0;
  for (int rank = 0; rank < p; ++rank) {
    const bool shows = rank + 1 < p;
    const int ones = shows ? std::countr_one(unsigned(rank)) : 0;
    double now_us = rank % 2 == 0 ? staging_us : 0, work_us = now_us;
    if (ones == 0) shown_us[size_t(rank)] = now_us;
    for (unsigned bits = unsigned(rank); bits != 0; bits &= bits - 1) {
      const int bit = std::countr_zero(bits), source = (rank >> bit << bit) - 1;
      const topo::Distance distance = on.hierarchy().distance(source, rank);
      const double add_us = std::max(adding_us[distance], link_us[size_t(bit)]);
      now_us = std::max(now_us, shown_us[size_t(source)] + on.flag_us(distance)) + add_us;
      work_us += adding_us[distance] + look_us;
      if (bit + 1 == ones) shown_us[size_t(rank)] = now_us;
      if (exclusive && bit < ones && int(bits) != rank) now_us += adding_us[distance], work_us += adding_us[distance];
    }
    first_us = std::max(first_us, now_us);
    busiest_us = std::max(busiest_us, work_us);
  }
  busiest_us = std::max(busiest_us, on.us(on.prefix_load(passes.bytes, exclusive)));
  return transfer(first_us + (passes.number - 1) * busiest_us);
}

}  // namespace

Terms scan_sklansky(const Setting& on, double bytes, const Knobs& knobs) { return sklansky(on, bytes, knobs, false); }
Terms exscan_sklansky(const Setting& on, double bytes, const Knobs& knobs) { return sklansky(on, bytes, knobs, true); }

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
