// SPDX-License-Identifier: BSD-3-Clause
#include "plan/expression.h"

#include <algorithm>
#include <bit>

namespace coll::plan {

namespace {
size_t hash(Expression a, Expression b) { return size_t(((uint64_t(a) << 32 | b) * 0x9e3779b97f4a7c15u) >> 20); }
}  // namespace

Expressions::Expressions(int ranks) : words_((size_t(ranks) + 63) / 64), table_(256) {
  nodes_.resize(size_t(ranks) + 1);
  sets_.resize(nodes_.size() * words_);
  for (int rank = 0; rank < ranks; ++rank) {
    Node& node = nodes_[input(rank)];
    node.unordered = input(rank);
    sets_[input(rank) * words_ + size_t(rank) / 64] = uint64_t(1) << (rank % 64);
  }
}

void Expressions::grow() {
  std::vector<Expression> larger(table_.size() * 2);
  for (Expression e : table_) {
    if (e == 0) continue;
    size_t at = hash(nodes_[e].left, nodes_[e].right) & (larger.size() - 1);
    while (larger[at] != 0) at = (at + 1) & (larger.size() - 1);
    larger[at] = e;
  }
  table_.swap(larger);
}

Expression Expressions::combine(Expression a, Expression b) {
  size_t at = hash(a, b) & (table_.size() - 1);
  for (; table_[at] != 0; at = (at + 1) & (table_.size() - 1))
    if (nodes_[table_[at]].left == a && nodes_[table_[at]].right == b) return table_[at];
  return insert(a, b);
}

Expression Expressions::insert(Expression a, Expression b) {
  if (nodes_.size() * 2 > table_.size()) grow();
  Expression e = Expression(nodes_.size());
  Node node;
  node.left = a;
  node.right = b;
  node.once = nodes_[a].once && nodes_[b].once;
  for (size_t w = 0; w < words_; ++w) {
    if ((sets_[a * words_ + w] & sets_[b * words_ + w]) != 0) node.once = false;
    uint64_t both = sets_[a * words_ + w] | sets_[b * words_ + w];
    sets_.push_back(both);
  }
  nodes_.push_back(node);
  size_t at = hash(a, b) & (table_.size() - 1);
  while (table_[at] != 0) at = (at + 1) & (table_.size() - 1);
  table_[at] = e;
  return e;
}

Expression Expressions::balanced_fold(int first, int last) {
  if (last - first == 1) return input(first);
  const int left = int(std::bit_floor(unsigned(last - first - 1)));
  return combine(balanced_fold(first, first + left), balanced_fold(first + left, last));
}

Expression Expressions::unordered(Expression e) {
  if (e == 0 || nodes_[e].unordered != 0) return nodes_[e].unordered;
  Expression a = unordered(nodes_[e].left), b = unordered(nodes_[e].right);
  Expression same = combine(std::min(a, b), std::max(a, b));
  nodes_[same].unordered = same;
  nodes_[e].unordered = same;
  return same;
}

bool Expressions::complete(Expression e, int ranks) const {
  if (e == 0 || !nodes_[e].once) return false;
  int present = 0, below = 0;
  for (size_t w = 0; w < words_; ++w) {
    const uint64_t set = sets_[e * words_ + w];
    const int first = int(w) * 64;
    present += std::popcount(set);
    if (ranks >= first + 64) below += std::popcount(set);
    else if (ranks > first) below += std::popcount(set & ((uint64_t(1) << (ranks - first)) - 1));
  }
  return present == ranks && below == ranks;
}

void Expressions::write(Expression e, std::string& out) const {
  if (out.size() > 4000) return;  // text() shortens the string anyway
  if (e == 0) {
    out += "undefined";
  } else if (nodes_[e].left == 0) {
    out += std::to_string(e - 1);
  } else {
    out += '(';
    write(nodes_[e].left, out);
    out += '+';
    write(nodes_[e].right, out);
    out += ')';
  }
}

std::string Expressions::text(Expression e) const {
  std::string out;
  write(e, out);
  if (out.size() > 160) out = out.substr(0, 100) + " ... " + out.substr(out.size() - 40);
  return out;
}

}  // namespace coll::plan
