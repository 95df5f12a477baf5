// SPDX-License-Identifier: BSD-3-Clause
// The results of auto-tuning as a file for the next start: a first line that names the processor, then rules.
//
//   # libcoll auto-tuning 1: AMD EPYC 7763 64-Core Processor
//   bcast[p=2, levels=1, !oversubscribed, n>=65536, n<131072]: flat_read:chunk=16384,depth=4,copy=staged -- 9.1 us,
//   books 11 us
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tune/rules.h"
#include "tune/tuner.h"

namespace coll::tune {

// The result of one cell.
struct Learned {
  Situation situation;          // of its calls; `bytes` is one of their sizes
  Choice choice;                // algorithm null: the latency path
  double us = 0, usual_us = 0;  // time of the choice, and of the choice of the books; 0: unknown
};

class LearnedBook {
 public:
  // Reads a text. A text that is damaged, of another version or of another processor is ignored, and the error names
  // the reason. An empty text has no rules.
  topo::Status read(std::string_view text, const std::string& file, std::string_view processor);
  // Returns the learned choice, not completed (null algorithm: the latency path); nullopt if there is none.
  std::optional<Choice> find(const Situation& situation) const;

 private:
  Book book_;
};

// Returns the text of a file with the results in `learned` and those rules of `before` that they do not replace. A
// `before` that LearnedBook would ignore is dropped.
std::string learned_text(std::string_view before, std::string_view processor, const std::vector<Learned>& learned);

// Updates the file atomically: another process reads the old or the new one, and processes that update it at the same
// time do so one after the other (on file systems with locks). A file that is not an auto-tuning file of this processor
// is not replaced. Waits for others up to 3 s. Returns "" or an error. Thread-safe.
std::string update_learned_file(const std::string& path, std::string_view processor,
                                const std::vector<Learned>& learned);

// Reads a file of up to 1 MiB. A file that does not exist gives ""; one that cannot be read gives an error.
topo::Status read_learned_file(const std::string& path, std::string& text);

}  // namespace coll::tune
