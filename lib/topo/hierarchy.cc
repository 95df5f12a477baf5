// SPDX-License-Identifier: BSD-3-Clause
#include "topo/hierarchy.h"

#include <algorithm>
#include <map>
#include <utility>

namespace coll::topo {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

int number_in(const Place &place, Domain domain) {
  switch (domain) {
    case Domain::core: return place.core;
    case Domain::l2: return place.l2;
    case Domain::l3: return place.l3;
    case Domain::numa: return place.numa;
    case Domain::socket: return place.package;
  }
  return -1;
}

// Splits every domain of `outer` by the ranks' numbers. The new domains are numbered in the order of their lowest
// ranks.
std::vector<int> refine(const std::vector<int> &outer, const std::vector<int> &number) {
  std::map<std::pair<int, int>, int> index;
  std::vector<int> inner(outer.size());
  for (std::size_t rank = 0; rank < outer.size(); ++rank)
    inner[rank] = index.try_emplace({outer[rank], number[rank]}, static_cast<int>(index.size())).first->second;
  return inner;
}

bool groups_nothing(const std::vector<int> &partition) {
  return *std::ranges::max_element(partition) + 1 == static_cast<int>(partition.size());
}

// The reason why the ranks cannot be assigned to domains; "" if they can, or if one rank or `flat` needs no domains.
std::string why_blind(const std::vector<Place> &places, const Sensitivity &sensitivity) {
  if (sensitivity.flat() || places.size() < 2) return {};
  if (std::ranges::all_of(places, &Place::unknown)) return "the places of the ranks are not known";
  if (std::ranges::any_of(places, &Place::bound)) return {};
  const auto open = [&](Domain domain) {
    return std::ranges::all_of(places, [&](const Place &place) { return number_in(place, domain) < 0; });
  };
  return std::ranges::any_of(sensitivity.domains, open) ? "the ranks are not bound to cores" : "";
}

}  // namespace

// ---- building ---------------------------------------------------------------------------------------------

Hierarchy Hierarchy::from_places(std::vector<Place> places, const Sensitivity &sensitivity) {
  Hierarchy made;
  made.places_ = std::move(places);
  made.sensitivity_ = sensitivity;
  if (made.places_.empty()) return made;

  struct Cut {  // the domain of each rank on one level, outermost level first
    std::string name;
    std::vector<int> number;  // by rank
    bool labelled;
  };
  std::vector<Cut> cuts;
  const std::size_t ranks = made.places_.size();
  if (Status status = sensitivity.check(made.ranks()); !status.ok()) {
    made.reason_ = status.text();
  } else if (sensitivity.is_explicit()) {
    for (std::size_t level = sensitivity.groups.size(); level-- > 0;) {
      Cut &cut = cuts.emplace_back(Cut{"list " + std::to_string(level + 1), std::vector<int>(ranks), false});
      for (std::size_t group = 0; group < sensitivity.groups[level].size(); ++group)
        for (int rank : sensitivity.groups[level][group]) cut.number[at(rank)] = static_cast<int>(group);
    }
  } else {
    for (auto domain = sensitivity.domains.rbegin(); domain != sensitivity.domains.rend(); ++domain) {
      Cut &cut = cuts.emplace_back(Cut{domain_name(*domain), std::vector<int>(ranks), true});
      for (std::size_t rank = 0; rank < ranks; ++rank) cut.number[rank] = number_in(made.places_[rank], *domain);
    }
    made.reason_ = why_blind(made.places_, sensitivity);
  }

  Partition partition(ranks, 0);
  made.add_level({"node", partition, std::vector<int>(ranks, -1)});
  for (Cut &cut : cuts) {
    Partition inner = refine(partition, cut.number);
    if (inner == partition || groups_nothing(inner)) continue;
    partition = inner;
    if (!cut.labelled) cut.number.assign(ranks, -1);
    made.add_level({std::move(cut.name), std::move(inner), std::move(cut.number)});
  }
  std::ranges::reverse(made.levels_);
  made.link();
  return made;
}

Hierarchy Hierarchy::flat(int ranks) { return from_places(std::vector<Place>(at(ranks)), Sensitivity{}); }

void Hierarchy::add_level(NewLevel made) {
  Level &level = levels_.emplace_back();
  level.name = std::move(made.name);
  level.domain_of = std::move(made.partition);
  for (int rank = 0; rank < ranks(); ++rank) {
    if (level.domain_of[at(rank)] < static_cast<int>(level.domains.size())) continue;
    DomainNode &domain = level.domains.emplace_back();
    domain.lowest = rank;
    domain.label = made.label[at(rank)];
  }
}

