// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "topo/source.h"

namespace coll::topo {
namespace {

// Twice the number of the largest machines. hwloc compares each object with its siblings, which takes 2 s for 4096 and
// 14 s for 8192.
constexpr std::uint64_t pu_limit = 4096;

struct Word {
  std::string_view name;   // in a user's description
  std::string_view hwloc;  // in hwloc's description
  int size;                // must be smaller than that of all words before it; 0: any position
};
// Words for NUMA nodes and groups may be anywhere between packages and cores, before or after caches.
constexpr std::array<Word, 14> words{{{"package", "package", 9},
                                      {"socket", "package", 9},
                                      {"die", "die", 8},
                                      {"group", "group", 0},
                                      {"numa", "numa", 0},
                                      {"numanode", "numa", 0},
                                      {"l3", "l3", 6},
                                      {"l3cache", "l3", 6},
                                      {"l2", "l2", 5},
                                      {"l2cache", "l2", 5},
                                      {"l1d", "l1d", 4},
                                      {"l1", "l1d", 4},
                                      {"core", "core", 3},
                                      {"pu", "pu", 2}}};

Status bad(std::string what) {
  return Status::error("synthetic topology: " + std::move(what) +
                       "; write TYPE:COUNT words from the largest to the smallest, counts per parent, as in "
                       "\"package:2 numa:4 core:8\" (types: package, die, group, numa, l3, l2, l1d, core, pu)");
}

// Removes the next word, with its attributes in parentheses, from the text and returns it; "" at the end.
std::string_view next_word(std::string_view &text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return text = {};
  text.remove_prefix(first);
  std::size_t end = 0;
  for (int depth = 0; end < text.size(); ++end) {
    if (text[end] == '(') ++depth;
    if (text[end] == ')') --depth;
    if (depth == 0 && (text[end] == ' ' || text[end] == '\t')) break;
  }
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

const Word *find_word(std::string_view name) {
  for (const Word &word : words)
    if (word.name == name) return &word;
  return nullptr;
}

// Returns the first attribute in a list such as "(size=1MB indexes=0,1)" that hwloc does not know; "" if there is none.
// Some versions of hwloc ignore an unknown attribute, others reject the text.
std::string_view unknown_attribute(std::string_view list) {
  constexpr std::array<std::string_view, 4> known{"size", "memory", "memorysidecachesize", "indexes"};
  list = list.substr(1, list.size() - 2);
  while (true) {
    const auto first = list.find_first_not_of(" \t,");
    if (first == std::string_view::npos) return {};
    list.remove_prefix(first);
    const std::string_view attribute = list.substr(0, list.find_first_of(" \t"));
    if (std::find(known.begin(), known.end(), attribute.substr(0, attribute.find('='))) == known.end())
      return attribute;
    list.remove_prefix(attribute.size());
  }
}

}  // namespace

Status check_synthetic(std::string_view text, std::string &hwloc_text) {
  std::string made;
  std::string_view last_type;
  std::uint64_t pus = 1;
  int smallest = 10, numa_words = 0;
  for (std::string_view rest = text, token = next_word(rest); !token.empty(); token = next_word(rest)) {
    const std::string quoted = "'" + std::string(token) + "'";
    const auto colon = token.find(':');
    if (colon == std::string_view::npos) return bad(quoted + " has no count");
    const Word *word = find_word(token.substr(0, colon));
    if (word == nullptr) return bad("unknown type '" + std::string(token.substr(0, colon)) + "'");

    std::string_view tail = token.substr(colon + 1);
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(tail.data(), tail.data() + tail.size(), count);
    if (error == std::errc::invalid_argument) return bad("no count in " + quoted);
    if (count == 0 && error == std::errc{}) return bad("the count of " + quoted + " is zero");
    if (error != std::errc{} || count > pu_limit || pus * count > pu_limit)
      return bad(quoted + " makes more than " + std::to_string(pu_limit) + " processing units");
    tail = tail.substr(static_cast<std::size_t>(end - tail.data()));
    if (!tail.empty() && (tail.front() != '(' || tail.find(')') != tail.size() - 1))
      return bad("unexpected '" + std::string(tail) + "' after the count in " + quoted);
    if (const std::string_view unknown = tail.empty() ? tail : unknown_attribute(tail); !unknown.empty())
      return bad("unknown attribute '" + std::string(unknown) + "' in " + quoted);

    if (word->size > 0 && word->size >= smallest) return bad(quoted + " comes after a level that is not larger");
    if (word->hwloc == "numa" && ++numa_words > 1) return bad("numa is given twice");
    if (word->size == 0 && smallest <= 3) return bad(quoted + " is inside a core");
    if (word->size > 0) smallest = word->size;
    pus *= count;
    if (!made.empty()) made += ' ';
    made += std::string(word->hwloc) + ":" + std::to_string(count) + std::string(tail);
    last_type = word->hwloc;
  }
  if (made.empty()) return bad("the description is empty");
  if (last_type != "pu") made += " pu:1";
  hwloc_text = std::move(made);
  return {};
}

}  // namespace coll::topo
