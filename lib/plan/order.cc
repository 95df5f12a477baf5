// SPDX-License-Identifier: BSD-3-Clause
#include "plan/order.h"

#include <algorithm>
#include <cstring>

namespace coll::plan {

namespace {

constexpr size_t pad = 16;  // clocks are padded so that inner loops over them have a constant length

// Joining clocks takes most of the time of an ordered run, and GCC 12 at -O2 does not vectorize it. SSE2, the library's
// baseline, has no 32-bit maximum.
template <size_t bytes>
[[gnu::always_inline]] inline void join_by(int32_t* into, const int32_t* from, size_t width) {
  using Times __attribute__((vector_size(bytes))) = int32_t;
  static_assert(pad * sizeof(int32_t) % sizeof(Times) == 0);
  for (size_t i = 0; i < width; i += sizeof(Times) / sizeof(int32_t)) {
    Times a, b;
    std::memcpy(&a, into + i, sizeof a);
    std::memcpy(&b, from + i, sizeof b);
    a = a > b ? a : b;
    std::memcpy(into + i, &a, sizeof a);
  }
}

#ifdef __x86_64__
[[gnu::target("avx2")]] void join_by_avx2(int32_t* into, const int32_t* from, size_t width) {
  join_by<32>(into, from, width);
}
const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
#endif

}  // namespace

void Order::reset(size_t lanes, size_t cells, size_t flags) {
  lanes_ = lanes;
  width_ = (lanes + pad - 1) / pad * pad;
  clocks_.assign(lanes * width_, 0);
  kept_.clear();
  kept_of_.assign(lanes, none_kept);
  posts_.resize(flags);
  for (auto& posts : posts_) posts.clear();
  shadows_.assign(cells, {});
  readers_.clear();
  free_readers_.clear();
}

void Order::join(int32_t* into, const int32_t* from) const {
#ifdef __x86_64__
  if (has_avx2) return join_by_avx2(into, from, width_);
#endif
  join_by<16>(into, from, width_);
}

Epoch Order::unordered_reader(const Shadow& shadow, const int32_t* clock) const {
  if ((shadow.read & many) == 0)
    return shadow.read != 0 && int32_t(time_of(shadow.read)) > clock[lane_of(shadow.read)] ? shadow.read : 0;
  const int32_t* times = &readers_[size_t(shadow.read & ~many) * width_];
  for (size_t i = 0; i < width_; i += pad) {
    int late = 0;
    for (size_t j = 0; j < pad; ++j) late |= times[i + j] > clock[i + j];
    if (late == 0) continue;
    for (size_t j = i; j < i + pad; ++j)
      if (times[j] > clock[j]) return Epoch(j) << 20 | Epoch(times[j]);
  }
  return 0;
}

void Order::add_reader(Shadow& shadow, uint32_t lane) {
  if ((shadow.read & many) == 0) {
    // One epoch is sufficient while the earlier reads come before this one.
    if (shadow.read == 0 || lane_of(shadow.read) == lane || before(shadow.read, lane)) {
      shadow.read = now_;
      return;
    }
    uint32_t set;
    if (free_readers_.empty()) {
      set = uint32_t(readers_.size() / width_);
      readers_.resize(readers_.size() + width_);
    } else {
      set = free_readers_.back();
      free_readers_.pop_back();
      std::fill_n(&readers_[size_t(set) * width_], width_, 0);
    }
    readers_[size_t(set) * width_ + lane_of(shadow.read)] = int32_t(time_of(shadow.read));
    shadow.read = many | set;
  }
  readers_[size_t(shadow.read & ~many) * width_ + lane] = int32_t(time_of(now_));
}

Order::Conflict Order::read(uint32_t lane, uint32_t cell, size_t cells) {
  Epoch known = 0;
  for (uint32_t c = cell; c < cell + cells; ++c) {
    Shadow& shadow = shadows_[c];
    if (shadow.write != known) {
      if (!before(shadow.write, lane)) return {c, shadow.write, true};
      known = shadow.write;
    }
    add_reader(shadow, lane);
  }
  return {};
}

Order::Conflict Order::write(uint32_t lane, uint32_t cell, size_t cells) {
  Epoch known_write = 0, known_read = 0;
  const int32_t* clock = this->clock(lane);
  for (uint32_t c = cell; c < cell + cells; ++c) {
    Shadow& shadow = shadows_[c];
    if (shadow.write != known_write) {
      if (!before(shadow.write, lane)) return {c, shadow.write, true};
      known_write = shadow.write;
    }
    if (shadow.read != known_read) {
      if (Epoch reader = unordered_reader(shadow, clock)) return {c, reader, false};
      if ((shadow.read & many) != 0) free_readers_.push_back(shadow.read & ~many);
      else known_read = shadow.read;
    }
    shadow = {now_, 0};
  }
  return {};
}

bool Order::post(uint32_t lane, uint32_t flag, int64_t value) {
  auto& posts = posts_[flag];
  if (!posts.empty() && !before(posts.back().epoch, lane)) return false;
  if (kept_of_[lane] == none_kept) {
    kept_of_[lane] = uint32_t(kept_.size() / width_);
    kept_.insert(kept_.end(), clock(lane), clock(lane) + width_);
  }
  posts.push_back({value, now_, kept_of_[lane]});
  return true;
}

void Order::wait(uint32_t lane, uint32_t flag, int64_t value) {
  const auto& posts = posts_[flag];
  auto first =
      std::lower_bound(posts.begin(), posts.end(), value, [](const Post& p, int64_t v) { return p.value < v; });
  // A lane that knows time t of another lane has joined a clock of that lane from t or later, which contains the one
  // from t.
  if (before(first->epoch, lane)) return;
  join(clock(lane), &kept_[size_t(first->clock) * width_]);
  clock(lane)[lane_of(first->epoch)] = int32_t(time_of(first->epoch));
  kept_of_[lane] = none_kept;
}

Order::Conflict Order::unfinished(uint32_t first_lane, uint32_t lanes, uint32_t cell, size_t cells) {
  end_.assign(width_, 0);
  for (uint32_t lane = first_lane; lane < first_lane + lanes; ++lane) join(end_.data(), clock(lane));
  Epoch known_write = 0, known_read = 0;
  for (uint32_t c = cell; c < cell + cells; ++c) {
    const Shadow& shadow = shadows_[c];
    if (shadow.write != known_write) {
      if (int32_t(time_of(shadow.write)) > end_[lane_of(shadow.write)]) return {c, shadow.write, true};
      known_write = shadow.write;
    }
    if (shadow.read != known_read) {
      if (Epoch reader = unordered_reader(shadow, end_.data())) return {c, reader, false};
      known_read = shadow.read;
    }
  }
  return {};
}

bool Order::after(uint32_t first_lane, uint32_t lanes, uint32_t first_other, uint32_t others) const {
  for (uint32_t lane = first_lane; lane < first_lane + lanes; ++lane)
    for (uint32_t other = first_other; other < first_other + others; ++other)
      if (clock(lane)[other] > 0) return true;
  return false;
}

}  // namespace coll::plan
