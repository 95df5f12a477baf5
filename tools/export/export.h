// SPDX-License-Identifier: BSD-3-Clause
// The selections of communicators as thresholds for other libraries. One file per format: NAME.cc.
#pragma once

#include <string>
#include <vector>

#include "tune/choice.h"

namespace coll::tools {

struct Threshold {
  size_t up_to_bytes = SIZE_MAX;  // of the vector, or of one block; the last class has no end
  tune::Choice choice;            // algorithm null: the hand-written latency path
};

// The size classes of one collective and number of ranks, ascending, never empty.
struct Thresholds {
  plan::Collective collective = plan::Collective::barrier;
  int ranks = 2;
  std::vector<Threshold> classes;
};

// Merges neighbouring classes for which `name` returns the same value.
template <class Name>
auto merged(const Thresholds& of, Name name) {
  using Value = decltype(name(of.classes.front()));
  std::vector<std::pair<size_t, Value>> out;
  for (const Threshold& threshold : of.classes) {
    Value value = name(threshold);
    if (!out.empty() && out.back().second == value) out.back().first = threshold.up_to_bytes;
    else out.emplace_back(threshold.up_to_bytes, std::move(value));
  }
  return out;
}

// Returns the bytes of all blocks together, which other libraries use as the size of collectives with blocks. SIZE_MAX
// stays SIZE_MAX.
size_t total_bytes(const Thresholds& of, size_t bytes);

// Returns a file for coll_tuned_dynamic_rules_filename of Open MPI 4.1 and 5.
std::string to_openmpi(const std::vector<Thresholds>& all, const std::string& origin);

// Returns a file for MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE of MPICH 4.0: these thresholds, followed by `base`, the
// selection built into the MPICH library. Throws Failure if `base` is not such a selection.
std::string to_mpich(const std::vector<Thresholds>& all, const std::string& base);
// Reads that selection from a libmpich.so. Throws Failure.
std::string mpich_selection(const std::string& library);
// Returns the installed library; "" if it is in none of the usual directories.
std::string mpich_library();

// Returns the value of UCC_TL_UCP_TUNE.
std::string to_ucc(const std::vector<Thresholds>& all);

}  // namespace coll::tools
