// SPDX-License-Identifier: BSD-3-Clause
#include "topo/sensitivity.h"

#include <algorithm>
#include <charconv>

namespace coll::topo {
namespace {

constexpr int rank_limit = 1 << 20;  // keeps "0-999999999" from exhausting the memory

constexpr const char *hint =
    "; write domains as in \"numa,socket\" (core, l2, l3, numa, socket), \"flat\", or groups of ranks as in "
    "\"0-3,4-7/0-7\"";

Status bad(std::string what) { return Status::error("sensitivity: " + std::move(what) + hint); }

std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(trim(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool parse_rank(std::string_view text, int &rank) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  return error == std::errc{} && end == text.data() + text.size() && rank >= 0 && rank < rank_limit;
}

bool parse_domain(std::string_view word, Domain &domain) {
  for (Domain candidate : {Domain::core, Domain::l2, Domain::l3, Domain::numa, Domain::socket})
    if (word == domain_name(candidate)) return domain = candidate, true;
  if (word == "package") return domain = Domain::socket, true;
  return false;
}

Status parse_domains(std::string_view text, Sensitivity &out) {
  Sensitivity found;
  for (std::string_view word : split(text, ',')) {
    Domain domain;
    if (!parse_domain(word, domain)) return bad("unknown word " + quote(word));
    if (std::ranges::count(found.domains, domain) != 0) return bad(quote(word) + " is given twice");
    found.domains.push_back(domain);
  }
  std::ranges::sort(found.domains);
  out = std::move(found);
  return {};
}

Status parse_group(std::string_view text, std::vector<int> &group) {
  for (std::string_view part : split(text, '+')) {
    const auto dash = part.find('-');
    int first = 0, last = 0;
    if (!parse_rank(trim(part.substr(0, dash)), first)) return bad("no rank or range of ranks: " + quote(part));
    last = first;
    if (dash != std::string_view::npos && !parse_rank(trim(part.substr(dash + 1)), last))
      return bad("no rank or range of ranks: " + quote(part));
    if (last < first) return bad("the range " + quote(part) + " runs backwards");
    for (int rank = first; rank <= last; ++rank) group.push_back(rank);
  }
  std::ranges::sort(group);
  const auto twice = std::ranges::adjacent_find(group);
  if (twice != group.end()) return bad("rank " + std::to_string(*twice) + " is twice in " + quote(text));
  return {};
}

Status parse_groups(std::string_view text, Sensitivity &out) {
  Sensitivity found;
  for (std::string_view level_text : split(text, '/')) {
    auto &level = found.groups.emplace_back();
    for (std::string_view group_text : split(level_text, ',')) {
      if (Status status = parse_group(group_text, level.emplace_back()); !status.ok()) return status;
    }
    std::ranges::sort(level);
  }
  out = std::move(found);
  return {};
}

// Sets the group of each rank on one level. Returns an error if a rank is missing, out of range or in two groups.
Status index_groups(const std::vector<std::vector<int>> &level, const std::string &name, int ranks,
                    std::vector<int> &group_of) {
  group_of.assign(static_cast<std::size_t>(ranks), -1);
  for (std::size_t group = 0; group < level.size(); ++group) {
    for (int rank : level[group]) {
      if (rank < 0 || rank >= ranks)
        return bad(name + " names rank " + std::to_string(rank) + " but there are only " + std::to_string(ranks) +
                   " ranks");
      int &at = group_of[static_cast<std::size_t>(rank)];
      if (at >= 0) return bad(name + " has rank " + std::to_string(rank) + " in two groups");
      at = static_cast<int>(group);
    }
  }
  const auto missing = std::ranges::find(group_of, -1);
  if (missing != group_of.end())
    return bad(name + " leaves out rank " + std::to_string(missing - group_of.begin()) + " of " +
               std::to_string(ranks));
  return {};
}

std::string group_text(const std::vector<int> &group) {
  std::string text;
  for (std::size_t i = 0; i < group.size();) {
    std::size_t last = i;
    while (last + 1 < group.size() && group[last + 1] == group[last] + 1) ++last;
    if (!text.empty()) text += '+';
    text += std::to_string(group[i]);
    if (last > i) text += '-' + std::to_string(group[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace

const char *domain_name(Domain domain) {
  switch (domain) {
    case Domain::core: return "core";
    case Domain::l2: return "l2";
    case Domain::l3: return "l3";
    case Domain::numa: return "numa";
    case Domain::socket: return "socket";
  }
  return "socket";
}

Status Sensitivity::parse(std::string_view text, Sensitivity &out) {
  text = trim(text);
  if (text.empty() || text == "flat") {
    out = {};
    return {};
  }
  return text.find_first_not_of("0123456789-+,/ \t") == std::string_view::npos ? parse_groups(text, out)
                                                                               : parse_domains(text, out);
}

Status Sensitivity::check(int ranks) const {
  std::vector<int> inner, outer;
  for (std::size_t level = 0; level < groups.size(); ++level) {
    const std::string name = "level " + std::to_string(level + 1) + " of the groups";
    if (Status status = index_groups(groups[level], name, ranks, outer); !status.ok()) return status;
    if (level > 0) {
      for (const auto &group : groups[level - 1]) {
        for (int rank : group) {
          if (outer[static_cast<std::size_t>(rank)] != outer[static_cast<std::size_t>(group.front())])
            return bad(name + " splits the group " + group_text(group) + " of the level below");
        }
      }
    }
    inner.swap(outer);
  }
  return {};
}

std::string Sensitivity::text() const {
  if (flat()) return "flat";
  std::string text;
  if (!is_explicit()) {
    for (Domain domain : domains) text += (text.empty() ? "" : ",") + std::string(domain_name(domain));
    return text;
  }
  for (const auto &level : groups) {
    if (!text.empty()) text += '/';
    for (std::size_t group = 0; group < level.size(); ++group)
      text += (group == 0 ? "" : ",") + group_text(level[group]);
  }
  return text;
}

}  // namespace coll::topo
