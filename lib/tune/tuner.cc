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

// A median of so many calls, or the least time of two in the first stage.
constexpr size_t enough_for_median = 5, enough_first = 2;

// The system took the core of a rank during the call: it ran something else, or the rank yielded while it waited for a late
// one. So such a call counts only where there are not enough others. Its time is kept negative.
bool is_disturbed(std::span<const Notes> all, size_t sample) {
  return std::ranges::any_of(all, [sample](const Notes& notes) { return notes.end_ns[sample] % 2 == 0; });
}

std::vector<double> that_count(const std::vector<double>& times, size_t enough) {
  std::vector<double> good;
  for (const double us : times)
    if (us > 0) good.push_back(us);
  if (good.size() >= enough) return good;
  good.clear();
  for (const double us : times) good.push_back(std::abs(us));
  return good;
}

}  // namespace

uint32_t duration_ns(std::span<const Notes> all, size_t sample) {
  // Differences of the cut clock are right although it wraps.
  const uint32_t origin = all[0].begin_ns[sample];
  int32_t begin = INT32_MIN, end = INT32_MIN;
  for (const Notes& notes : all) {
    if (notes.begin_ns[sample] == 0 && notes.end_ns[sample] == 0) return 0;
    begin = std::max(begin, int32_t(notes.begin_ns[sample] - origin));
    end = std::max(end, int32_t(notes.end_ns[sample] - origin));
  }
  return end > begin ? uint32_t(end - begin) : 0;
}

void Cell::begin(std::vector<Choice> ways, Around around, size_t first, bool learned) {
  assert(!ways.empty() && first < ways.size());
  around_ = std::move(around);
  ways.resize(std::min(ways.size(), std::max(most_first, first + 1)));
  for (Choice& choice : ways) ways_.push_back({.choice = std::move(choice)});
  now_ = uint8_t(first);
  std::vector<uint8_t> all;
  for (size_t i = 0; i < ways_.size(); i++) all.push_back(uint8_t(i));
  start(Stage::first, std::move(all));
  if (learned) left_ = least_rest;
  if (ways_.size() == 1 && !around_) left_ = UINT32_MAX;
}

// Calls after a change of ways find caches without what they stage: some are not timed.
void Cell::start(Stage stage, std::vector<uint8_t> entrants) {
  stage_ = stage;
  entrants_ = std::move(entrants);
  times_.assign(entrants_.size(), {});
  warm_ = 1;
  timed_ = 3;
  passes_ = stage == Stage::first ? 1 : stage == Stage::review ? 3 : 2;
  pass_ = at_ = call_ = 0;
}

Cell::Turn Cell::turn(size_t bytes) {
  assert(has_begun() && !awaits_);
  if (bytes_ == 0) bytes_ = bytes;
  Turn turn{.way = entrants_[at_], .exchange = exchanges_};
  if (call_ >= warm_) {
    of_[noted_] = uint8_t(at_);
    scale_[noted_] = double(bytes_) / double(bytes);
    notes_.begin_ns[noted_] = notes_.end_ns[noted_] = 0;
    turn.sample = int8_t(noted_++);
  }
  if (++call_ == warm_ + timed_) call_ = 0, at_++;
  if (at_ == entrants_.size()) at_ = 0, pass_++;
  awaits_ = noted_ == samples || (at_ == 0 && call_ == 0);
  return turn;
}

