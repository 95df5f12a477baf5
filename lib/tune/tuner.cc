// SPDX-License-Identifier: BSD-3-Clause
#include "tune/tuner.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace coll::tune {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

namespace {

// The number of undisturbed calls that a median needs; fewer in the first stage, which only excludes slow candidates.
constexpr size_t enough_for_median = 5, enough_first = 2;
// The required share of pairs of calls in a duel. Of equally fast candidates the leader reaches it in one of ten duels.
constexpr double surely = 0.625;

// Whether a rank lost its core during the call: the system ran another task, or the rank yielded while it waited for a
// late rank. Such a call counts only if there are not enough others. Its time is stored negative.
bool is_disturbed(std::span<const Notes> all, size_t sample) {
  return std::ranges::any_of(all, [sample](const Notes& notes) { return notes.end_ns[sample] % 2 == 0; });
}

std::vector<double> usable_times(const std::vector<double>& times, size_t enough) {
  std::vector<double> good;
  for (const double us : times)
    if (us > 0) good.push_back(us);
  if (good.size() >= enough) return good;
  good.clear();
  for (const double us : times) good.push_back(std::abs(us));
  return good;
}

// The share of all pairs (a call of one, a call of the other) in which the call of `one` is faster.
double share_faster(const std::vector<double>& one, const std::vector<double>& other) {
  double faster = 0;
  for (const double a : one)
    for (const double b : other) faster += a < b ? 1 : a == b ? 0.5 : 0;
  return one.empty() || other.empty() ? 0 : faster / double(one.size() * other.size());
}

}  // namespace

uint32_t duration_ns(std::span<const Notes> all, size_t sample) {
  // Differences are correct although the clock wraps.
  const uint32_t origin = all[0].begin_ns[sample];
  int32_t begin = INT32_MIN, end = INT32_MIN;
  for (const Notes& notes : all) {
    if (notes.begin_ns[sample] == 0 && notes.end_ns[sample] == 0) return 0;
    begin = std::max(begin, int32_t(notes.begin_ns[sample] - origin));
    end = std::max(end, int32_t(notes.end_ns[sample] - origin));
  }
  return end > begin ? uint32_t(end - begin) : 0;
}

void Cell::begin(std::vector<Choice> candidates, Variants variants, const Start& how) {
  assert(!candidates.empty() && how.first < candidates.size());
  variants_ = std::move(variants);
  candidates.resize(std::min(candidates.size(), std::max(most_first, how.first + 1)));
  for (Choice& choice : candidates) candidates_.push_back({.choice = std::move(choice)});
  now_ = uint8_t(how.first);
  warm_ = how.warm;
  std::vector<uint8_t> all;
  for (size_t i = 0; i < candidates_.size(); i++) all.push_back(uint8_t(i));
  start(Stage::first, std::move(all));
  left_ = how.learned ? least_rest : how.rest;
  if (candidates_.size() == 1 && !variants_ && !how.watched) left_ = UINT32_MAX;
}

void Cell::start(Stage stage, std::vector<uint8_t> entrants) {
  struct Shape {
    uint32_t timed, passes;
  };
  // first, final, variants, duel, review
  static constexpr std::array<Shape, 5> shapes{{{3, 1}, {4, 2}, {5, 1}, {6, 3}, {4, 2}}};
  stage_ = stage;
  entrants_ = std::move(entrants);
  times_.assign(entrants_.size(), {});
  timed_ = shapes[size_t(stage)].timed;
  passes_ = shapes[size_t(stage)].passes;
  pass_ = at_ = call_ = 0;
}

Cell::Assignment Cell::assign(size_t bytes) {
  assert(has_begun() && !awaits_);
  if (bytes_ == 0) bytes_ = bytes;
  Assignment assignment{.candidate = entrants_[at_], .exchange = exchanges_};
  if (call_ >= warm_) {
    of_[noted_] = uint8_t(at_);
    scale_[noted_] = double(bytes_) / double(bytes);
    notes_.begin_ns[noted_] = notes_.end_ns[noted_] = 0;
    assignment.sample = int8_t(noted_++);
  }
  if (++call_ == warm_ + timed_) call_ = 0, at_++;
  if (at_ == entrants_.size()) at_ = 0, pass_++;
  awaits_ = noted_ == samples || (at_ == 0 && call_ == 0);
  return assignment;
}

