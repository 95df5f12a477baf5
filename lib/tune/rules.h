// SPDX-License-Identifier: BSD-3-Clause
// Rules: the algorithms of calls as data. The value of COLL_BCAST is `ranges`; a file of rules consists of statements:
//
//   ranges      range { ";" range }
//   range       candidate { "|" candidate } [ "@" NUMBER ]    for sizes up to and including NUMBER bytes
//   candidate   "latency" | "priced" | ALGORITHM [ ":" KEY "=" NUMBER { "," KEY "=" NUMBER } ]
//   KEY         chunk, depth (slots of a ring), ring (its bytes instead: as many slots as fit, at most one per chunk of
//               the data), k, j, copy=cma. With a rule, data that fit one chunk use one slot of their own length.
//   statement   COLLECTIVE [ "[" conditions "]" ] ":" ranges [ "--" EVIDENCE ]
//               any        [ "[" conditions "]" ] ":" ranges [ "--" EVIDENCE ]
//               NAME       [ "[" conditions "]" ] "=" NUMBER [ "--" EVIDENCE ]
//               "when" [ conditions ]                          holds for the statements up to the next "when"
//   conditions  expression { "," expression }                  all of them hold
//
// NUMBER is a sum of expression.h. "#" begins a comment; an indented line continues the statement before it. The first
// candidate that works is the choice, and auto-tuning compares it with the others. "latency" is the executor's
// hand-written latency path; "priced" stands for the cheapest choice by the model's prices. The first statement whose
// conditions hold and that has a range for the size decides.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topo/status.h"
#include "tune/choice.h"
#include "tune/expression.h"

namespace coll::tune {

struct Candidate {
  enum class Kind : uint8_t { plan, latency, priced } kind = Kind::plan;
  const algo::Algorithm* algorithm = nullptr;  // of a plan
  Expression chunk, depth, ring, k, j;         // empty: the default
  std::optional<bool> kernel_copies;           // copy=cma, copy=staged
};

struct Range {
  Expression up_to;  // empty: no end
  std::vector<Candidate> candidates;
  bool contains(const Situation& situation, const Names& names) const;
};

// A statement that chooses an algorithm.
struct Rule {
  std::optional<plan::Collective> collective;  // nullopt: any
  std::vector<Expression> when;
  std::vector<Range> ranges;
  std::string file, evidence;
  int line = 0;
};

class Book : public Names {
 public:
  // Appends the statements of a file. An error contains file, line, column and a correction.
  // may_define: whether the file may define names. Not those of unknown origin: names that use each other can take any
  // amount of time.
  topo::Status add(std::string_view text, const std::string& file, bool may_define = true);
  // Called after all files have been added: an error if a name is undefined or defined by itself.
  topo::Status check() const;

  // The rule and the range that decide.
  struct Found {
    const Rule* rule = nullptr;
    const Range* range = nullptr;
  };
  // The first such rule behind `after`; null: of all rules.
  Found find(const Situation& situation, const Rule* after = nullptr) const;
  // The value of a defined name; 0 if none of its statements holds.
  double value(std::string_view name, const Situation& situation) const;
  // The index of a name; nullopt if the book does not contain it.
  std::optional<size_t> known(std::string_view name) const;
  const std::vector<Rule>& rules() const { return rules_; }

  std::optional<size_t> find(std::string_view name, size_t at) override;
  double value(size_t name, const Situation& situation) const override;

 private:
  struct Definition {
    std::vector<Expression> when;
    Expression value;
  };
  struct Name {
    std::vector<Definition> definitions;
    std::string first_use;  // "FILE:LINE:COLUMN"
  };
  void statement(Reader& reader, const std::string& file, std::vector<Expression>& section);
  bool uses_itself(size_t name, std::vector<char>& state) const;

  std::vector<Rule> rules_;
  std::vector<Name> names_;
  std::map<std::string, size_t, std::less<>> index_;
  std::string_view text_;  // of the file that is being read
  std::string file_;
  bool may_define_ = true;
  // The number of the line at `counted_` of text_.
  size_t counted_ = 0;
  int line_ = 1;
};

// Reads the ranges of COLL_BCAST and the like. Returns "" or an error with its column.
std::string parse_ranges(plan::Collective collective, std::string_view text, std::vector<Range>& ranges);

// Reads one algorithm with constant parameters, the value of `--algorithm`. Returns "" or an error.
std::string parse_choice(plan::Collective collective, std::string_view text, Choice& choice);

// The choice of a candidate. `exact`: keeps the user's chunk even if the data is shorter.
Choice made(const Candidate& candidate, const Situation& situation, const Names& names, bool exact);

}  // namespace coll::tune
