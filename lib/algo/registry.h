// SPDX-License-Identifier: BSD-3-Clause
// The registry of all algorithms by name. An algorithm is a pure function of a PlanRequest: it depends on no buffer, no
// count and no measurement.
#pragma once

#include <algorithm>
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
  uint32_t chunk_bytes = 16384;  // bytes that one iteration of a loop moves; movement avoiding: the largest slice
  uint16_t depth = 4;            // slots of a staging ring, a power of two
  uint16_t k = 2;                // knomial: readers that a holder serves at once; throttled: concurrent accesses;
                                 // rg: ranks that a leader reduces; 0: the algorithm decides
  uint16_t j = 1;                // ring_neighbor: the stride
  // hierarchical: chunk per level, innermost first; empty: chunk_bytes on every level. The largest is the chunk of the
  // loops and of the staging slots; a smaller one is rounded to 1/2, 1/4 or 1/8 of it.
  std::vector<uint32_t> level_chunk_bytes;
  bool operator==(const Parameters&) const = default;
};

// The staging per rank that a communicator has for one blocking call.
inline constexpr size_t usual_room_bytes = size_t(4) << 20;

// The staging that the slots of many blocks take: 64 of the requested chunks, at least 1 MiB, but at most the room, of
// which one 64th is left for other views and tables.
constexpr size_t room_for_blocks(size_t chunk_bytes, size_t room_bytes) {
  return std::min(std::max(64 * chunk_bytes, size_t(1) << 20), room_bytes - room_bytes / 64);
}

// What an algorithm makes a plan from.
struct PlanRequest {
  const topo::Hierarchy* hierarchy = nullptr;  // also defines the number of ranks, at least one
  int root = 0;                                // rootless collectives: 0
  int only_rank = -1;                          // >= 0: make only this rank's program
  bool irregular = false;                      // pieces of different lengths, which only their two ranks know
  Parameters parameters;
  // The staging per rank that slots of many blocks may use together. A plan with large chunks or deep rings may need
  // more.
  size_t room_bytes = usual_room_bytes;
};

// The parameters that an algorithm reads.
struct Reads {
  bool chunk = false;
  bool depth = false;
  bool k = false;
  bool j = false;
  bool level_chunks = false;
  bool hierarchy = false;  // reads the groups; false: only the number of ranks matters
};

struct Algorithm {
  plan::Collective collective = plan::Collective::barrier;
  std::string_view name;
  std::string_view summary;
  std::string_view source;  // the paper that describes it, "XHC IV-A", or "this project"
  // Reductions: the algorithm combines operands in the balanced order (Plan::balanced) with every hierarchy, so
  // non-commutative operations are correct and all such algorithms give the same bits. If false, single plans may still
  // be balanced: see Plan::balanced.
  bool balanced = true;
  // The algorithm stores partial results. To round 16-bit floats only once, it works on a copy in float, which doubles
  // the data.
  bool stores_partials = false;
  Reads reads;
  bool irregular = false;  // accepts pieces of different lengths: serves the v-form as well
  // The access to other ranks' buffers that the source assumes; the default when bytes are counted.
  plan::AccessMode described = plan::AccessMode::direct;
  uint64_t max_bytes = 0;  // not intended for longer vectors, although correct for them; 0: no limit
  // Whether the plan for this request has the form that its name promises; otherwise it is correct, but of a simpler
  // form.
  bool (*applies)(const PlanRequest& request) = nullptr;
  // The reason, for human readers, why a request by name is refused; "" if it is accepted. nullptr: never refused.
  std::string (*refuses)(const PlanRequest& request) = nullptr;
  plan::Plan (*make)(const PlanRequest& request) = nullptr;
};

std::span<const Algorithm> algorithms();
const Algorithm* find(plan::Collective collective, std::string_view name);

}  // namespace coll::algo
