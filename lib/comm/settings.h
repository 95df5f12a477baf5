// SPDX-License-Identifier: BSD-3-Clause
// The settings from the environment and the configuration file. Every communicator reads them once; create.cc checks
// that the ranks agree on those that must be equal.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/error.h"
#include "tune/rules.h"

namespace coll::comm {

enum class Transport : uint8_t { automatic, shm, cma, mapped, kcoll_copy, kcoll_map, kcoll_uring };
inline constexpr Transport transports[] = {Transport::automatic,  Transport::shm,        Transport::cma,
                                           Transport::mapped,     Transport::kcoll_copy, Transport::kcoll_map,
                                           Transport::kcoll_uring};
const char* name(Transport transport);

// COLL_TUNE: which calls are auto-tuned. The lowest level of all ranks applies to all.
enum class Tune : uint8_t {
  off,
  long_calls,  // blocking calls of tune::long_tuned_min_bytes or more, between the candidates of one rule
  on,          // all calls of tune::tuned_min_bytes or more
};

struct Settings {
  Transport transport = Transport::automatic;  // COLL_TRANSPORT
  std::string topology;                        // COLL_TOPOLOGY: native, an XML path, or a synthetic text
  std::string sensitivity;                     // COLL_SENSITIVITY
  bool debug = false;                          // COLL_DEBUG=1: check that ranks make the same calls
  bool log = false;                            // COLL_LOG=info
  bool log_decisions = false;                  // COLL_LOG=debug
  std::string remarks;                         // lines for that log, e.g. variables that are probably misspelt
  size_t direct_min_bytes = 8192;              // COLL_DIRECT_MIN
  std::optional<bool> streamed;                // COLL_STAGING; nullopt: each rank measures it
  bool warns_of_drift = true;                  // COLL_DRIFT, a former variable
  bool huge_pages = true;                      // COLL_HUGE_PAGES: for buffers that are used often
  Tune tune = Tune::long_calls;                // COLL_TUNE
  std::string tune_file;                       // COLL_TUNE_FILE; "": results are not kept
  bool shared_heap = false;                    // COLL_HEAP=shared
  std::string rendezvous_directory;            // COLL_RENDEZVOUS_DIR
  std::string trace;                           // COLL_TRACE: prefix of the files; "": no trace
  std::string table;                           // COLL_TABLE: a name, a path, none; "": the table of this machine
  // COLL_BARRIER, COLL_BCAST and so on, by collective; empty if not forced
  std::array<std::vector<tune::Range>, plan::collectives> forced;
  uint16_t throttle = 0;     // COLL_THROTTLE: k of throttled algorithms; 0: selected
  uint32_t chunk_bytes = 0;  // COLL_CHUNK; 0: selected
  uint64_t choices = 0;      // a digest of `forced`, `throttle`, `chunk_bytes`, COLL_SENSITIVITY and COLL_CPU

  // Returns OK, or UNAVAILABLE or ARG with an error message that names the variable and its valid values.
  coll_status read();
};

}  // namespace coll::comm
