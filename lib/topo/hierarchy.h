// SPDX-License-Identifier: BSD-3-Clause
// Groups of ranks, level by level, as hierarchical collectives use them (XHC III-A, IV-A).
//
// Level 0 groups hold all ranks of the innermost domains; a level k group holds the leaders of the level k-1
// groups inside its domain; the last level is one group. Levels that would group nothing are left out, so
// there is always at least one level and a flat hierarchy has exactly one.
//
// The domains do not depend on the root, only the leaders do: the root leads every group whose domain it is
// in, every other group is led by its domain's lowest rank. A Tree is therefore only a view (two words), and
// every root costs the same. All queries are O(1) or O(levels), those that return members O(group).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topo/place.h"
#include "topo/sensitivity.h"

namespace coll::topo {

struct Group {
  int level = 0;
  int index = 0;             // among the groups of its level, ordered by the domain's lowest rank
  std::vector<int> members;  // leader first, the others in the order of their domains' lowest ranks
  int leader() const { return members.front(); }
};

class Hierarchy;

// The hierarchy as seen from one root. It refers to the hierarchy, which must outlive it and not be moved.
class Tree {
 public:
  int root() const { return root_; }
  int ranks() const;
  int levels() const;

  // ---- one rank ----
  // How many levels the rank leads: it leads levels 0 .. n-1 and is a plain member of level n. 0 for a leaf,
  // levels() for the root.
  int levels_led(int rank) const;
  bool leads(int rank, int level) const { return leader(rank, level) == rank; }
  // The rank is a member of a group of that level: it leads all levels below.
  bool takes_part(int rank, int level) const { return level <= levels_led(rank); }
  // The rank it gets a broadcast from, and the level of that group; -1 for the root.
  int parent(int rank) const;
  int parent_level(int rank) const;
  // The members that it leads at that level; empty when it does not lead.
  std::vector<int> children(int rank, int level) const;
  // All its children, outermost level first.
  std::vector<int> children(int rank) const;

  // ---- the group of one rank at one level (of its domain, where the rank itself takes no part) ----
  int leader(int rank, int level) const;
  int group_index(int rank, int level) const;
  int group_size(int rank, int level) const;
  Group group_of(int rank, int level) const;
  // Index in group_of().members, 0 for the leader; -1 when the rank takes no part.
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
  // No ranks and no levels; only good for being assigned to.
  Hierarchy() = default;
  // Never fails and depends on nothing but its arguments, so that all ranks build the same: explicit groups
  // that do not fit (see Sensitivity::check) give a flat hierarchy and a reason. Ranks whose place is -1 in a
  // domain form one group of their own inside the next outer domain. REQUIRES: at least one place.
  static Hierarchy from_places(std::vector<Place> places, const Sensitivity &sensitivity = Sensitivity::standard());
  static Hierarchy flat(int ranks);

  int ranks() const { return static_cast<int>(places_.size()); }
  int levels() const { return static_cast<int>(levels_.size()); }
  bool is_flat() const { return levels() <= 1; }
  const Place &place(int rank) const { return places_[static_cast<std::size_t>(rank)]; }
  const std::vector<Place> &places() const { return places_; }
  // self for a == b, else by their places.
  Distance distance(int a, int b) const;
  // What the groups of a level are: "l3", "numa", "socket", "list 1"; the last level is "node".
  const std::string &level_name(int level) const { return levels_[static_cast<std::size_t>(level)].name; }
  int groups(int level) const { return static_cast<int>(levels_[static_cast<std::size_t>(level)].domains.size()); }
  // Every domain holds consecutive ranks: reducing level by level keeps rank order.
  bool rank_ordered() const;
  // All ranks below a group, ascending.
  std::vector<int> ranks_of(int level, int index) const;
  // Why it is flatter than asked for; "" when it is as asked.
  const std::string &reason() const { return reason_; }
  const Sensitivity &sensitivity() const { return sensitivity_; }

  // REQUIRES: 0 <= root < ranks().
  Tree tree_for_root(int root) const { return Tree(*this, root); }

 private:
  friend class Tree;
  friend class Draw;
  struct DomainNode {
    int lowest = 0;            // lowest rank in the domain: its leader unless the root is inside
    int parent = -1;           // domain of the next level
    int position = 0;          // among its parent's members
    int label = -1;            // the machine's number of the domain, -1 when unknown or explicit
    std::vector<int> members;  // level 0: ranks; else domains of the level below; ordered by lowest rank
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

// What a small group has few of. ranks: its leader looks at a flag of each. l3s: they look at a flag of the leader, whose
// line goes to every L3 once; a rank without a known L3 counts for itself.
enum class Counted : std::uint8_t { ranks, l3s };
inline constexpr int small_group = 16;
// The same ranks in groups that have at most `most` of that: level by level the widest domains of the hierarchy that are
// small enough, else consecutive parts of them. A hierarchy of `most` ranks or fewer stays as it is. REQUIRES: most >= 2.
Hierarchy in_small_groups(const Hierarchy &of, Counted counted, int most = small_group);

// "2 ranks, flat", "64 ranks: socket 2 × numa 4 × 8" (outermost first; 3-4 where sizes differ), with the reason
// in parentheses when there is one. One line, the same on all ranks.
std::string describe(const Hierarchy &hierarchy);
// The groups as an indented text, one line per group, with leaders for the given root.
std::string draw(const Hierarchy &hierarchy, int root = 0);

}  // namespace coll::topo
