// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm by name. An algorithm is a pure function of a Request: no buffer, no count, nothing measured.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/count.h"
#include "plan/plan.h"
#include "topo/hierarchy.h"

namespace coll::algo {

struct Parameters {
  uint32_t chunk_bytes = 16384;  // what one pass of a loop moves; movement avoiding: the largest slice
  uint16_t depth = 4;            // slots of a staging ring, a power of two
  uint16_t k = 2;                // knomial: readers that a holder serves at once; throttled ones: accesses at once;
                                 // rg: ranks that a leader reduces; 0 where the algorithm is to decide
  uint16_t j = 1;                // ring_neighbor: the stride
  // hierarchical: per level, innermost first; empty: chunk_bytes everywhere. The largest one is the chunk of the
  // loops and of the staging slots, a smaller one is rounded to 1/2, 1/4 or 1/8 of it.
  std::vector<uint32_t> level_chunk_bytes;
  bool operator==(const Parameters&) const = default;
};

// Staging of each rank that a communicator has for one blocking call.
inline constexpr size_t usual_room_bytes = size_t(4) << 20;

struct Request {
  const topo::Hierarchy* hierarchy = nullptr;  // also says how many ranks there are; at least one
  int root = 0;                                // rootless collectives: 0
  int only_rank = -1;                          // >= 0: make the program of this rank alone
  bool irregular = false;                      // pieces of different lengths, which only their two ranks know
  Parameters parameters;
  // Staging of each rank that slots of many blocks may take together. A plan of large chunks or deep rings may need more.
  size_t room_bytes = usual_room_bytes;
};

// Which parameters an algorithm reads.
struct Reads {
  bool chunk = false;
  bool depth = false;
  bool k = false;
  bool j = false;
  bool level_chunks = false;
  bool hierarchy = false;  // reads the groups; without it the number of ranks alone counts
};

struct Algorithm {
  plan::Collective collective = plan::Collective::barrier;
  std::string_view name;
  std::string_view summary;
  std::string_view source;  // the text it comes from, "XHC IV-A"
  // Reductions combine their operands in the balanced order (Plan::balanced) with every hierarchy: non-commutative
  // operations are right, and every such algorithm gives the same bits. A plan may do so where the algorithm does not
  // promise it: ask Plan::balanced.
  bool balanced = true;
  // Partial results are stored. So that they are not rounded, 16-bit floats are converted to float before and back after:
  // twice as much data.
  bool stores_partials = false;
  Reads reads;
  bool irregular = false;  // takes pieces of different lengths: serves the v-form as well
  // How the text's ranks reach each other's buffers: what counts of bytes assume unless told otherwise.
  plan::Access described = plan::Access::mapped;
  uint64_t max_bytes = 0;  // not meant for vectors longer than this, though right for them; 0: for all
  // Whether the plan is what its name says for this request; if not, the plan is right but of a simpler form.
  bool (*applies)(const Request& request) = nullptr;
  // Why whoever asks for it by name is refused, for people; "": is not. Absent: nobody is.
  std::string (*refuses)(const Request& request) = nullptr;
  plan::Plan (*make)(const Request& request) = nullptr;
};

std::span<const Algorithm> algorithms();
const Algorithm* find(plan::Collective collective, std::string_view name);

}  // namespace coll::algo
