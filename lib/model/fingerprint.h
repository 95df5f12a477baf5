// SPDX-License-Identifier: BSD-3-Clause
// Identifies a machine by the properties that determine its costs.
#pragma once

#include <string>

#include "model/table.h"

namespace coll::model {

// The properties that `machine` contains: kernel and mitigations stay empty. Reads no files.
Fingerprint hardware_of(const topo::Machine& machine);

// The fingerprint of the running machine, which `machine` describes (topo::load_native). Reads /sys and the kernel's
// release.
Fingerprint fingerprint_of(const topo::Machine& machine);

// Returns "" if the two are the same machine, otherwise the first difference: "cores: 64, here 2".
std::string difference(const Fingerprint& table, const Fingerprint& running);

}  // namespace coll::model
