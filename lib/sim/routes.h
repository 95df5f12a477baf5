// SPDX-License-Identifier: BSD-3-Clause
// What a step of a plan costs on a machine: which links its bytes pass, how fast its ends move them, whose pages it locks,
// how long it takes to begin. The one place of lib/sim that looks into operands.
#pragma once

#include <cstdint>
#include <vector>

#include "model/table.h"
#include "plan/count.h"
#include "plan/layout.h"
#include "plan/machine.h"
#include "sim/network.h"
#include "sim/simulate.h"
#include "topo/hierarchy.h"

namespace coll::sim {

// One copy or reduction.
struct Transfer {
  double bytes = 0;  // 0: nothing moves, source and destination are the same memory
  double startup_us = 0;
  Route route;
  bool kernel = false;
  // Which bytes of another rank it fetches into which L3, so that ranks below it may do so once.
  struct Fetched {
    uint64_t cell = 0, length = 0;
    uint32_t pass = 0;
    int32_t l3 = -1;  // -1: not shared
    bool operator==(const Fetched&) const = default;
  } fetched;
};

class Routes {
 public:
  // Adds its links to the network. The arguments must outlive it.
  Routes(const plan::Layout& layout, const topo::Hierarchy& hierarchy, const model::Table& table,
         const Options& options, Network& network);

  bool direct(const plan::View& view, int owner) const;
  Transfer transfer(const plan::LaneState& lane, const plan::Step& step, const plan::Extent& extent) const;
  // The bytes come from the reader's own L3, because another rank below it has fetched them or is at it.
  void fetch_below(Transfer& made, int reader) const;

 private:
  struct Far {
    int owner;
    bool kernel;
    topo::Distance distance;
    model::Mechanism mechanism;
  };
  // Notes that link `index` is one of those; -1, an unknown domain, is the first.
  static void want(std::vector<uint32_t>& of, int index, double gbs);
  // Where bytes leave rank `from` for a core `distance` away.
  void add_way(std::vector<Use>& uses, int from, topo::Distance distance, bool cached) const;
  bool cached(const plan::Operand& operand) const;
  bool is_result(const plan::Operand& operand) const;
  // Microseconds a byte, where the table has rates by size: to load from an operand or combine it, to store to it.
  double load_us(const plan::Operand& operand, const Far& peer, int rank, bool combines, double chunk_bytes) const;
  double store_us(const plan::Operand& operand, const Far& peer, int rank) const;
  double kernel_gbs(const Far& peer, int rank) const;
  bool by_size() const { return !table_.caches.empty(); }
  bool keeps(uint32_t link, int reader) const;

  const plan::Layout& layout_;
  const plan::Plan& plan_;
  const topo::Hierarchy& hierarchy_;
  const model::Table& table_;
  const plan::Access access_;
  const model::Mechanism kernel_;
  const double buffer_times_;
  double vector_bytes_, work_set_;
  std::vector<double> own_bytes_;      // by rank: what it touches of its own buffers
  std::vector<bool> filled_by_peers_;  // [rank * views + view]: others write into its slots
  bool stores_to_memory_, streams_;
  std::vector<plan::Decision> decisions_;
  std::vector<uint32_t> l3_links_, memory_links_, numa_links_, socket_links_, core_links_;  // by the machine's numbers
  std::vector<bool> core_shared_;                                                           // by rank
};

}  // namespace coll::sim
