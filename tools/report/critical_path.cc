// SPDX-License-Identifier: BSD-3-Clause
#include "tools/report/critical_path.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <optional>

namespace coll::tools::report {
namespace {

// Files round times to nanoseconds.
constexpr double same_us = 0.0015;

// Steps, sorted by their ends.
class Steps {
 public:
  void add(const Slice& step) { steps_.push_back(&step); }
  void sort() {
    std::ranges::stable_sort(steps_, {}, &Slice::end_us);
    left_ = steps_.size();
  }
  // Returns the last step that ended by `us`.
  const Slice* before(double us) const {
    const auto end = steps_.begin() + std::ptrdiff_t(left_);
    const auto after = std::ranges::upper_bound(steps_.begin(), end, us + same_us, {}, &Slice::end_us);
    return after == steps_.begin() ? nullptr : *std::prev(after);
  }
  // Removes the step and all later ones: so that a step of zero duration is visited only once.
  void pass(const Slice& step) {
    while (left_ > 0 && steps_[left_ - 1]->end_us() >= step.end_us())
      if (steps_[--left_] == &step) break;
  }

 private:
  std::vector<const Slice*> steps_;
  size_t left_ = 0;
};

class PathFinder {
 public:
  explicit PathFinder(const Trace& trace) {
    // A rank is one processor, so its lanes run alternately.
    std::map<std::string, Steps*> busy;
    for (const auto& [row, name] : trace.rows) {
      Steps*& of = busy[rank_of(name)];
      if (of == nullptr) of = &busy_.emplace_back();
      rows_[row].busy = of;
    }
    for (const Slice& step : trace.slices) {
      rows_[step.row].steps.add(step);
      if (step.kind != "wait" && step.us > 2 * same_us) rows_[step.row].busy->add(step);
    }
    for (const auto& [id, met] : trace.targets)
      if (const auto post = trace.sources.find(id);
          post != trace.sources.end() && rows_.contains(post->second.row) && rows_.contains(met.row))
        rows_[met.row].posts.emplace(met.us, post->second);
    for (auto& [row, of] : rows_) of.steps.sort();
    for (Steps& of : busy_) of.sort();
  }

  CriticalPath from(const Slice* last);

 private:
  struct Row {
    Steps steps;
    Steps* busy = nullptr;
    std::multimap<double, End> posts;  // key: the end of the wait
  };

  // Returns the post that ended the wait; if several waits of the row ended at that time, the latest post.
  std::optional<End> post_of(const Slice& wait) const {
    const auto& posts = rows_.at(wait.row).posts;
    std::optional<End> found;
    for (auto at = posts.lower_bound(wait.end_us() - same_us);
         at != posts.end() && at->first <= wait.end_us() + same_us; ++at)
      if (!found || at->second.us > found->us) found = at->second;
    return found;
  }
  // Returns the step that delayed the row until `us`: its own last step, or a step of another lane that kept the rank
  // busy longer.
  const Slice* before(int row, double us) const {
    const Row& of = rows_.at(row);
    const Slice *own = of.steps.before(us), *other = of.busy->before(us);
    return own == nullptr || (other != nullptr && other->end_us() > own->end_us() + same_us) ? other : own;
  }
  void add(const Slice* step, int row, double begin_us) {
    begin_us = std::min(begin_us, now_us_);
    if (step != nullptr || now_us_ - begin_us > same_us) path_.hops.push_back({row, begin_us, now_us_, step});
    now_us_ = begin_us;
  }
  const Slice* follow(const Slice& step);
  const Slice* follow_wait(const Slice& wait, const End& post);

  std::map<int, Row> rows_;
  std::deque<Steps> busy_;  // one per rank
  CriticalPath path_;
  double now_us_ = 0;
};

// The post delayed the wait, unless the rank looked later after the post than the latency of the flag. Then the step
// that the rank did before delayed it.
const Slice* PathFinder::follow_wait(const Slice& wait, const End& post) {
  const Slice* busy = rows_.at(wait.row).busy->before(now_us_);
  const bool was_busy = busy != nullptr && busy->end_us() > wait.begin_us + same_us;
  const double looked_us = was_busy ? busy->end_us() : wait.begin_us;
  if (looked_us - post.us <= now_us_ - looked_us) {
    add(&wait, wait.row, post.us);
    return before(post.row, now_us_);
  }
  add(&wait, wait.row, looked_us);
  return was_busy ? busy : before(wait.row, now_us_);
}

// Appends the step and returns the one before it.
const Slice* PathFinder::follow(const Slice& step) {
  rows_.at(step.row).steps.pass(step);
  if (step.kind != "wait") {
    add(&step, step.row, step.begin_us);
    return before(step.row, now_us_);
  }
  if (const std::optional<End> post = post_of(step)) return follow_wait(step, *post);
  path_.unmatched_wait = &step;
  return nullptr;
}

CriticalPath PathFinder::from(const Slice* last) {
  now_us_ = path_.end_us = last->end_us();
  for (const Slice* step = last; step != nullptr;) {
    const Slice* next = follow(*step);
    // Gaps between steps belong to the row of the step before: posts and loops. The first step has no predecessor.
    if (next != nullptr) add(nullptr, next->row, next->end_us());
    else if (path_.unmatched_wait == nullptr) add(nullptr, step->row, 0);
    step = next;
  }
  path_.begin_us = now_us_;
  std::ranges::reverse(path_.hops);
  return path_;
}

}  // namespace

CriticalPath critical_path(const Trace& trace) {
  if (trace.slices.empty()) return {};
  return PathFinder(trace).from(&*std::ranges::max_element(trace.slices, {}, &Slice::end_us));
}

}  // namespace coll::tools::report
