// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <vector>

#include "topo/hierarchy.h"

namespace coll::topo {
namespace {

using Groups = std::vector<std::vector<int>>;  // disjoint lists of ascending ranks, ordered by their lowest rank

// The units in each domain of a level, and the largest number of units in one domain.
struct Filled {
  std::map<int, Groups> units;  // by the lowest rank of the domain
  std::size_t most = 0;
};
Filled fill(const Hierarchy &hierarchy, int level, const Groups &units) {
  Filled filled;
  const Tree tree = hierarchy.tree_for_root(0);
  for (const std::vector<int> &unit : units) {
    Groups &inside = filled.units[tree.leader(unit.front(), level)];
    inside.push_back(unit);
    filled.most = std::max(filled.most, inside.size());
  }
  return filled;
}

// Joins consecutive units of each domain into the fewest groups of at most `most` units, all of about the same size.
Groups join(const Filled &filled, std::size_t most) {
  Groups joined;
  for (const auto &[lowest, units] : filled.units) {
    const std::size_t parts = (units.size() + most - 1) / most, first = joined.size();
    joined.resize(first + parts);
    for (std::size_t i = 0; i < units.size(); ++i) {
      std::vector<int> &group = joined[first + i * parts / units.size()];
      group.insert(group.end(), units[i].begin(), units[i].end());
    }
  }
  for (std::vector<int> &group : joined) std::ranges::sort(group);
  std::ranges::sort(joined);
  return joined;
}

Groups counted_once(const Hierarchy &hierarchy, Counted counted) {
  Groups units;
  std::map<int, std::size_t> unit_of;  // by L3
  for (int rank = 0; rank < hierarchy.ranks(); ++rank) {
    const int l3 = counted == Counted::l3s ? hierarchy.place(rank).l3 : -1;
    const auto [known, is_new] = unit_of.try_emplace(l3, units.size());
    if (l3 < 0 || is_new) units.push_back({rank});
    else units[known->second].push_back(rank);
  }
  return units;
}

}  // namespace

Hierarchy in_small_groups(const Hierarchy &of, Counted counted, int most) {
  if (of.ranks() <= most) return of;
  Sensitivity groups;
  Groups units = counted_once(of, counted);
  while (units.size() > std::size_t(most)) {
    // Use the widest domains with at most `most` units, otherwise split the narrowest domains that hold several units.
    Filled chosen;
    for (int level = of.levels(); level-- > 0;) {
      Filled filled = fill(of, level, units);
      if (filled.units.size() == units.size()) break;
      chosen = std::move(filled);
      if (chosen.most <= std::size_t(most)) break;
    }
    units = join(chosen, std::size_t(most));
    groups.groups.push_back(units);
  }
  return Hierarchy::from_places(of.places(), groups);
}

}  // namespace coll::topo
