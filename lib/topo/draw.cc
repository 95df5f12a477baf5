// SPDX-License-Identifier: BSD-3-Clause
// Formats a hierarchy as text, for log lines and for `collctl info`.
#include <algorithm>

#include "topo/hierarchy.h"

namespace coll::topo {
namespace {

// Returns, for example, "0-3 8 12-15".
std::string ranges(const std::vector<int> &ascending) {
  std::string text;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    if (!text.empty()) text += ' ';
    text += std::to_string(ascending[i]);
    if (last > i) text += (last == i + 1 ? ' ' : '-') + std::to_string(ascending[last]);
    i = last + 1;
  }
  return text;
}

std::string plural(int count, const char *what) { return std::to_string(count) + " " + what + (count == 1 ? "" : "s"); }

}  // namespace

// A friend of Hierarchy: it reads the domains themselves, of which public queries return only leaders.
class Draw {
 public:
  Draw(const Hierarchy &hierarchy, int root) : hierarchy_(hierarchy), tree_(hierarchy.tree_for_root(root)) {}

  // Returns "4", or "3-4" if the sizes of the level's groups differ.
  std::string sizes(int level) const {
    int least = hierarchy_.ranks(), most = 0;
    for (const auto &domain : hierarchy_.levels_[static_cast<std::size_t>(level)].domains) {
      const int size = static_cast<int>(domain.members.size());
      least = std::min(least, size);
      most = std::max(most, size);
    }
    return least == most ? std::to_string(most) : std::to_string(least) + "-" + std::to_string(most);
  }

  void group(int level, int index, std::string &text) const {
    const auto &domain = hierarchy_.levels_[static_cast<std::size_t>(level)].domains[static_cast<std::size_t>(index)];
    const Group members = tree_.group(level, index);
    text += std::string(2 * static_cast<std::size_t>(hierarchy_.levels() - level), ' ') + name(level, index);
    text += ": leader " + std::to_string(members.leader());
    if (members.members.size() > 1) text += ", members " + ranges({members.members.begin() + 1, members.members.end()});
    text += '\n';
    if (level == 0) return;
    for (int inner : domain.members) group(level - 1, inner, text);
  }

 private:
  std::string name(int level, int index) const {
    const auto &at = hierarchy_.levels_[static_cast<std::size_t>(level)];
    if (level + 1 == hierarchy_.levels()) return at.name;
    const int label = at.domains[static_cast<std::size_t>(index)].label;
    if (label >= 0) return at.name + " " + std::to_string(label);
    return at.name.starts_with("list") ? at.name + " group " + std::to_string(index) : at.name + " not known";
  }

  const Hierarchy &hierarchy_;
  Tree tree_;
};

std::string describe(const Hierarchy &hierarchy) {
  std::string text = plural(hierarchy.ranks(), "rank");
  if (hierarchy.is_flat()) {
    text += ", flat";
  } else {
    const Draw draw(hierarchy, 0);
    text += ": ";
    for (int level = hierarchy.levels() - 1; level >= 0; --level) {
      if (level > 0) text += hierarchy.level_name(level - 1) + " ";
      text += draw.sizes(level);
      if (level > 0) text += " × ";
    }
  }
  if (!hierarchy.reason().empty()) text += " (" + hierarchy.reason() + ")";
  return text;
}

std::string draw(const Hierarchy &hierarchy, int root) {
  std::string text = describe(hierarchy) + "\n";
  if (hierarchy.ranks() > 0) Draw(hierarchy, root).group(hierarchy.levels() - 1, 0, text);
  return text;
}

}  // namespace coll::topo
