// SPDX-License-Identifier: BSD-3-Clause
// The files of machines/, compiled in by CMakeLists.txt.
#pragma once

#include <cstddef>

namespace coll::model {

struct MachineText {
  const char *name, *json;
};
extern const MachineText machine_texts[];
extern const size_t machine_texts_count;
extern const char machine_families[];  // families.txt

}  // namespace coll::model
