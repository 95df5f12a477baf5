// SPDX-License-Identifier: BSD-3-Clause
// An answer: an algorithm with its parameters. The only place that prints one.
#pragma once

#include <string>

#include "algo/registry.h"
#include "tune/situation.h"

namespace coll::tune {

struct Choice {
  const algo::Algorithm* algorithm = nullptr;  // null: "latency", the executor's hand-written path
  algo::Parameters parameters;
  bool stream = false;         // the work set exceeds the caches: non-temporal stores
  bool kernel_copies = false;  // although staging is the rule
  bool staged = false;         // although kernel-assisted copies are
};

// Makes the parameters fit the call: chunks hold an element and, with many ranks, are not much longer than the data, since
// each rank has slots as long as a chunk. Sets `stream`.
void complete(const Situation& situation, Choice& choice);

// Whether both run the same plan over the same path.
bool same(const Choice& a, const Choice& b);

// "fused:chunk=131072,depth=2": with the parameters that the algorithm reads, as COLL_BCAST takes it; "latency".
std::string setting_text(const Choice& choice);

// setting_text() for people: "fused:chunk=131072,depth=2 with kernel-assisted copies".
std::string text(const Choice& choice);

// setting_text() as one candidate of a rule: "fused:chunk=131072,depth=2,copy=cma".
std::string rule_text(const Choice& choice);

// "64 KiB", "3 bytes".
std::string size_text(size_t bytes);

}  // namespace coll::tune