void Cell::record(const Assignment& assignment, int64_t begin_ns, int64_t end_ns) {
  if (assignment.sample < 0 || assignment.exchange != exchanges_) return;
  const size_t i = size_t(assignment.sample);
  notes_.begin_ns[i] = uint32_t(begin_ns);
  notes_.end_ns[i] = uint32_t(end_ns);
}

bool Cell::learn(std::span<const Notes> all) {
  for (size_t i = 0; i < noted_; i++)
    if (const uint32_t ns = duration_ns(all, i); ns > 0)
      times_[of_[i]].push_back(ns * scale_[i] / (is_disturbed(all, i) ? -1000 : 1000));
  noted_ = 0;
  exchanges_++;
  awaits_ = false;
  if (at_ != 0 || call_ != 0) return false;
  const uint32_t before = trials_;
  end_pass();
  return trials_ != before;
}

// Drops candidates that are much slower than another one, that is, whose fastest call is much slower than the other's
// slowest call. (If a candidate has two modes, its fastest call alone does not show its speed.) A candidate without a
// timed call stays. Disturbed calls are repeated in further passes, up to twice as many.
void Cell::end_pass() {
  const size_t enough = stage_ == Stage::first ? enough_first : enough_for_median;
  double least = 0;
  for (const std::vector<double>& times : times_)
    if (!times.empty()) {
      const double slowest = std::ranges::max(usable_times(times, 1));
      least = least == 0 ? slowest : std::min(least, slowest);
    }
  for (size_t i = entrants_.size(); i-- > 0;) {
    if (times_[i].empty()) continue;
    TimedChoice& candidate = candidates_[entrants_[i]];
    candidate.dropped = std::ranges::min(usable_times(times_[i], 1)) > much_worse * least;
    if (!candidate.dropped) continue;
    candidate.us = median(usable_times(times_[i], enough));
    entrants_.erase(entrants_.begin() + ptrdiff_t(i));
    times_.erase(times_.begin() + ptrdiff_t(i));
  }
  if (stage_ == Stage::duel && entrants_.size() == 1) return decide();
  const bool lacks = std::ranges::any_of(times_, [&](const std::vector<double>& times) {
    return size_t(std::ranges::count_if(times, [](double us) { return us > 0; })) < enough;
  });
  if (pass_ >= (lacks ? 2 * passes_ : passes_)) decide();
}

void Cell::decide() {
  const size_t enough = stage_ == Stage::first ? enough_first : enough_for_median;
  for (size_t i = 0; i < entrants_.size(); i++)
    if (!times_[i].empty()) candidates_[entrants_[i]].us = median(usable_times(times_[i], enough));
  if (stage_ == Stage::first) {
    std::vector<uint8_t> finalists = best(most_final);
    if (finalists.empty()) {  // no call could be timed
      start(Stage::first, std::vector<uint8_t>(entrants_));
      left_ = rest_;
      rest_ = std::min(2 * rest_, most_rest);
      return;
    }
    if (!candidates_[now_].dropped && std::ranges::count(finalists, now_) == 0) finalists.back() = now_;
    leader_ = finalists.front();
    return start(Stage::final, std::move(finalists));
  }
  if (stage_ == Stage::duel) {
    const bool alone = entrants_.size() == 1;
    const bool wins =
        alone ? entrants_[0] == leader_
              : candidates_[leader_].us * gain < candidates_[now_].us &&
                    share_faster(usable_times(times_[1], enough), usable_times(times_[0], enough)) >= surely;
    if (wins) now_ = leader_;
    changed_ = wins;
    return rest();
  }
  uint8_t fastest = stage_ == Stage::variants ? leader_ : now_;
  if (std::ranges::count(entrants_, fastest) == 0 && !entrants_.empty()) fastest = entrants_[0];
  for (const uint8_t entrant : entrants_) {
    const TimedChoice& candidate = candidates_[entrant];
    if (candidate.us > 0 && (candidate.us < candidates_[fastest].us || candidates_[fastest].us == 0)) fastest = entrant;
  }
  const bool leads = stage_ == Stage::final || fastest != leader_;
  leader_ = fastest;
  if (stage_ != Stage::review && leads && steps_ < 2) return try_variants();
  challenge();
}

