// SPDX-License-Identifier: BSD-3-Clause
// The messages that ranks exchange when they create a communicator. The bootstrap of launchers is slow and limited, so
// it carries only what a rank needs to find the segment, 64 bytes per rank in all; the rest is in the segment.
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

// The processors that this process may use, below most_cpus.
std::bitset<most_cpus> own_cpus();

// The first exchange. A rank that has failed fills in all members as well, and writes its reason to the segment.
struct Hello {
  using Word [[gnu::aligned(4)]] = uint64_t;  // so that nothing is padding
  static constexpr uint16_t protocol = 8;
  static constexpr uint64_t unknown_node = 0;  // this rank cannot read it: no /proc, or the limit on open files
  uint16_t version = protocol;
  uint8_t status = COLL_OK;  // coll_status
  bool proc_is_own = false;  // transport::Namespaces
  uint32_t process = 0;      // a digest, equal for ranks that are threads of one process
  Word node = unknown_node;  // a digest of transport::node_identity()
  int32_t pid = 0;
  uint32_t user = 0, pids = 0, net = 0;  // transport::Namespaces
  // Rank 0: its segment. -1: it has none. offers_spares: it makes one only if no spare is common to all ranks.
  static constexpr int32_t offers_spares = -2;
  int32_t descriptor = -1;
  uint32_t device = 0;
  Word inode = 0, token = 0;
  uint32_t segment_pages = 0;

  void introduce(const transport::Address& own);
  // Whether it is known that the two are on different nodes. Where it is not, opening the segment shows it.
  bool is_on_other_node(const Hello& other) const;
  void offer(const transport::SegmentAddress& segment);
  // Tokens of the segments of spares (comm/spares.h), instead of a segment; 0: none.
  static constexpr size_t most_spares = 2;
  void offer_spares(const std::array<uint64_t, most_spares>& tokens);
  std::array<uint64_t, most_spares> spares() const;
  // The token of the address consists of the digest and the pid.
  transport::Address address() const;
  transport::SegmentAddress segment() const;
};

// The later exchanges: each rank sends a coll_status, after it has written everything else to the segment.
using Status = uint8_t;

// In the segment. Its rank writes it once it has mapped the segment, before the exchange of statuses that follows, and
// does not change it later, because the others read it from then on.
struct Introduction {
  char reason[reason_bytes] = "";  // of a failure
  transport::Token process;
  // Rank 0: lengths in the segment of the topology, the table, and the results of earlier auto-tuning; 0: none.
  uint64_t machine_bytes = 0, table_bytes = 0, learned_bytes = 0;
  ProbeOffer probe;
  uint32_t transport = 0;
  bool debug = false;
  bool shared_heap = false;
  bool huge_pages = false;  // can be used for long buffers
  bool traces = false;      // COLL_TRACE is set
  uint8_t tune = 0;         // comm::Tune
  uint64_t direct_min_bytes = 0;
  uint64_t choices = 0;  // Settings::choices
  std::bitset<most_cpus> cpus;
};

// In the segment as well, written before the last exchange: what the rank has found out.
struct Report {
  char reason[reason_bytes] = "";
  topo::Place place;
  uint64_t scheduler_group = 0;  // set if ranks are oversubscribed
  ProbeFindings found;
};

// One rank's part of the segment for the creation.
struct RankRecord {
  Introduction introduction;
  Report report;
};

// Bytes per rank of each exchange; their number does not depend on failures. `names`: the ranks make one exchange more,
// because some get the segment by a socket.
std::vector<size_t> exchanged_bytes(bool names);

}  // namespace coll::comm
