// SPDX-License-Identifier: BSD-3-Clause
// What communicators here would choose, as thresholds that other libraries read. One file per format: export_NAME.cc.
#pragma once

#include <string>
#include <vector>

#include "tune/choice.h"

namespace coll::tools {

struct Threshold {
  size_t up_to_bytes = SIZE_MAX;  // of the vector, or of a piece; the last one has no end
  tune::Choice choice;            // algorithm null: the hand-written paths for short payloads
};

// One collective of so many ranks: ascending, never empty.
struct Thresholds {
  plan::Collective collective = plan::Collective::barrier;
  int ranks = 2;
  std::vector<Threshold> classes;
};

// Neighbouring classes that `name` calls the same are one; "" keeps nothing of a class.
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

// Bytes of all pieces together where there are pieces, which is what others count; SIZE_MAX stays.
size_t total_bytes(const Thresholds& of, size_t bytes);

// A file for coll_tuned_dynamic_rules_filename of Open MPI 4.1 and 5.
std::string to_openmpi(const std::vector<Thresholds>& all, const std::string& origin);

// A file for MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE of MPICH 4.0: `base`, the selection that the MPICH library brings, with these
// thresholds in front. Throws Failure when base is not such a selection.
std::string to_mpich(const std::vector<Thresholds>& all, const std::string& base);
// That selection, out of a libmpich.so. Throws Failure.
std::string mpich_selection(const std::string& library);
// Where Debian and others keep it; "" when it is nowhere.
std::string mpich_library();

// The value of UCC_TL_UCP_TUNE.
std::string to_ucc(const std::vector<Thresholds>& all);

}  // namespace coll::tools