// Up to `most` candidates that are not dropped, fastest first; equally fast ones in their order.
std::vector<uint8_t> Cell::best(size_t most) const {
  std::vector<uint8_t> in;
  for (size_t i = 0; i < candidates_.size(); i++)
    if (!candidates_[i].dropped && candidates_[i].us > 0) in.push_back(uint8_t(i));
  std::ranges::stable_sort(in, {}, [&](uint8_t index) { return candidates_[index].us; });
  in.resize(std::min(in.size(), most));
  return in;
}

// Times variants of the leader.
void Cell::try_variants() {
  steps_++;
  std::vector<uint8_t> entrants{leader_};
  for (Choice& choice : variants_ ? variants_(candidates_[leader_].choice) : std::vector<Choice>()) {
    const auto repeats = [&](const TimedChoice& known) { return same(known.choice, choice); };
    if (std::ranges::any_of(candidates_, repeats) || candidates_.size() == most_candidates) continue;
    entrants.push_back(uint8_t(candidates_.size()));
    candidates_.push_back({.choice = std::move(choice)});
  }
  if (entrants.size() == 1) return challenge();
  start(Stage::variants, std::move(entrants));
}

// The candidate in use stays unless the leader is faster by the factor `gain` and wins a duel.
void Cell::challenge() {
  const TimedChoice &leader = candidates_[leader_], &now = candidates_[now_];
  if (leader_ == now_ || leader.us <= 0 || (!now.dropped && leader.us * gain >= now.us)) return rest();
  start(Stage::duel, {now_, leader_});
}

// Rests until the next trial, a review of the candidate in use and the best others. The time until then is proportional
// to the cost of the review: slower calls, exchanges, and reading the clock.
void Cell::rest() {
  trials_++;
  const double us = candidates_[now_].us;
  std::vector<uint8_t> entrants{now_};
  for (const uint8_t index : best(3))
    if (index != now_ && entrants.size() < 3 && (entrants.size() < 2 || candidates_[index].us < 1.2 * us))
      entrants.push_back(index);
  // Include one of the other candidates in turn: its calls may have been disturbed, or the machine has changed.
  for (size_t i = 0; i < candidates_.size(); i++) {
    again_ = uint8_t((again_ + 1) % candidates_.size());
    if (std::ranges::count(entrants, again_) != 0) continue;
    entrants.push_back(again_);
    break;
  }
  start(Stage::review, std::move(entrants));
  const double calls = double(warm_ + timed_) * passes_;
  const double exchanges = std::ceil(double(timed_) * double(entrants_.size()) / samples) * passes_;
  double price =
      exchanges * (exchange_us_ < 0 ? us : exchange_us_) + timed_ * passes_ * double(entrants_.size()) * timed_call_us;
  for (const uint8_t index : entrants_)
    price +=
        calls / (candidates_[index].us > much_worse * us ? passes_ : 1) * std::max(candidates_[index].us - us, 0.0);
  if (changed_) rest_ = least_rest;
  changed_ = false;
  const double at_least = us > 0 ? std::min(price / us / cost, 1e6) : 0;
  left_ = std::max(rest_, uint32_t(at_least));
  if (entrants_.size() == 1) left_ = most_rest;
  rest_ = std::min(2 * rest_, most_rest);
}

Cell& Tuner::make(std::unique_ptr<Cells>& cells, size_t index) {
  if (cells == nullptr) cells = std::make_unique<Cells>();
  (*cells)[index] = std::make_unique<Cell>(exchange_us_);
  return *(*cells)[index];
}

void Tuner::visit(const Visit& visit) const {
  for (size_t c = 0; c < cells_.size(); c++)
    for (size_t i = 0; cells_[c] != nullptr && i < cells_[c]->size(); i++)
      if (const Cell* cell = (*cells_[c])[i].get(); cell != nullptr)
        visit(plan::Collective(c), (i & 2) != 0, (i & 1) != 0, *cell);
}

}  // namespace coll::tune
