// SPDX-License-Identifier: BSD-3-Clause
#include "tune/rules.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "tune/shipped.h"

namespace coll::tune {

using plan::Collective;
using topo::Status;

namespace {

constexpr double least_chunk = 64, most_chunk = 1 << 30, most_depth = 1024;

struct Key {
  std::string_view name;
  Expression Candidate::*of;
  double least, most;
};
constexpr Key keys[] = {{"chunk", &Candidate::chunk, least_chunk, most_chunk},
                        {"depth", &Candidate::depth, 1, most_depth},
                        {"ring", &Candidate::ring, least_chunk, most_chunk},
                        {"k", &Candidate::k, 1, 1024},
                        {"j", &Candidate::j, 1, 4096}};

std::string algorithms_of(Collective collective) {
  std::string known;
  for (const algo::Algorithm& algorithm : algo::algorithms())
    if (algorithm.collective == collective) known += (known.empty() ? "" : ", ") + std::string(algorithm.name);
  return known;
}

std::optional<Collective> collective_of(std::string_view name) {
  for (int c = 0; c < plan::collectives; ++c)
    if (name == plan::name(Collective(c))) return Collective(c);
  return std::nullopt;
}

// The text from `at` to the end of the item, such as "chunk=4K", for messages.
std::string item_at(std::string_view text, size_t at) {
  return std::string(text.substr(at, text.find_first_of(",;@|\n", at) - at));
}

void parameter(Reader& reader, Candidate& to) {
  const size_t begin = reader.at();
  const auto fail = [&] {
    throw Bad{begin, "'" + item_at(reader.text(), begin) +
                         "' is not a parameter; write chunk=BYTES or ring=BYTES (64 to 1G, K and M allowed), "
                         "depth=1..1024, k=1..1024, j=1..4096, copy=cma or copy=staged"};
  };
  const std::string_view name = reader.word();
  if (!reader.takes("=")) fail();
  const auto refuse_twice = [&](bool known) {
    if (known) throw Bad{begin, "'" + item_at(reader.text(), begin) + "': " + std::string(name) + " is given twice"};
  };
  if (name == "copy") {
    refuse_twice(to.kernel_copies.has_value());
    const std::string_view how = reader.word();
    if (how != "cma" && how != "staged") fail();
    to.kernel_copies = how == "cma";
    return;
  }
  const Key* key = std::ranges::find(keys, name, &Key::name);
  if (key == std::end(keys)) fail();
  refuse_twice(!(to.*key->of).empty());
  Expression& value = to.*key->of = reader.number();
  if (!value.constant().has_value()) return;
  const double number = *value.constant();
  if (number < key->least || number > key->most || number != std::floor(number)) fail();
  if (name == "depth" && !std::has_single_bit(uint64_t(number))) {
    const std::string below = std::to_string(std::bit_floor(uint64_t(number)));
    throw Bad{begin, "'" + item_at(reader.text(), begin) + "': a ring has a power of two of slots; write depth=" +
                         below + " or depth=" + std::to_string(std::bit_ceil(uint64_t(number)))};
  }
}

Candidate candidate(Reader& reader, std::optional<Collective> collective) {
  Candidate made;
  reader.at_end();  // skips blanks
  const size_t begin = reader.at();
  const std::string name(reader.word());
  if (name == "latency") return made.kind = Candidate::Kind::latency, made;
  if (name == "priced") return made.kind = Candidate::Kind::priced, made;
  if (!collective.has_value()) throw Bad{begin, "'" + name + "' does not serve every collective; use priced"};
  made.algorithm = algo::find(*collective, name);
  if (made.algorithm == nullptr)
    throw Bad{begin, std::string(plan::name(*collective)) + " has no algorithm '" +
                         (name.empty() ? item_at(reader.text(), begin) : name) +
                         "'; it has: " + algorithms_of(*collective)};
  if (!reader.takes(":")) return made;
  do parameter(reader, made);
  while (reader.takes(","));
  return made;
}

Range range(Reader& reader, std::optional<Collective> collective) {
  Range made;
  do made.candidates.push_back(candidate(reader, collective));
  while (reader.takes("|"));
  if (!reader.takes("@")) return made;
  const size_t begin = reader.at();
  const auto fail = [&] {
    throw Bad{begin, "'" + item_at(reader.text(), begin) + "' is no size; write ALGORITHM@SIZE, as in @4K or @1M"};
  };
  try {
    made.up_to = reader.number();
  } catch (const Bad&) { fail(); }
  if (const std::optional<double> size = made.up_to.constant(); size.has_value() && !(*size >= 1 && *size < 0x1p62))
    fail();
  return made;
}

std::vector<Range> ranges(Reader& reader, std::optional<Collective> collective) {
  std::vector<Range> made;
  do {
    reader.at_end();
    const size_t begin = reader.at();
    const auto text = [&] { return "'" + std::string(reader.text().substr(begin, reader.at() - begin)) + "'"; };
    const bool reached = made.empty() || !made.back().up_to.empty();
    made.push_back(range(reader, collective));
    if (!reached) throw Bad{begin, text() + " is never reached: only the last range may be without @SIZE"};
    if (made.size() < 2) continue;
    const std::optional<double> before = made[made.size() - 2].up_to.constant(), end = made.back().up_to.constant();
    if (before.has_value() && end.has_value() && *end <= *before)
      throw Bad{begin, text() + " ends before the range in front of it; sizes must ascend"};
  } while (reader.takes(";"));
  return made;
}

void conditions(Reader& reader, std::vector<Expression>& to) {
  do to.push_back(reader.expression());
  while (reader.takes(","));
}

bool all_hold(const std::vector<Expression>& when, const Situation& situation, const Names& names) {
  return std::ranges::all_of(when, [&](const Expression& condition) { return condition.holds(situation, names); });
}

std::string place(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  const size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return std::to_string(1 + std::ranges::count(before, '\n')) + ":" + std::to_string(1 + at - line_begin);
}

}  // namespace

bool Range::contains(const Situation& situation, const Names& names) const {
  if (up_to.empty()) return true;
  return !situation.irregular && double(situation.bytes) <= up_to.value(situation, names);
}

// ---- a book ----------------------------------------------------------------------------------------------------

Status Book::add(std::string_view text, const std::string& file, bool may_define) {
  text_ = text, file_ = file, may_define_ = may_define;
  counted_ = 0, line_ = 1;
  Reader reader(text, *this);
  std::vector<Expression> section;
  try {
    while (!reader.done()) statement(reader, file, section);
  } catch (const Bad& bad) { return Status::error(file + ":" + place(text, bad.at) + ": " + bad.why); }
  return {};
}

void Book::statement(Reader& reader, const std::string& file, std::vector<Expression>& section) {
  const size_t begin = reader.at();
  const std::string name(reader.word());
  if (name == "when") {
    section.clear();
    if (!reader.at_end()) conditions(reader, section);
    return reader.next_statement();
  }
  if (name.empty()) throw Bad{begin, "a statement begins with a collective, any, a name to define, or when"};
  std::vector<Expression> when = section;
  if (reader.takes("[")) conditions(reader, when), reader.expect("]", "conditions end with it");
  if (reader.takes("=")) {
    if (collective_of(name).has_value())
      throw Bad{begin, "'" + name + "' is a collective; write ':' before algorithms"};
    if (!may_define_) throw Bad{begin, "'" + name + "' is defined, but this file may contain rules only"};
    Definition definition{std::move(when), reader.number()};  // may add names
    names_[*find(name, begin)].definitions.push_back(std::move(definition));
    if (reader.takes("--")) reader.rest_of_line();
    return reader.next_statement();
  }
  reader.expect(":", "write COLLECTIVE[CONDITIONS]: ALGORITHM or NAME = NUMBER");
  const std::optional<Collective> collective = collective_of(name);
  if (!collective.has_value() && name != "any")
    throw Bad{begin, "'" + name + "' is no collective; use any, or a name of collctl list"};
  Rule rule{.collective = collective, .when = std::move(when), .file = file};
  line_ += int(std::ranges::count(text_.substr(counted_, begin - counted_), '\n'));
  rule.line = line_;
  counted_ = begin;
  rule.ranges = ranges(reader, collective);
  if (reader.takes("--")) rule.evidence = reader.rest_of_line();
  rules_.push_back(std::move(rule));
  reader.next_statement();
}

std::optional<size_t> Book::find(std::string_view name, size_t at) {
  if (!may_define_) return std::nullopt;
  const auto [known, is_new] = index_.emplace(name, names_.size());
  if (is_new) names_.push_back({.first_use = file_ + ":" + place(text_, at)});
  return known->second;
}

bool Book::uses_itself(size_t name, std::vector<char>& state) const {
  if (state[name] != 0) return state[name] == 1;
  state[name] = 1;
  for (const Definition& definition : names_[name].definitions) {
    std::vector<size_t> used = definition.value.names();
    for (const Expression& condition : definition.when)
      for (const size_t other : condition.names()) used.push_back(other);
    for (const size_t other : used)
      if (uses_itself(other, state)) return true;
  }
  state[name] = 2;
  return false;
}

Status Book::check() const {
  std::vector<char> state(names_.size(), 0);
  for (const auto& [name, index] : index_) {
    if (names_[index].definitions.empty())
      return Status::error(names_[index].first_use + ": '" + name + "' is unknown; define it as " + name +
                           " = NUMBER, or use one of " + fact_names());
    if (uses_itself(index, state)) return Status::error(names_[index].first_use + ": '" + name + "' uses itself");
  }
  return {};
}

double Book::value(size_t name, const Situation& situation) const {
  for (const Definition& definition : names_[name].definitions)
    if (all_hold(definition.when, situation, *this)) return definition.value.value(situation, *this);
  return 0;
}

std::optional<size_t> Book::known(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? std::nullopt : std::optional(found->second);
}

double Book::value(std::string_view name, const Situation& situation) const {
  const std::optional<size_t> index = known(name);
  return index.has_value() ? value(*index, situation) : 0;
}

Book::Found Book::find(const Situation& situation, const Rule* after) const {
  for (size_t i = after == nullptr ? 0 : size_t(after - rules_.data()) + 1; i < rules_.size(); ++i) {
    const Rule& rule = rules_[i];
    if (rule.collective.value_or(situation.collective) != situation.collective) continue;
    if (!all_hold(rule.when, situation, *this)) continue;
    for (const Range& range : rule.ranges)
      if (range.contains(situation, *this)) return {&rule, &range};
  }
  return {};
}

// ---- values of variables ---------------------------------------------------------------------------------------

namespace {

// The names of the shipped book; variables cannot define any.
class ShippedNames : public Names {
 public:
  std::optional<size_t> find(std::string_view name, size_t) override { return shipped().known(name); }
  double value(size_t name, const Situation& situation) const override { return shipped().value(name, situation); }
};

}  // namespace

std::string parse_ranges(Collective collective, std::string_view text, std::vector<Range>& to) {
  ShippedNames names;
  Reader reader(text, names);
  try {
    to = ranges(reader, collective);
    const bool over = reader.done();
    const size_t begin = reader.at();
    if (!over) throw Bad{begin, "'" + std::string(reader.rest_of_line()) + "' is left over; separate ranges by ';'"};
  } catch (const Bad& bad) { return "column " + std::to_string(bad.at + 1) + ": " + bad.why; }
  return "";
}

std::string parse_choice(Collective collective, std::string_view text, Choice& choice) {
  std::vector<Range> read;
  if (std::string problem = parse_ranges(collective, text, read); !problem.empty()) return problem;
  const Candidate& only = read.front().candidates.front();
  if (read.size() > 1 || read.front().candidates.size() > 1 || !read.front().up_to.empty() ||
      only.kind != Candidate::Kind::plan)
    return "'" + std::string(text) + "' is not one algorithm; name one of " + algorithms_of(collective);
  for (const Key& key : keys)
    if (const Expression& value = only.*key.of;
        !value.empty() && (!value.constant().has_value() || key.of == &Candidate::ring))
      return "'" + std::string(text) + "': " + std::string(key.name) + " depends on the call; write a number";
  choice = made(only, {.collective = collective}, shipped(), true);
  return "";
}

Choice made(const Candidate& candidate, const Situation& situation, const Names& names, bool exact) {
  Choice choice{.algorithm = candidate.algorithm,
                .kernel_copies = candidate.kernel_copies.value_or(false),
                .staged = situation.single_copy && candidate.kernel_copies == false};
  const auto number = [&](const Expression& of, double least, double most) {
    return uint32_t(std::clamp(of.value(situation, names), least, most));
  };
  algo::Parameters& to = choice.parameters;
  if (!candidate.chunk.empty()) to.chunk_bytes = number(candidate.chunk, least_chunk, most_chunk);
  if (!candidate.depth.empty()) to.depth = uint16_t(std::bit_floor(number(candidate.depth, 1, most_depth)));
  if (!candidate.k.empty()) to.k = uint16_t(number(candidate.k, 1, 1024));
  if (!candidate.j.empty()) to.j = uint16_t(number(candidate.j, 1, 4096));
  const bool has_ring = !candidate.ring.empty() || !candidate.depth.empty();
  const size_t bytes = situation.irregular ? SIZE_MAX : situation.vector_bytes();
  const bool one_slot = candidate.ring.empty() && candidate.depth.constant() == 1;
  if (has_ring && !one_slot && !exact && bytes <= to.chunk_bytes) {
    // The whole vector fits one slot; a ring would only spread it over more cache lines.
    to.chunk_bytes = uint32_t(std::bit_ceil(std::max<size_t>(bytes, 64)));
    to.depth = 1;
  } else if (!candidate.ring.empty()) {
    // As many slots as fit the ring, and at most one per chunk: later calls use the slots that this one leaves.
    const size_t chunks = bytes / to.chunk_bytes + (bytes % to.chunk_bytes != 0);
    const size_t fit = std::max<size_t>(number(candidate.ring, least_chunk, most_chunk) / to.chunk_bytes, 1);
    to.depth =
        uint16_t(std::min({std::bit_floor(fit), std::bit_ceil(std::max<size_t>(chunks, 1)), size_t(most_depth)}));
  }
  return choice;
}

}  // namespace coll::tune
