// SPDX-License-Identifier: BSD-3-Clause
// A choice: an algorithm with its parameters, and the functions that print one.
#pragma once

#include <string>

#include "algo/registry.h"
#include "tune/situation.h"

namespace coll::tune {

struct Choice {
  const algo::Algorithm* algorithm = nullptr;  // null: "latency", the executor's hand-written path
  algo::Parameters parameters;
  bool stream = false;         // non-temporal stores, because the work set exceeds the caches
  bool kernel_copies = false;  // use kernel-assisted copies, although staging is the default of the communicator
  bool staged = false;         // stage, although kernel-assisted copies are the default of the communicator
};

// Adapts the parameters to the call: a chunk holds at least an element and, with many ranks, is not much longer than
// the data, because every rank has slots as long as a chunk. Sets `stream`.
void complete(const Situation& situation, Choice& choice);

// Whether both run the same plan with the same kind of copies.
bool same(const Choice& a, const Choice& b);

// "fused:chunk=131072,depth=2", with the parameters that the algorithm reads, in the syntax of COLL_BCAST; or
// "latency".
std::string setting_text(const Choice& choice);

// setting_text() for messages: "fused:chunk=131072,depth=2 with kernel-assisted copies".
std::string text(const Choice& choice);

// setting_text() as one candidate of a rule: "fused:chunk=131072,depth=2,copy=cma".
std::string rule_text(const Choice& choice);

// "64 KiB", "3 bytes".
std::string size_text(size_t bytes);

}  // namespace coll::tune
