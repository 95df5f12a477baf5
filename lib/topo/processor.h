// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "topo/machine.h"

namespace coll::topo {

// Adds facts that only the running processor reports: whether its caches are inclusive. Known values are kept.
void add_processor_facts(Machine &machine);

}  // namespace coll::topo
