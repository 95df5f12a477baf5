// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "topo/machine.h"

namespace coll::topo {

// Adds what only the processor that runs this tells: whether its caches are inclusive. Leaves what is known.
void add_processor_facts(Machine &machine);

}  // namespace coll::topo
