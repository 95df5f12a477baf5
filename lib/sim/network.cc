// SPDX-License-Identifier: BSD-3-Clause
#include "sim/network.h"

#include <algorithm>
#include <limits>

namespace coll::sim {

namespace {

constexpr double forever = std::numeric_limits<double>::infinity();
// The number of bytes by which a flow may miss its end: less than any transfer.
constexpr double nothing = 1e-2;

constexpr auto later = [](const auto& a, const auto& b) { return a > b; };

}  // namespace

uint32_t Network::add_link(double capacity) {
  links_.push_back({.capacity = capacity});
  return uint32_t(links_.size() - 1);
}

void Network::enter(const Route& route, double sign, bool brief) {
  for (const Use& use : route.uses) {
    Link& link = links_[use.link];
    (brief ? link.short_users : link.long_users) += sign * use.weight;
  }
  for (const Locks& lock : route.locks) {
    present_[lock.owner] += sign * lock.presence;
    most_present_[lock.owner] = std::max(most_present_[lock.owner], present_[lock.owner]);
  }
}

void Network::start(double now, uint32_t flow, double bytes, const Route& route) {
  advance(now);
  const auto [found, made] = class_of_.try_emplace(route, uint32_t(classes_.size()));
  if (made) classes_.push_back({.route = route});
  Class& of = classes_[found->second];
  if (of.flows++ == 0) {
    of.moved = 0;
    active_.push_back(found->second);
  }
  of.ends.emplace_back(of.moved + bytes, flow);
  std::push_heap(of.ends.begin(), of.ends.end(), later);
  enter(route, 1, false);
  stale_ = true;
}

double Network::start_short(double bytes, const Route& route) {
  double us_per_byte = route.us_per_byte;
  enter(route, 1, true);
  for (const Use& use : route.uses) {
    const Link& link = links_[use.link];
    us_per_byte = std::max(us_per_byte, (link.long_users + link.short_users) / link.capacity);
  }
  return bytes * us_per_byte;
}

void Network::end_short(const Route& route) { enter(route, -1, true); }

void Network::advance(double now) {
  if (now <= now_) return;
  if (stale_) share();
  for (uint32_t index : active_) classes_[index].moved += (now - now_) * classes_[index].rate;
  now_ = now;
}

// Progressive filling: all rates increase together until a link is full or the ends of a flow limit it; those flows
// keep their rates, and the others continue.
void Network::share() {
  stale_ = false;
  for (Link& link : links_) {
    // Short transfers keep their fair part of the link.
    const double users = link.long_users + link.short_users;
    link.left = users > 0 ? link.capacity * link.long_users / users : link.capacity;
    link.open = 0;
  }
  open_ = active_;
  for (uint32_t index : open_) {
    Class& of = classes_[index];
    double us_per_byte = of.route.us_per_byte;
    for (const Locks& lock : of.route.locks) {
      const double present = present_[lock.owner];
      us_per_byte += lock.us_per_byte * gamma_(present, present > ranks_per_socket_);
    }
    of.rate = 1 / us_per_byte;
    for (const Use& use : of.route.uses) links_[use.link].open += use.weight * of.flows;
  }
  while (!open_.empty()) {
    double level = forever;
    for (const Link& link : links_)
      if (link.open > 1e-9) level = std::min(level, std::max(link.left, 0.0) / link.open);
    double least = forever;
    for (uint32_t index : open_) least = std::min(least, classes_[index].rate);
    // If the ends of some flows are the tightest limit, these keep their rates; otherwise the flows on the fullest link
    // do.
    const bool ends = least <= level;
    const auto has_final_rate = [&](uint32_t index) {
      Class& of = classes_[index];
      const bool full = !ends && std::ranges::any_of(of.route.uses, [&](const Use& use) {
        const Link& link = links_[use.link];
        return std::max(link.left, 0.0) / link.open <= level * (1 + 1e-9);
      });
      if (ends ? of.rate > level : !full) return false;
      if (full) of.rate = level;
      return true;
    };
    const auto rest =
        std::partition(open_.begin(), open_.end(), [&](uint32_t index) { return !has_final_rate(index); });
    for (auto at = rest; at != open_.end(); ++at) {
      const Class& of = classes_[*at];
      for (const Use& use : of.route.uses) {
        links_[use.link].left -= use.weight * of.flows * of.rate;
        links_[use.link].open -= use.weight * of.flows;
      }
    }
    open_.erase(rest, open_.end());
  }
}

double Network::next_end() {
  if (stale_) share();
  double soonest = forever;
  for (uint32_t index : active_) {
    const Class& of = classes_[index];
    soonest = std::min(soonest, now_ + std::max(of.ends.front().first - of.moved, 0.0) / of.rate);
  }
  return soonest;
}

bool Network::take_ended(double now, uint32_t& flow) {
  advance(now);
  for (size_t i = 0; i < active_.size(); ++i) {
    Class& of = classes_[active_[i]];
    if (of.ends.front().first > of.moved + nothing) continue;
    flow = of.ends.front().second;
    std::pop_heap(of.ends.begin(), of.ends.end(), later);
    of.ends.pop_back();
    enter(of.route, -1, false);
    stale_ = true;
    if (--of.flows == 0) {
      active_[i] = active_.back();
      active_.pop_back();
    }
    return true;
  }
  return false;
}

double Network::most_present() const {
  return most_present_.empty() ? 0 : *std::max_element(most_present_.begin(), most_present_.end());
}

}  // namespace coll::sim
