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

// Calls that a median is made of; fewer in the first stage, which only leaves out what is not near the best.
constexpr size_t enough_for_median = 5, enough_first = 2;
// Of pairs of calls. Ways that are level come that far by chance in one of ten duels.
constexpr double surely = 0.625;

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

// Of all pairs of one's call and another's: how many have one's as the faster.
double share_faster(const std::vector<double>& one, const std::vector<double>& other) {
  double faster = 0;
  for (const double a : one)
    for (const double b : other) faster += a < b ? 1 : a == b ? 0.5 : 0;
  return one.empty() || other.empty() ? 0 : faster / double(one.size() * other.size());
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

void Cell::begin(std::vector<Choice> ways, Around around, const Start& how) {
  assert(!ways.empty() && how.first < ways.size());
  around_ = std::move(around);
  ways.resize(std::min(ways.size(), std::max(most_first, how.first + 1)));
  for (Choice& choice : ways) ways_.push_back({.choice = std::move(choice)});
  now_ = uint8_t(how.first);
  warm_ = how.warm;
  std::vector<uint8_t> all;
  for (size_t i = 0; i < ways_.size(); i++) all.push_back(uint8_t(i));
  start(Stage::first, std::move(all));
  if (how.learned) left_ = least_rest;
  if (ways_.size() == 1 && !around_ && !how.watched) left_ = UINT32_MAX;
}

void Cell::start(Stage stage, std::vector<uint8_t> entrants) {
  struct Shape {
    uint32_t timed, passes;
  };
  // first, final, around, duel, review
  static constexpr std::array<Shape, 5> shapes{{{3, 1}, {4, 2}, {5, 1}, {6, 3}, {4, 2}}};
  stage_ = stage;
  entrants_ = std::move(entrants);
  times_.assign(entrants_.size(), {});
  timed_ = shapes[size_t(stage)].timed;
  passes_ = shapes[size_t(stage)].passes;
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

// Ways that are much slower than another one take no further part: their fastest call is far from its slowest one. (Of a way
// with two modes the fastest call says little.) One that was never timed stays. What disturbs calls is made up for by further
// passes, as long as that may help.
void Cell::end_pass() {
  const size_t enough = stage_ == Stage::first ? enough_first : enough_for_median;
  double least = 0;
  for (const std::vector<double>& times : times_)
    if (!times.empty()) {
      const double slowest = std::ranges::max(that_count(times, 1));
      least = least == 0 ? slowest : std::min(least, slowest);
    }
  for (size_t i = entrants_.size(); i-- > 0;) {
    if (times_[i].empty()) continue;
    Way& way = ways_[entrants_[i]];
    way.is_out = std::ranges::min(that_count(times_[i], 1)) > much_worse * least;
    if (!way.is_out) continue;
    way.us = median(that_count(times_[i], enough));
    entrants_.erase(entrants_.begin() + ptrdiff_t(i));
    times_.erase(times_.begin() + ptrdiff_t(i));
  }
  if (stage_ == Stage::duel && entrants_.size() == 1) return judge();
  const bool lacks = std::ranges::any_of(times_, [&](const std::vector<double>& times) {
    return size_t(std::ranges::count_if(times, [](double us) { return us > 0; })) < enough;
  });
  if (pass_ >= (lacks ? 2 * passes_ : passes_)) judge();
}

void Cell::judge() {
  const size_t enough = stage_ == Stage::first ? enough_first : enough_for_median;
  for (size_t i = 0; i < entrants_.size(); i++)
    if (!times_[i].empty()) ways_[entrants_[i]].us = median(that_count(times_[i], enough));
  if (stage_ == Stage::first) {
    std::vector<uint8_t> finalists = best(most_final);
    if (finalists.empty()) {  // no call could be timed
      start(Stage::first, std::vector<uint8_t>(entrants_));
      left_ = rest_;
      rest_ = std::min(2 * rest_, most_rest);
      return;
    }
    if (!ways_[now_].is_out && std::ranges::count(finalists, now_) == 0) finalists.back() = now_;
    leader_ = finalists.front();
    return start(Stage::final, std::move(finalists));
  }
  if (stage_ == Stage::duel) {
    const bool alone = entrants_.size() == 1;
    const bool wins = alone ? entrants_[0] == leader_
                            : ways_[leader_].us * gain < ways_[now_].us &&
                                  share_faster(that_count(times_[1], enough), that_count(times_[0], enough)) >= surely;
    if (wins) now_ = leader_;
    changed_ = wins;
    return rest();
  }
  uint8_t fastest = stage_ == Stage::around ? leader_ : now_;
  if (std::ranges::count(entrants_, fastest) == 0 && !entrants_.empty()) fastest = entrants_[0];
  for (const uint8_t entrant : entrants_) {
    const Way& way = ways_[entrant];
    if (way.us > 0 && (way.us < ways_[fastest].us || ways_[fastest].us == 0)) fastest = entrant;
  }
  const bool leads = stage_ == Stage::final || fastest != leader_;
  leader_ = fastest;
  if (stage_ != Stage::review && leads && steps_ < 2) return look_around();
  challenge();
}

// Up to `most` ways that are in, the best one first. Level: the first.
std::vector<uint8_t> Cell::best(size_t most) const {
  std::vector<uint8_t> in;
  for (size_t i = 0; i < ways_.size(); i++)
    if (!ways_[i].is_out && ways_[i].us > 0) in.push_back(uint8_t(i));
  std::ranges::stable_sort(in, {}, [&](uint8_t way) { return ways_[way].us; });
  in.resize(std::min(in.size(), most));
  return in;
}

// Ways like the one that leads.
void Cell::look_around() {
  steps_++;
  std::vector<uint8_t> entrants{leader_};
  for (Choice& choice : around_ ? around_(ways_[leader_].choice) : std::vector<Choice>()) {
    const auto repeats = [&](const Way& way) { return same(way.choice, choice); };
    if (std::ranges::any_of(ways_, repeats) || ways_.size() == most_ways) continue;
    entrants.push_back(uint8_t(ways_.size()));
    ways_.push_back({.choice = std::move(choice)});
  }
  if (entrants.size() == 1) return challenge();
  start(Stage::around, std::move(entrants));
}

// What is in use stays unless the leader is faster by a margin, again and again.
void Cell::challenge() {
  const Way &leader = ways_[leader_], &now = ways_[now_];
  if (leader_ == now_ || leader.us <= 0 || (!now.is_out && leader.us * gain >= now.us)) return rest();
  start(Stage::duel, {now_, leader_});
}

// Until the next trial: of what is in use and of the best others. It is as far away as its price demands: slower calls,
// exchanges, and looks at the clock.
void Cell::rest() {
  trials_++;
  const double us = ways_[now_].us;
  std::vector<uint8_t> entrants{now_};
  for (const uint8_t way : best(3))
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
  const double calls = double(warm_ + timed_) * passes_;
  const double exchanges = std::ceil(double(timed_) * double(entrants_.size()) / samples) * passes_;
  double price =
      exchanges * (exchange_us_ < 0 ? us : exchange_us_) + timed_ * passes_ * double(entrants_.size()) * timed_call_us;
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
