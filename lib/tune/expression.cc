// SPDX-License-Identifier: BSD-3-Clause
#include "tune/expression.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace coll::tune {

using plan::Collective;

namespace {

struct Fact {
  std::string_view name;
  double (*of)(const Situation&);
};

// man/libcoll.7.scd explains them.
constexpr Fact facts[] = {
    // Irregular blocks may have any size.
    {"n", [](const Situation& s) { return s.irregular ? std::numeric_limits<double>::infinity() : double(s.bytes); }},
    {"v", [](const Situation& s) { return double(s.vector_bytes()); }},
    {"p", [](const Situation& s) { return double(s.ranks); }},
    {"l2", [](const Situation& s) { return double(s.core_cache_bytes); }},
    {"llc", [](const Situation& s) { return double(s.cache_bytes); }},
    {"levels", [](const Situation& s) { return double(s.levels); }},
    {"element", [](const Situation& s) { return double(s.element_bytes); }},
    {"cma", [](const Situation& s) { return s.cma_times; }},
    {"irregular", [](const Situation& s) { return double(s.irregular); }},
    {"oversubscribed", [](const Situation& s) { return double(s.oversubscribed); }},
    {"scheduler_groups", [](const Situation& s) { return double(s.scheduler_groups); }},
    {"single_copy", [](const Situation& s) { return double(s.single_copy); }},
    {"mapped", [](const Situation& s) { return double(s.mapped); }},
    {"huge_pages", [](const Situation& s) { return double(s.huge_pages); }},
    {"rfo_free", [](const Situation& s) { return double(s.rfo_free); }},
    {"table", [](const Situation& s) { return double(s.table); }},
    {"barrier", [](const Situation& s) { return double(s.collective == Collective::barrier); }},
    {"bcast", [](const Situation& s) { return double(s.collective == Collective::bcast); }},
    {"reduce", [](const Situation& s) { return double(s.collective == Collective::reduce); }},
    {"allreduce", [](const Situation& s) { return double(s.collective == Collective::allreduce); }},
    {"scatter", [](const Situation& s) { return double(s.collective == Collective::scatter); }},
    {"gather", [](const Situation& s) { return double(s.collective == Collective::gather); }},
    {"allgather", [](const Situation& s) { return double(s.collective == Collective::allgather); }},
    {"alltoall", [](const Situation& s) { return double(s.collective == Collective::alltoall); }},
    {"reduce_scatter", [](const Situation& s) { return double(s.collective == Collective::reduce_scatter); }},
    {"scan", [](const Situation& s) { return double(s.collective == Collective::scan); }},
    {"exscan", [](const Situation& s) { return double(s.collective == Collective::exscan); }},
};

constexpr struct {
  std::string_view name;
  Op op;
  bool one;  // one operand; otherwise one or more
} functions[] = {{"min", Op::min, false}, {"max", Op::max, false}, {"up", Op::up, true}, {"down", Op::down, true}};

double power_of_two(double value, bool up) {
  if (!(value >= 1)) return up ? 1 : 0;
  const uint64_t whole = uint64_t(std::min(value, 0x1p62));
  return double(up ? std::bit_ceil(whole) : std::bit_floor(whole));
}

double result(Op op, double a, double b) {
  switch (op) {
    case Op::add: return a + b;
    case Op::subtract: return a - b;
    case Op::multiply: return a * b;
    case Op::divide: return a / b;
    case Op::min: return std::min(a, b);
    case Op::max: return std::max(a, b);
    case Op::equal: return a == b;
    case Op::differ: return a != b;
    case Op::less: return a < b;
    case Op::at_most: return a <= b;
    case Op::more: return a > b;
    case Op::at_least: return a >= b;
    case Op::either: return a != 0 || b != 0;
    default: return 0;
  }
}

// The maximum number of operands on the stack of value().
constexpr size_t most_operands = 16;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

std::string fact_names() {
  std::string names;
  for (const Fact& fact : facts) names += (names.empty() ? "" : ", ") + std::string(fact.name);
  return names;
}

std::optional<double> Expression::constant() const {
  return steps_.size() == 1 && steps_[0].op == Op::number ? std::optional(steps_[0].number) : std::nullopt;
}

double Expression::value(const Situation& situation, const Names& names) const {
  std::array<double, most_operands> stack{};
  size_t top = 0;  // one above the last operand
  for (const Step& step : steps_) {
    switch (step.op) {
      case Op::number: stack[top++] = step.number; break;
      case Op::fact: stack[top++] = facts[step.index].of(situation); break;
      case Op::name: stack[top++] = names.value(step.index, situation); break;
      case Op::processor: stack[top++] = situation.processor.find(step.word) != std::string_view::npos; break;
      case Op::invert: stack[top - 1] = stack[top - 1] == 0; break;
      case Op::up:
      case Op::down: stack[top - 1] = power_of_two(stack[top - 1], step.op == Op::up); break;
      default: --top, stack[top - 1] = result(step.op, stack[top - 1], stack[top]);
    }
  }
  return top == 0 || std::isnan(stack[0]) ? 0 : stack[0];  // 0/0
}

std::vector<size_t> Expression::names() const {
  std::vector<size_t> used;
  for (const Step& step : steps_)
    if (step.op == Op::name) used.push_back(step.index);
  return used;
}

// ---- reading ---------------------------------------------------------------------------------------------------

void Reader::skip() {
  for (;;) {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    if (at_ < text_.size() && text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
    // An indented line continues the statement.
    if (at_ + 1 >= text_.size() || text_[at_] != '\n' || text_[at_ + 1] != ' ') return;
    ++at_;
  }
}

void Reader::skip_lines() {
  for (skip(); at_ < text_.size() && text_[at_] == '\n'; skip()) ++at_;
}

bool Reader::at_end() { return skip(), at_ == text_.size() || text_[at_] == '\n'; }

std::string_view Reader::rest_of_line() {
  skip();
  const size_t begin = std::exchange(at_, std::min(text_.find('\n', at_), text_.size()));
  return text_.substr(begin, at_ - begin);
}

void Reader::next_statement() {
  const bool over = at_end();
  const size_t begin = at_;
  if (!over) throw Bad{begin, "'" + std::string(rest_of_line()) + "' is left over"};
  skip_lines();
}

bool Reader::takes(std::string_view token) {
  skip();
  if (!text_.substr(at_).starts_with(token)) return false;
  at_ += token.size();
  return true;
}

void Reader::expect(std::string_view token, const char* why) {
  if (!takes(token)) fail("'" + std::string(token) + "' is missing: " + why);
}

std::string_view Reader::word() {
  skip();
  const size_t begin = at_;
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  return text_.substr(begin, at_ - begin);
}

double Reader::literal() {
  skip();
  double number = 0;
  const char* const end = text_.data() + text_.size();
  const auto [rest, error] = std::from_chars(text_.data() + at_, end, number, std::chars_format::fixed);
  if (error != std::errc() || !std::isdigit(static_cast<unsigned char>(text_[at_]))) return 0;
  const char* after = rest;
  for (const auto& [letters, factor] : {std::pair{"kK", 0x1p10}, {"mM", 0x1p20}, {"gG", 0x1p30}})
    if (after == rest && rest != end && (*rest == letters[0] || *rest == letters[1])) number *= factor, ++after;
  if (after != end && is_word(*after)) return 0;
  at_ = size_t(after - text_.data());
  return number;
}

Expression Reader::expression() {
  Expression made;
  comparison(made);
  while (takes("|")) comparison(made), made.steps_.push_back({.op = Op::either});
  return checked(std::move(made));
}

Expression Reader::number() {
  Expression made;
  sum(made);
  return checked(std::move(made));
}

// Rejects an expression that needs a larger stack than value() has. An operator of two operands removes one of them.
Expression Reader::checked(Expression made) {
  size_t waiting = 0, most = 0;
  for (const Expression::Step& step : made.steps_) {
    if (step.op < Op::invert) most = std::max(most, ++waiting);
    else if (step.op > Op::down) --waiting;
  }
  if (most > most_operands) fail("the expression is nested too deeply");
  return made;
}

void Reader::comparison(Expression& to) {
  sum(to);
  for (const auto& [token, op] : {std::pair{"!=", Op::differ},
                                  {"<=", Op::at_most},
                                  {">=", Op::at_least},
                                  {"=", Op::equal},
                                  {"<", Op::less},
                                  {">", Op::more}})
    if (takes(token)) return sum(to), to.steps_.push_back({.op = op});
}

void Reader::sum(Expression& to) {
  product(to);
  for (;;) {
    skip();
    if (text_.substr(at_).starts_with("--")) return;  // evidence
    const Op op = takes("+") ? Op::add : takes("-") ? Op::subtract : Op::number;
    if (op == Op::number) return;
    product(to), to.steps_.push_back({.op = op});
  }
}

void Reader::product(Expression& to) {
  value(to);
  for (;;) {
    const Op op = takes("*") ? Op::multiply : takes("/") ? Op::divide : Op::number;
    if (op == Op::number) return;
    value(to), to.steps_.push_back({.op = op});
  }
}

void Reader::value(Expression& to) {
  // The recursion is as deep as the text is nested.
  struct Nesting {
    explicit Nesting(size_t& depth) : depth_(++depth) {}
    ~Nesting() { --depth_; }
    size_t& depth_;
  } const nesting(depth_);
  if (depth_ > 4 * most_operands) fail("the expression is nested too deeply");
  if (takes("!")) return value(to), to.steps_.push_back({.op = Op::invert});
  if (takes("(")) {
    const Expression inner = expression();
    to.steps_.insert(to.steps_.end(), inner.steps_.begin(), inner.steps_.end());
    return expect(")", "a parenthesis is open");
  }
  skip();
  const size_t begin = at_;
  if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
    const double number = literal();
    if (at_ == begin) throw Bad{begin, "'" + std::string(word()) + "' is no number; write one as 4, 4K, 4M or 4G"};
    return to.steps_.push_back({.op = Op::number, .number = number});
  }
  const std::string_view name = word();
  if (name.empty()) fail("a number is missing");
  if (name == "processor") {
    expect("~", "write processor~WORD, with a word of the processor's name");
    std::string_view part;
    if (takes("\"")) {
      const size_t end = text_.find('"', at_);
      if (end == std::string_view::npos) fail("a quotation mark is open");
      part = text_.substr(at_, end - at_), at_ = end + 1;
    } else {
      part = word();
    }
    if (part.empty()) fail("a word of the processor's name is missing");
    return to.steps_.push_back({.op = Op::processor, .word = std::string(part)});
  }
  if (takes("(")) return call(to, name, begin);
  if (const auto* fact = std::ranges::find(facts, name, &Fact::name); fact != std::end(facts))
    return to.steps_.push_back({.op = Op::fact, .index = size_t(fact - facts)});
  if (const std::optional<size_t> known = names_->find(name, begin))
    return to.steps_.push_back({.op = Op::name, .index = *known});
  throw Bad{begin, "'" + std::string(name) + "' is unknown; use a number, min(), max(), up(), down(), or one of " +
                       fact_names()};
}

void Reader::call(Expression& to, std::string_view function, size_t begin) {
  for (const auto& known : functions) {
    if (known.name != function) continue;
    sum(to);
    if (known.one) to.steps_.push_back({.op = known.op});
    else
      while (takes(",")) sum(to), to.steps_.push_back({.op = known.op});
    return expect(")", "a parenthesis is open");
  }
  throw Bad{begin, "'" + std::string(function) + "' is no function; use min, max, up or down"};
}

size_t parse_size(std::string_view text) {
  struct NoNames : Names {
    std::optional<size_t> find(std::string_view, size_t) override { return std::nullopt; }
    double value(size_t, const Situation&) const override { return 0; }
  } none;
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0]))) return 0;
  Reader reader(text, none);
  const double size = reader.literal();
  return reader.at() == text.size() && size < 0x1p62 && size == std::floor(size) ? size_t(size) : 0;
}

}  // namespace coll::tune
