// SPDX-License-Identifier: BSD-3-Clause
// The machine of a communicator: rank 0 loads it and hands its text to the others. Kept per process, because a program
// may make thousands of communicators, and asking the processor and the kernel takes a millisecond.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "topo/machine.h"

namespace coll::comm {

struct LoadedMachine {
  topo::Machine machine;
  topo::Status status;  // of topo::load()
  std::string text;     // as topo::serialize() gives it
};

// Rank 0's, for COLL_TOPOLOGY=`wish`; the running machine is loaded anew when the thread may use other processors than
// the last time. Never null. Thread-safe, as all of these.
std::shared_ptr<const LoadedMachine> load_machine(const std::string& wish);

// What rank 0 handed over. Null and why when it cannot be read.
std::shared_ptr<const topo::Machine> machine_of(std::string_view text, topo::Status& status);

}  // namespace coll::comm
