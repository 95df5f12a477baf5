// SPDX-License-Identifier: BSD-3-Clause
// The topology of a communicator: rank 0 loads it and broadcasts its text. Each process caches it, because a program
// may create thousands of communicators, and reading the topology from the processor and the kernel takes a
// millisecond.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "topo/machine.h"

namespace coll::comm {

struct LoadedMachine {
  topo::Machine machine;
  topo::Status status;  // of topo::load()
  std::string text;     // from topo::serialize()
};

// Called by rank 0 with the value of COLL_TOPOLOGY. The running machine is loaded again if the affinity of the thread
// has changed since the last time. Never returns null. Thread-safe.
std::shared_ptr<const LoadedMachine> load_machine(const std::string& wish);

// Parses the text of rank 0. Returns null and sets `status` if the text is invalid. Thread-safe.
std::shared_ptr<const topo::Machine> machine_of(std::string_view text, topo::Status& status);

}  // namespace coll::comm