// Sets the members and parents of all domains, innermost level first.
void Hierarchy::link() {
  position_.resize(places_.size());
  Level &bottom = levels_.front();
  for (int rank = 0; rank < ranks(); ++rank) {
    auto &members = bottom.domains[at(bottom.domain_of[at(rank)])].members;
    position_[at(rank)] = static_cast<int>(members.size());
    members.push_back(rank);
  }
  for (std::size_t level = 1; level < levels_.size(); ++level) {
    auto &inner = levels_[level - 1].domains;
    for (int domain = 0; domain < static_cast<int>(inner.size()); ++domain) {
      const int outer = levels_[level].domain_of[at(inner[at(domain)].lowest)];
      auto &members = levels_[level].domains[at(outer)].members;
      inner[at(domain)].parent = outer;
      inner[at(domain)].position = static_cast<int>(members.size());
      members.push_back(domain);
    }
  }
}

// ---- queries ----------------------------------------------------------------------------------------------

Distance Hierarchy::distance(int a, int b) const {
  if (a == b) return Distance::self;
  // Two ranks may share a processing unit, but they are still two processes: their distance is at least `core`.
  return std::max(topo::distance(place(a), place(b)), Distance::core);
}

bool Hierarchy::rank_ordered() const {
  // Domains are numbered by their lowest ranks, so each holds consecutive ranks if the numbers never decrease.
  return std::ranges::all_of(levels_, [](const Level &level) { return std::ranges::is_sorted(level.domain_of); });
}

std::vector<int> Hierarchy::ranks_of(int level, int index) const {
  std::vector<int> inside;
  const auto &domain_of = levels_[at(level)].domain_of;
  for (int rank = 0; rank < ranks(); ++rank)
    if (domain_of[at(rank)] == index) inside.push_back(rank);
  return inside;
}

int Tree::ranks() const { return hierarchy_->ranks(); }
int Tree::levels() const { return hierarchy_->levels(); }
int Tree::groups(int level) const { return hierarchy_->groups(level); }

int Tree::group_index(int rank, int level) const { return hierarchy_->levels_[at(level)].domain_of[at(rank)]; }

int Tree::leader(int rank, int level) const { return hierarchy_->leader_of(level, group_index(rank, level), root_); }

int Tree::group_size(int rank, int level) const {
  return static_cast<int>(hierarchy_->levels_[at(level)].domains[at(group_index(rank, level))].members.size());
}

int Tree::levels_led(int rank) const {
  int level = 0;
  while (level < levels() && leads(rank, level)) ++level;
  return level;
}

int Tree::parent_level(int rank) const {
  const int level = levels_led(rank);
  return level < levels() ? level : -1;
}

int Tree::parent(int rank) const {
  const int level = parent_level(rank);
  return level < 0 ? -1 : leader(rank, level);
}

Group Tree::group(int level, int index) const {
  Group group{level, index, {}};
  const auto &domain = hierarchy_->levels_[at(level)].domains[at(index)];
  const int leader = hierarchy_->leader_of(level, index, root_);
  group.members.reserve(domain.members.size());
  group.members.push_back(leader);
  for (int member : domain.members) {
    const int rank = level == 0 ? member : hierarchy_->leader_of(level - 1, member, root_);
    if (rank != leader) group.members.push_back(rank);
  }
  return group;
}

Group Tree::group_of(int rank, int level) const { return group(level, group_index(rank, level)); }

int Tree::position(int rank, int level) const {
  if (!takes_part(rank, level) || level >= levels()) return -1;
  const auto &h = *hierarchy_;
  const auto stored = [&](int of) {
    return level == 0 ? h.position_[at(of)] : h.levels_[at(level - 1)].domains[at(group_index(of, level - 1))].position;
  };
  const int mine = stored(rank), leaders = stored(leader(rank, level));
  if (mine == leaders) return 0;
  return mine < leaders ? mine + 1 : mine;
}

std::vector<int> Tree::children(int rank, int level) const {
  if (level >= levels_led(rank)) return {};
  std::vector<int> members = group_of(rank, level).members;
  members.erase(members.begin());
  return members;
}

std::vector<int> Tree::children(int rank) const {
  std::vector<int> all;
  for (int level = levels_led(rank); level-- > 0;) {
    const std::vector<int> some = children(rank, level);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace coll::topo