void Cell::took(const Turn& turn, int64_t begin_ns, int64_t end_ns) {
  if (turn.sample < 0 || turn.exchange != exchanges_) return;
  const size_t i = size_t(turn.sample);
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

// Ways that are much slower than the best one take no further part. One that was never timed stays. What disturbs calls is
// made up for by further passes, as long as that may help.
void Cell::end_pass() {
  const size_t enough = stage_ == Stage::first ? enough_first : enough_for_median;
  double least = 0;
  std::vector<double> fastest;
  for (const std::vector<double>& times : times_) {
    const std::vector<double> known = that_count(times, 1);
    fastest.push_back(known.empty() ? 0 : *std::ranges::min_element(known));
    if (!known.empty()) least = least == 0 ? fastest.back() : std::min(least, fastest.back());
  }
  for (size_t i = entrants_.size(); i-- > 0;) {
    if (times_[i].empty()) continue;
    Way& way = ways_[entrants_[i]];
    way.is_out = fastest[i] > much_worse * least;
    if (!way.is_out) continue;
    way.us = stage_ == Stage::first ? fastest[i] : median(that_count(times_[i], enough));
    entrants_.erase(entrants_.begin() + ptrdiff_t(i));
    times_.erase(times_.begin() + ptrdiff_t(i));
  }
  const bool lacks = std::ranges::any_of(times_, [&](const std::vector<double>& times) {
    return size_t(std::ranges::count_if(times, [](double us) { return us > 0; })) < enough;
  });
  if (pass_ >= (lacks ? 3 * passes_ : passes_)) judge();
}

void Cell::judge() {
  for (size_t i = 0; i < entrants_.size(); i++)
    if (!times_[i].empty())
      ways_[entrants_[i]].us = stage_ == Stage::first ? std::ranges::min(that_count(times_[i], enough_first))
                                                      : median(that_count(times_[i], enough_for_median));
  if (stage_ == Stage::first) {
    std::vector<uint8_t> finalists = best(most_final, much_worse);
    if (finalists.empty()) {  // no call could be timed
      start(Stage::first, std::vector<uint8_t>(entrants_));
      left_ = rest_;
      rest_ = std::min(2 * rest_, most_rest);
      return;
    }
    if (!ways_[now_].is_out && std::ranges::count(finalists, now_) == 0) finalists.back() = now_;
    return start(Stage::final, std::move(finalists));
  }
  // What is in use stays unless another way is faster by a margin; it is out, if it is much slower.
  uint8_t fastest = now_;
  bool is_in = false;
  for (const uint8_t entrant : entrants_) is_in |= entrant == now_;
  for (const uint8_t entrant : entrants_) {
    const Way& way = ways_[entrant];
    if (way.us > 0 && (way.us < ways_[fastest].us || ways_[fastest].us == 0)) fastest = entrant;
  }
  const bool changes = fastest != now_ && (!is_in || ways_[fastest].us * gain < ways_[now_].us);
  if (changes) now_ = fastest;
  changed_ |= changes;
  const bool looks = stage_ == Stage::final || (stage_ == Stage::around && changes);
  if (looks && steps_ < 2) return look_around();
  rest();
}

// Up to `most` ways that are in and no slower than the best one times `within`, the best one first. Level: the first.
std::vector<uint8_t> Cell::best(size_t most, double within) const {
  std::vector<uint8_t> in;
  for (size_t i = 0; i < ways_.size(); i++)
    if (!ways_[i].is_out && ways_[i].us > 0) in.push_back(uint8_t(i));
  std::ranges::stable_sort(in, {}, [&](uint8_t way) { return ways_[way].us; });
  while (!in.empty() && (in.size() > most || ways_[in.back()].us > within * ways_[in.front()].us)) in.pop_back();
  return in;
}

// Ways like the one that has won.
void Cell::look_around() {
  steps_++;
  std::vector<uint8_t> entrants{now_};
  for (Choice& choice : around_ ? around_(ways_[now_].choice) : std::vector<Choice>()) {
    const auto repeats = [&](const Way& way) { return same(way.choice, choice); };
    if (std::ranges::any_of(ways_, repeats) || ways_.size() == most_ways) continue;
    entrants.push_back(uint8_t(ways_.size()));
    ways_.push_back({.choice = std::move(choice)});
  }
  if (entrants.size() == 1) return rest();
  start(Stage::around, std::move(entrants));
}

// Until the next trial: of what is in use and of the best others. It is as far away as its price demands: slower calls,
// exchanges, and looks at the clock.
void Cell::rest() {
  trials_++;
  const double us = ways_[now_].us;
  std::vector<uint8_t> entrants{now_};
  for (const uint8_t way : best(3, 1e9))
    if (way != now_ && entrants.size() < 3 && (entrants.size() < 2 || ways_[way].us < 1.2 * us))
      entrants.push_back(way);
  // One of the others in turn: something else may have disturbed its calls, or the machine has changed.
  for (size_t i = 0; i < ways_.size(); i++) {
    again_ = uint8_t((again_ + 1) % ways_.size());
    if (std::ranges::count(entrants, again_) != 0) continue;
    entrants.push_back(again_);
    break;
  }
  start(Stage::review, std::move(entrants));
  const double calls = double(warm_ + timed_) * passes_, clocks_us = 0.1;
  const double exchanges = std::ceil(double(timed_) * double(entrants_.size()) / samples) * passes_;
  double price = exchanges * (exchange_us_ < 0 ? us : exchange_us_) + timed_ * passes_ * entrants_.size() * clocks_us;
  for (const uint8_t way : entrants_)
    price += calls / (ways_[way].us > much_worse * us ? passes_ : 1) * std::max(ways_[way].us - us, 0.0);
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
