// SPDX-License-Identifier: BSD-3-Clause
// Which machine this is, as far as it decides what things cost.
#pragma once

#include <string>

#include "model/table.h"

namespace coll::model {

// What `machine` tells by itself: no kernel, no mitigations. Reads nothing.
Fingerprint hardware_of(const topo::Machine& machine);

// The running machine; `machine` describes it (topo::load_native). Reads /sys and asks for the kernel's release.
Fingerprint fingerprint_of(const topo::Machine& machine);

// "" when the two are the same machine, else in what they differ: "cores: 64, here 2".
std::string difference(const Fingerprint& table, const Fingerprint& running);

}  // namespace coll::model
