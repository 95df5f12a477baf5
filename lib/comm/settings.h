// SPDX-License-Identifier: BSD-3-Clause
// What the environment and the configuration file ask for. Read once per communicator; all ranks must agree where it
// matters.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "comm/error.h"
#include "model/choose.h"

namespace coll::comm {

enum class Transport : uint8_t { automatic, shm, cma, mapped };
const char* name(Transport transport);

struct Settings {
  Transport transport = Transport::automatic;  // COLL_TRANSPORT
  std::string topology;                        // COLL_TOPOLOGY: native, an XML path, or a synthetic text
  std::string sensitivity;                     // COLL_SENSITIVITY
  bool debug = false;                          // COLL_DEBUG=1: check that ranks call alike
  bool log = false;                            // COLL_LOG=info
  std::string remarks;                         // lines for that log: variables that are probably misspelt
  size_t direct_min_bytes = 8192;              // COLL_DIRECT_MIN
  // COLL_BARRIER, COLL_BCAST and so on, by collective: name[:chunk=..,k=..]; algorithm null when not forced
  std::array<model::Choice, plan::collectives> forced;
  uint64_t choices = 0;  // a digest of the texts of those and of COLL_SENSITIVITY

  // OK or UNAVAILABLE, ARG with a text that names the variable and what it takes.
  coll_status read();
};

}  // namespace coll::comm
