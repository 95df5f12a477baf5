// SPDX-License-Identifier: BSD-3-Clause
// Nested groups of ranks for hierarchical collectives (XHC III-A, IV-A).
//
// A level 0 group holds all ranks of an innermost domain; a level k group holds the leaders of the level k-1 groups
// inside its domain; the last level is one group. Levels whose groups would all have one member are left out, but there
// is always at least one level, and a flat hierarchy has exactly one.
//
// The domains do not depend on the root, only the leaders do: the root leads every group whose domain contains it, and
// the lowest rank of its domain leads any other group. So a Tree is only a view (two words), and every root costs the
// same. Queries are O(1) or O(levels), and O(group) if they return members.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topo/place.h"
#include "topo/sensitivity.h"

namespace coll::topo {

struct Group {
  int level = 0;
  int index = 0;             // index among the groups of its level, ordered by the domains' lowest ranks
  std::vector<int> members;  // leader first, the others in the order of their domains' lowest ranks
  int leader() const { return members.front(); }
};

class Hierarchy;

// The hierarchy as seen from one root. It refers to the hierarchy, which must outlive it and must not be moved.
class Tree {
 public:
  int root() const { return root_; }
  int ranks() const;
  int levels() const;

  // ---- one rank ----
  // The number n of levels that the rank leads: it leads levels 0 .. n-1 and is a plain member on level n. 0 for a
  // leaf, levels() for the root.
  int levels_led(int rank) const;
  bool leads(int rank, int level) const { return leader(rank, level) == rank; }
  // Whether the rank is a member of a group on that level, because it leads all levels below.
  bool takes_part(int rank, int level) const { return level <= levels_led(rank); }
  // The rank from which it receives a broadcast, and the level of their group; -1 for the root.
  int parent(int rank) const;
  int parent_level(int rank) const;
  // The members that the rank leads on that level; empty if it does not lead.
  std::vector<int> children(int rank, int level) const;
  // All its children, outermost level first.
  std::vector<int> children(int rank) const;

  // ---- the group of a rank's domain on one level, even if the rank itself takes no part in it ----
  int leader(int rank, int level) const;
  int group_index(int rank, int level) const;
  int group_size(int rank, int level) const;
  Group group_of(int rank, int level) const;
  // Index in group_of().members, 0 for the leader; -1 if the rank takes no part.
  int position(int rank, int level) const;

  // ---- a whole level ----
  int groups(int level) const;
  Group group(int level, int index) const;

 private:
  friend class Hierarchy;
  Tree(const Hierarchy &hierarchy, int root) : hierarchy_(&hierarchy), root_(root) {}
  const Hierarchy *hierarchy_;
  int root_;
};

class Hierarchy {
 public:
  // A hierarchy without ranks and levels, for assignment only.
  Hierarchy() = default;
  // Never fails and depends on its arguments only, so that all ranks build the same hierarchy. Invalid explicit groups
  // (see Sensitivity::check) result in a flat hierarchy with a reason. Ranks whose place is -1 in a domain form a group
  // of their own inside the next outer domain. REQUIRES: at least one place.
  static Hierarchy from_places(std::vector<Place> places, const Sensitivity &sensitivity = Sensitivity::standard());
  static Hierarchy flat(int ranks);

  int ranks() const { return static_cast<int>(places_.size()); }
  int levels() const { return static_cast<int>(levels_.size()); }
  bool is_flat() const { return levels() <= 1; }
  const Place &place(int rank) const { return places_[static_cast<std::size_t>(rank)]; }
  const std::vector<Place> &places() const { return places_; }
  // self for a == b, otherwise from their places, but at least `core`.
  Distance distance(int a, int b) const;
  // The name of a level's groups: "l3", "numa", "socket", "list 1"; that of the last level is "node".
  const std::string &level_name(int level) const { return levels_[static_cast<std::size_t>(level)].name; }
  int groups(int level) const { return static_cast<int>(levels_[static_cast<std::size_t>(level)].domains.size()); }
  // Whether every domain holds consecutive ranks, so that reducing level by level keeps rank order.
  bool rank_ordered() const;
  // All ranks in the domain of a group, ascending.
  std::vector<int> ranks_of(int level, int index) const;
  // The reason why it has fewer levels than requested; "" if there is none.
  const std::string &reason() const { return reason_; }
  const Sensitivity &sensitivity() const { return sensitivity_; }

  // REQUIRES: 0 <= root < ranks().
  Tree tree_for_root(int root) const { return Tree(*this, root); }

 private:
  friend class Tree;
  friend class Draw;
  struct DomainNode {
    int lowest = 0;            // lowest rank of the domain: its leader unless the root is inside
    int parent = -1;           // index of the domain on the next level
    int position = 0;          // index among its parent's members
    int label = -1;            // the machine's number of the domain; -1 if unknown or explicit
    std::vector<int> members;  // level 0: ranks; other levels: domains of the level below; ordered by lowest rank
  };
  struct Level {
    std::string name;
    std::vector<int> domain_of;  // by rank
    std::vector<DomainNode> domains;
  };
  using Partition = std::vector<int>;  // rank -> domain, numbered by lowest rank
  struct NewLevel {
    std::string name;
    Partition partition;
    std::vector<int> label;  // by rank
  };
  void add_level(NewLevel made);
  void link();
  int leader_of(int level, int domain, int root) const {
    const Level &at = levels_[static_cast<std::size_t>(level)];
    return at.domain_of[static_cast<std::size_t>(root)] == domain ? root
                                                                  : at.domains[static_cast<std::size_t>(domain)].lowest;
  }

  std::vector<Place> places_;
  std::vector<int> position_;  // of a rank in its level 0 group
  std::vector<Level> levels_;
  Sensitivity sensitivity_;
  std::string reason_;
};

// The unit by which the size of a small group is limited. ranks: the leader polls a flag of each member. l3s: the
// members poll a flag of the leader, whose line is transferred to every L3 once; a rank without a known L3 counts as
// one.
enum class Counted : std::uint8_t { ranks, l3s };
inline constexpr int small_group = 16;
// Returns the same ranks in groups of at most `most` units. On each level the groups are the widest domains of the
// hierarchy that are small enough, otherwise consecutive parts of domains. A hierarchy of `most` ranks or fewer is
// returned unchanged. REQUIRES: most >= 2.
Hierarchy in_small_groups(const Hierarchy &of, Counted counted, int most = small_group);

// Returns one line, the same on all ranks: "2 ranks, flat" or "64 ranks: socket 2 × numa 4 × 8" (outermost first; 3-4
// if sizes differ), followed by the reason in parentheses if there is one.
std::string describe(const Hierarchy &hierarchy);
// Returns the groups as an indented text, one line per group, with the leaders for the given root.
std::string draw(const Hierarchy &hierarchy, int root = 0);

}  // namespace coll::topo
