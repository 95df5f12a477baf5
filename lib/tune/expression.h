// SPDX-License-Identifier: BSD-3-Clause
// Numbers that depend on the situation, as rules write them: "max(4K, up(n/4))", "p>2", "processor~EPYC".
//
//   expression  comparison { "|" comparison }              1 if any holds, else 0
//   comparison  sum [ ("=" | "!=" | "<" | "<=" | ">" | ">=") sum ]
//   sum         product { ("+" | "-") product }
//   product     value { ("*" | "/") value }
//   value       NUMBER[K|M|G]  FACT  NAME  "!" value  "(" expression ")"  "processor" "~" WORD
//               min(a, b, ...)  max(a, b, ...)  up(a): the next power of two  down(a): the one before
//
// Facts are those of fact_names(); a NAME is defined by a book. All numbers are real; only results are rounded down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tune/situation.h"

namespace coll::tune {

// What is wrong with a text, and where.
struct Bad {
  size_t at;
  std::string why;
};

// The names that a book defines, and their values.
class Names {
 public:
  virtual ~Names() = default;
  // The number of `name`; nullopt: no such name.
  virtual std::optional<size_t> find(std::string_view name, size_t at) = 0;
  virtual double value(size_t name, const Situation& situation) const = 0;
};

enum class Op : uint8_t {
  number,
  fact,
  name,
  processor,
  invert,
  up,
  down,  // one result of nothing, or of one operand
  add,
  subtract,
  multiply,
  divide,
  min,
  max,
  equal,
  differ,
  less,
  at_most,
  more,
  at_least,
  either,
};

// Compiled: a call evaluates a few dozen steps and allocates nothing.
class Expression {
 public:
  bool empty() const { return steps_.empty(); }
  // Of an expression that depends on nothing.
  std::optional<double> constant() const;
  double value(const Situation& situation, const Names& names) const;
  bool holds(const Situation& situation, const Names& names) const { return value(situation, names) != 0; }
  // The names that it uses.
  std::vector<size_t> names() const;

 private:
  friend class Reader;
  struct Step {
    Op op = Op::number;
    size_t index = 0;  // of the fact or the name
    double number = 0;
    std::string word;  // of the processor's name
  };
  std::vector<Step> steps_;  // operands before their operator
};

// Reads a text from its beginning. Throws Bad.
class Reader {
 public:
  Reader(std::string_view text, Names& names) : text_(text), names_(&names) {}
  Expression expression();
  // One that stands for a number: no comparison, and no "|", which separates candidates.
  Expression number();
  // "64K"; 0 if there is no number.
  double literal();
  // Letters, digits, '_' and '-' from here on; "" if there are none.
  std::string_view word();
  bool takes(std::string_view token);  // and goes on behind it
  void expect(std::string_view token, const char* why);
  bool at_end();  // of the text, or of a statement: the next line is not indented
  std::string_view rest_of_line();
  void next_statement();
  bool done() { return skip_lines(), at_ == text_.size(); }
  size_t at() const { return at_; }
  std::string_view text() const { return text_; }

 private:
  Expression checked(Expression made);
  void skip();
  void skip_lines();
  void comparison(Expression& to);
  void sum(Expression& to);
  void product(Expression& to);
  void value(Expression& to);
  void call(Expression& to, std::string_view function, size_t begin);
  [[noreturn]] void fail(const std::string& why) { throw Bad{at_, why}; }

  std::string_view text_;
  Names* names_;
  size_t at_ = 0;
  size_t depth_ = 0;  // of value()
};

// "n, p, l2, ...".
std::string fact_names();

// "64K" or "65536"; K, M and G allowed. 0 if it is no size.
size_t parse_size(std::string_view text);

}  // namespace coll::tune
