// SPDX-License-Identifier: BSD-3-Clause
#include "comm/drift.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

namespace coll::comm {

std::string Drift::look(plan::Collective collective, size_t bytes, double expected_us, int64_t begin_ns,
                        int64_t end_ns) {
  const uint64_t call = ++looked_;
  // 32 to 159 calls on, alike on all ranks but in step with no program's loop.
  left_ = 32 + uint32_t(call * 0x9e3779b97f4a7c15u >> 57);
  Stamp& own = all_[size_t(rank_)][call % stamps];
  // Whoever reads one of the moments finds the 0 that was stored before, or what came later, when it looks again.
  own.call.store(0, std::memory_order_relaxed);
  own.begin_ns.store(begin_ns, std::memory_order_release);
  own.end_ns.store(end_ns, std::memory_order_release);
  own.call.store(call, std::memory_order_release);
  if (rank_ != 0) return "";
  const Sample before = last_;
  last_ = {collective, bytes, expected_us};
  const double us = before.expected_us > 0 ? measured_us(call - 1) : 0;
  return us > 0 ? judge(before, us) : "";
}

// Of the call, by its stamps; 0 when they are not all there.
double Drift::measured_us(uint64_t call) const {
  int64_t begin_ns = INT64_MIN, end_ns = INT64_MIN;
  for (const Stamp* stamps_of_rank : all_) {
    const Stamp& stamp = stamps_of_rank[call % stamps];
    if (stamp.call.load(std::memory_order_acquire) != call) return 0;
    begin_ns = std::max(begin_ns, stamp.begin_ns.load(std::memory_order_acquire));
    end_ns = std::max(end_ns, stamp.end_ns.load(std::memory_order_acquire));
    if (stamp.call.load(std::memory_order_relaxed) != call) return 0;
  }
  return double(end_ns - begin_ns) / 1000;
}

std::string Drift::judge(const Sample& sample, double us) {
  constexpr float weight = 1.0f / 16, most = 5;  // one sample counts for no more than a factor of 32
  Mean& mean = means_[size_t(sample.collective)][size_t(std::bit_width(sample.bytes))];
  const float ratio = std::clamp(float(std::log2(us / sample.expected_us)), -most, most);
  mean.log2_ratio += (ratio - mean.log2_ratio) * (mean.samples == 0 ? 1 : weight);
  bool& told = told_[size_t(sample.collective)];
  if (++mean.samples < least_samples || told || std::abs(mean.log2_ratio) < std::log2(factor)) return "";
  told = true;
  const double times = std::exp2(mean.log2_ratio);
  char text[200];
  snprintf(text, sizeof text, "%s of about %zu bytes takes %.3g times as long as the model table predicts (%.3g us)",
           plan::name(sample.collective), sample.bytes, times, sample.expected_us);
  return text;
}

}  // namespace coll::comm
