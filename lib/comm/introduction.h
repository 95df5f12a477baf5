// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a communicator to be tell each other. Launchers pass on little and slowly, so only what is needed to
// reach the segment goes through the bootstrap, 64 bytes per rank in all; the rest is in the segment.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "coll/coll.h"
#include "comm/probe.h"
#include "topo/place.h"
#include "transport/peer.h"
#include "transport/segment.h"

namespace coll::comm {

inline constexpr int most_cpus = 1024;
inline constexpr size_t reason_bytes = 200;

// Which processors this process may use.
std::bitset<most_cpus> own_cpus();

// The first exchange. A rank that has failed sends the rest as well: the others find its reason in the segment.
struct Hello {
  using Word [[gnu::aligned(4)]] = uint64_t;  // so that nothing is padding
  static constexpr uint16_t protocol = 7;
  uint16_t version = protocol;
  uint8_t status = COLL_OK;  // coll_status
  bool proc_is_own = false;  // transport::Namespaces
  uint32_t process = 0;      // a digest: the same for ranks that are threads of one process
  Word node = 0;             // a digest of transport::node_identity()
  int32_t pid = 0;
  uint32_t user = 0, pids = 0, net = 0;  // transport::Namespaces
  // Rank 0: its segment. -1: it has none. offers_spares: it makes one only if no spare serves.
  static constexpr int32_t offers_spares = -2;
  int32_t descriptor = -1;
  uint32_t device = 0;
  Word inode = 0, token = 0;
  uint32_t segment_pages = 0;

  void introduce(const transport::Address& own);
  void offer(const transport::SegmentAddress& segment);
  // Tokens of the segments of spares (comm/spares.h), instead of a segment; 0: none.
  static constexpr size_t most_spares = 2;
  void offer_spares(const std::array<uint64_t, most_spares>& tokens);
  std::array<uint64_t, most_spares> spares() const;
  // Its token is made of the digest and the pid.
  transport::Address address() const;
  transport::SegmentAddress segment() const;
};

// The exchanges after it: a coll_status, and everything that a rank has written to the segment before.
using Status = uint8_t;

// In the segment, written by its rank before the exchange that all ranks make once they have mapped it; not changed later,
// as others read it.
struct Introduction {
  char reason[reason_bytes] = "";  // of a failure
  transport::Token process;
  // Rank 0: the topology and, unless 0, the table and what auto-tuning has learned, in the segment.
  uint64_t machine_bytes = 0, table_bytes = 0, learned_bytes = 0;
  ProbeOffer probe;
  uint32_t transport = 0;
  bool debug = false;
  bool shared_heap = false;
  bool huge_pages = false;  // for long buffers in use
  uint8_t tune = 0;         // comm::Tune
  uint64_t direct_min_bytes = 0;
  uint64_t choices = 0;  // Settings::choices
  std::bitset<most_cpus> cpus;
};

// The same before the last exchange: what the rank has found out.
struct Report {
  char reason[reason_bytes] = "";
  topo::Place place;
  uint64_t scheduling_group = 0;  // where ranks share cores
  ProbeFindings found;
};

// Of one rank.
struct RankRecord {
  Introduction introduction;
  Report report;
};

// The lengths of the exchanges, which are as many whatever goes wrong. `names`: one more, where ranks get the segment by
// sockets.
std::vector<size_t> exchanged_bytes(bool names);

}  // namespace coll::comm
