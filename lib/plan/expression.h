// SPDX-License-Identifier: BSD-3-Clause
// Symbolic values: the content of an element of a buffer is an expression over the ranks' inputs. Expressions are
// hash-consed (equal ones have the same number), so copying means copying a number, comparing means comparing two
// numbers, and a reduction costs a look-up in a table whose size depends on the ranks and not on the vector.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coll::plan {

using Expression = uint32_t;  // 0: undefined

class Expressions {
 public:
  explicit Expressions(int ranks);

  static Expression input(int rank) { return Expression(rank) + 1; }
  // Returns a op b, in this order.
  Expression combine(Expression a, Expression b);
  // Returns fold(first, last), see Plan::balanced. REQUIRES: first < last.
  Expression balanced_fold(int first, int last);

  // Whether the input of each of the first `ranks` ranks, and of no other, occurs exactly once.
  bool complete(Expression e, int ranks) const;
  // Maps expressions that differ only in the order of operands within brackets to the same one: a commutative op gives
  // equal bits for them.
  Expression unordered(Expression e);

  // "((0+1)+(2+3))", shortened in the middle when long.
  std::string text(Expression e) const;

 private:
  struct Node {
    Expression left = 0, right = 0;
    Expression unordered = 0;
    bool once = true;  // no input occurs twice
  };
  Expression insert(Expression a, Expression b);
  void grow();
  void write(Expression e, std::string& out) const;

  size_t words_;  // 64-bit words of a set of ranks
  std::vector<Node> nodes_;
  std::vector<uint64_t> sets_;  // inputs that occur in each node, words_ per node
  std::vector<Expression> table_;
};

}  // namespace coll::plan
