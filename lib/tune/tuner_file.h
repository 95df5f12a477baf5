// SPDX-License-Identifier: BSD-3-Clause
// What online tuning has learned, kept in a file for the next start: a first line that names the processor, then rules.
//
//   # libcoll auto-tuning 1: AMD EPYC 7763 64-Core Processor
//   bcast[p=2, levels=1, !oversubscribed, n>=65536, n<131072]: flat_read:chunk=16384,depth=4,copy=staged -- 9.1 us, books 11 us
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tune/rules.h"
#include "tune/tuner.h"

namespace coll::tune {

// What one cell has learned.
struct Learned {
  Situation situation;          // of its calls; `bytes` is one of their sizes
  Choice choice;                // algorithm null: the latency path
  double us = 0, usual_us = 0;  // of the choice, and of what the books say; 0: unknown
};

class LearnedBook {
 public:
  // Nothing of a text that is damaged, of another version or of another processor: the error says which, and that the file
  // is ignored. An empty text has no rules.
  topo::Status read(std::string_view text, const std::string& file, std::string_view processor);
  // Not completed; algorithm null: the latency path. nullopt: nothing was learned of such calls.
  std::optional<Choice> find(const Situation& situation) const;

 private:
  Book book_;
};

// The text of such a file with what was learned now, and of `before` what that does not replace. `before` may be anything.
std::string learned_text(std::string_view before, std::string_view processor, const std::vector<Learned>& learned);

// Reads the file, and replaces it as one step: another process sees the old one or the new one. A file that is none of this
// processor's stays. "" or what is wrong.
std::string update_learned_file(const std::string& path, std::string_view processor,
                                const std::vector<Learned>& learned);

// The text of a file, up to 1 MiB; "" if there is none. An error if it is there and cannot be read.
topo::Status read_learned_file(const std::string& path, std::string& text);

}  // namespace coll::tune
