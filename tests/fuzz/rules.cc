// SPDX-License-Identifier: BSD-3-Clause
#include "tune/rules.h"

#include <bit>
#include <cstdint>
#include <cstdlib>

#include "tune/shipped.h"

namespace {

using namespace coll::tune;
using coll::plan::Collective;

constexpr int situations = 3;

// A short call of two ranks, a long call of many, and a call with lengths that differ between ranks.
Situation situation(Collective collective, int which) {
  Situation made{
      .collective = collective, .bytes = 8, .ranks = 2, .core_cache_bytes = 1 << 20, .cache_bytes = 32 << 20};
  if (which == 1) made.bytes = size_t(1) << 40, made.ranks = 256, made.levels = 3, made.oversubscribed = true;
  if (which == 2) made.bytes = 0, made.ranks = 256, made.irregular = true, made.processor = "AMD EPYC";
  return made;
}

void expect_valid(const Choice& choice) {
  const coll::algo::Parameters& made = choice.parameters;
  if (choice.algorithm == nullptr || made.chunk_bytes < 64 || made.chunk_bytes > 1u << 30) abort();
  if (!std::has_single_bit(made.depth) || made.depth > 1024 || made.k > 1024 || made.j > 4096) abort();
}

// In every situation an accepted candidate must give parameters that a plan can be made with.
void expect_valid(const std::vector<Range>& ranges, Collective collective, const Names& names) {
  for (int which = 0; which < situations; which++) {
    const Situation now = situation(collective, which);
    for (const Range& range : ranges) {
      (void)range.contains(now, names);
      for (const Candidate& candidate : range.candidates)
        for (const bool exact : {false, true})
          if (candidate.kind == Candidate::Kind::plan) expect_valid(made(candidate, now, names, exact));
    }
  }
}

void read_book(std::string_view text) {
  Book book;
  if (!book.add(text, "the input").ok() || !book.check().ok()) return;
  for (int which = 0; which < situations; which++) (void)book.find(situation(Collective::allreduce, which));
  for (const Rule& rule : book.rules()) expect_valid(rule.ranges, rule.collective.value_or(Collective::barrier), book);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  if (bytes < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, bytes - 2);
  // The letter 'a' + n selects the collective n.
  const auto collective = Collective((data[1] - unsigned('a')) % unsigned(coll::plan::collectives));
  std::vector<Range> ranges;
  Choice choice;
  switch (data[0]) {
    case 'b': read_book(text); break;
    case 'r':
      if (parse_ranges(collective, text, ranges).empty()) expect_valid(ranges, collective, shipped());
      break;
    case 'c':
      if (parse_choice(collective, text, choice).empty()) expect_valid(choice);
      break;
    case 's': (void)parse_size(text); break;
    default: break;
  }
  return 0;
}
