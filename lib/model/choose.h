// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm, with which parameters: the built-in defaults, used as long as no table was measured.
#pragma once

#include <cstddef>
#include <string>

#include "algo/registry.h"

namespace coll::model {

inline constexpr double no_copy = 1e9;  // times as long as another: kernel copies do not work
inline constexpr size_t shared_heap_min_bytes = size_t(16) << 10;  // of a buffer that COLL_HEAP=shared makes mappable

struct Question {
  plan::Collective collective = plan::Collective::barrier;
  size_t bytes = 0;        // of the vector, or of a piece
  bool irregular = false;  // pieces of different lengths, which are unknown: bytes is 0
  size_t element_bytes = 1;
  int ranks = 1;
  int levels = 1;                 // of the hierarchy
  bool kernel_copies = false;     // ordinary memory is reached by kernel copies, not by staging
  double kernel_times = no_copy;  // otherwise: so many times as long as copies of staged data they take
  bool crowded = false;           // more ranks than cores
  bool groups_apart = false;      // and of several scheduling groups: no yield lets another one run, only a sleep
  bool huge_pages = false;        // long vectors in use lie in them, most likely
  bool mapped = false;            // vectors of this size lie, most likely, in memory that all ranks map
  size_t cache_bytes = 0;         // what the ranks' caches hold together; 0 when unknown
  size_t core_cache_bytes = 0;    // what a core has for itself; 0 when unknown
  bool overwrites = false;        // a core stores long data without waiting for lines that others hold
  bool slow_pieces = false;       // and is slow to fetch long pieces of them from others, as only the clock tells
};

// 16-bit floats, told by their size, are rounded wherever a partial result is stored.
constexpr bool rounds_partials(size_t element_bytes) { return element_bytes == 2; }

struct Choice {
  const algo::Algorithm* algorithm = nullptr;
  algo::Parameters parameters;
  bool stream = false;         // the work set exceeds the cache
  bool kernel_copies = false;  // although staging is the rule
};

// Only algorithms that reduce in the balanced order are chosen, so results never depend on the choice.
Choice choose(const Question& question);

// What follows from a choice of algorithm and parameters: chunks that hold an element, with many ranks not much longer than
// the data, since each of them has a slot as long, and whether the work set exceeds the caches.
void complete(const Question& question, Choice& choice);

// Reads "name" or "name:chunk=32768,k=4,depth=2,j=1" as a user writes it. "" or what is wrong with it.
std::string parse_choice(plan::Collective collective, const std::string& text, Choice& choice);

// Where nothing beats the latency path.
inline constexpr size_t tiny_bytes = 1024;

// Payloads up to this size, all that one rank shows to others, take the hand-written latency path of the executor: as long
// as no rank shows or reads more than a few pages. `question.bytes` does not count.
size_t latency_path_bytes(const Question& question);

}  // namespace coll::model
