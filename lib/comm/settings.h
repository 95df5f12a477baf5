// SPDX-License-Identifier: BSD-3-Clause
// What the environment and the configuration file ask for. Read once per communicator; all ranks must agree where it
// matters.
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

// COLL_TUNE: which calls are auto-tuned. What the most reluctant rank says holds for all.
enum class Tune : uint8_t {
  off,
  long_calls,  // blocking ones from tune::long_tuned_min_bytes on, between the candidates of one rule
  on,          // all from tune::tuned_min_bytes on
};

struct Settings {
  Transport transport = Transport::automatic;  // COLL_TRANSPORT
  std::string topology;                        // COLL_TOPOLOGY: native, an XML path, or a synthetic text
  std::string sensitivity;                     // COLL_SENSITIVITY
  bool debug = false;                          // COLL_DEBUG=1: check that ranks call alike
  bool log = false;                            // COLL_LOG=info
  bool log_decisions = false;                  // COLL_LOG=debug
  std::string remarks;                         // lines for that log: variables that are probably misspelt
  size_t direct_min_bytes = 8192;              // COLL_DIRECT_MIN
  std::optional<bool> streamed;                // COLL_STAGING; nothing: as each rank finds out
  bool tells_drift = true;                     // COLL_DRIFT, a former variable
  bool huge_pages = true;                      // COLL_HUGE_PAGES: for buffers that are used again and again
  Tune tune = Tune::long_calls;                // COLL_TUNE
  std::string tune_file;                       // COLL_TUNE_FILE; "": nothing is kept
  bool shared_heap = false;                    // COLL_HEAP=shared
  std::string rendezvous_directory;            // COLL_RENDEZVOUS_DIR
  std::string trace;                           // COLL_TRACE: a file's beginning; "": nothing is recorded
  std::string table;                           // COLL_TABLE: a name, a path, none; "": this machine's
  // COLL_BARRIER, COLL_BCAST and so on, by collective; empty when not forced
  std::array<std::vector<tune::Range>, plan::collectives> forced;
  uint16_t throttle = 0;     // COLL_THROTTLE: k of throttled algorithms; 0: as chosen
  uint32_t chunk_bytes = 0;  // COLL_CHUNK; 0: as chosen
  uint64_t choices = 0;      // a digest of those from `forced` on, of COLL_SENSITIVITY and COLL_CPU

  // OK or UNAVAILABLE, ARG with a text that names the variable and what it takes.
  coll_status read();
};

}  // namespace coll::comm
