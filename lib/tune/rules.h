// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm serves a call, as data. What COLL_BCAST takes is `ranges`; a file of rules has statements:
//
//   ranges      range { ";" range }
//   range       candidate { "|" candidate } [ "@" NUMBER ]    up to and with so many bytes
//   candidate   "latency" | "priced" | ALGORITHM [ ":" KEY "=" NUMBER { "," KEY "=" NUMBER } ]
//   KEY         chunk, depth (slots of a ring), ring (or its bytes: as many slots as fit, no more than the data have
//               chunks), k, j, copy=cma. Of a rule, data that fit one chunk take one slot of their own length.
//   statement   COLLECTIVE [ "[" conditions "]" ] ":" ranges [ "--" EVIDENCE ]
//               any        [ "[" conditions "]" ] ":" ranges [ "--" EVIDENCE ]
//               NAME       [ "[" conditions "]" ] "=" NUMBER [ "--" EVIDENCE ]
//               "when" [ conditions ]                          holds for the statements up to the next "when"
//   conditions  expression { "," expression }                  all of them hold
//
// NUMBER is a sum of expression.h. "#" begins a comment; an indented line goes on with the statement before it. Of several
// candidates the first that works is taken, and auto-tuning compares it with the others. "latency" is the executor's hand-written path;
// "priced" asks the prices of the model. The first statement whose conditions hold and which has a range decides.
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

// A statement that chooses.
struct Rule {
  std::optional<plan::Collective> collective;  // nullopt: any
  std::vector<Expression> when;
  std::vector<Range> ranges;
  std::string file, evidence;
  int line = 0;
};

class Book : public Names {
 public:
  // Appends the statements of a file. An error has file, line, column and what to write instead.
  topo::Status add(std::string_view text, const std::string& file);
  // Once all files are in: every name is defined, and none by itself.
  topo::Status check() const;

  // A rule that decides, and the range that does.
  struct Found {
    const Rule* rule = nullptr;
    const Range* range = nullptr;
  };
  // The first one behind `after` (null: of all).
  Found find(const Situation& situation, const Rule* after = nullptr) const;
  // The value of a defined name; 0 if none of its statements holds.
  double value(std::string_view name, const Situation& situation) const;
  // The number of a defined name; nullopt: nothing defines it.
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
};

// The ranges of COLL_BCAST and the like. "" or what is wrong, with its column.
std::string parse_ranges(plan::Collective collective, std::string_view text, std::vector<Range>& ranges);

// One plan whose parameters depend on nothing, as `--algorithm` takes it. "" or what is wrong.
std::string parse_choice(plan::Collective collective, std::string_view text, Choice& choice);

// The plan of a candidate. `exact`: chunks as the user wrote them, although the data may be shorter.
Choice made(const Candidate& candidate, const Situation& situation, const Names& names, bool exact);

}  // namespace coll::tune
