// SPDX-License-Identifier: BSD-3-Clause
// Expressions of rules: numbers that depend on the situation, such as "max(4K, up(n/4))", "p>2", "processor~EPYC".
//
//   expression  comparison { "|" comparison }              1 if any holds, else 0
//   comparison  sum [ ("=" | "!=" | "<" | "<=" | ">" | ">=") sum ]
//   sum         product { ("+" | "-") product }
//   product     value { ("*" | "/") value }
//   value       NUMBER[K|M|G]  FACT  NAME  "!" value  "(" expression ")"  "processor" "~" WORD
//               min(a, b, ...)  max(a, b, ...)  up(a), down(a): a rounded up or down to a power of two
//
// A FACT is one of fact_names(); a NAME is defined by a book. All numbers are real; only results are rounded down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tune/situation.h"

namespace coll::tune {

// An error in a text, and its position.
struct Bad {
  size_t at;
  std::string why;
};

// The names that a book defines, and their values.
class Names {
 public:
  virtual ~Names() = default;
  // The index of `name`; nullopt if there is no such name.
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
  down,  // those up to here have no operand or one; the others have two
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

// A compiled expression. Evaluating it takes a few steps and allocates no memory.
class Expression {
 public:
  bool empty() const { return steps_.empty(); }
  // The value of a plain number; nullopt for all other expressions.
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
  // A number without comparison and without "|", which separates candidates.
  Expression number();
  // "64K"; 0 if there is no number.
  double literal();
  // Letters, digits, '_' and '-' from here on; "" if there are none.
  std::string_view word();
  bool takes(std::string_view token);  // whether `token` follows; if so, skips it
  void expect(std::string_view token, const char* why);
  bool at_end();  // at the end of the text or of a statement (the next line is not indented); skips blanks
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

// Reads "64K" or "65536"; K, M and G are allowed. Returns 0 if the text is not a size.
size_t parse_size(std::string_view text);

}  // namespace coll::tune
