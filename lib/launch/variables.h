// SPDX-License-Identifier: BSD-3-Clause
// Variables of the environment as launchers set them, and what messages say about them.
#pragma once

#include <optional>
#include <string>

#include "launch/place.h"

namespace coll::launch {

// "" when it is not set.
std::string text_of(const char* variable);
// A number of digits only, below 2^31; nothing for any other text.
std::optional<int> number_of(const char* variable);

// Sets rank and ranks from two variables. Nothing is a rank unless both are numbers and the rank is below the size.
bool read_rank(const char* rank_variable, const char* size_variable, Place& place);

// "LAUNCHER has started 4 ranks", the beginning of most problems.
std::string started(const Place& place);
// What a user can set where a launcher does not say enough.
extern const char* const explicit_remedy;
// Notes that some of the ranks are on other nodes. `here`: how many are on this node; 0: not known.
void note_several_nodes(Place& place, int here);

}  // namespace coll::launch
