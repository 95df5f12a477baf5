// SPDX-License-Identifier: BSD-3-Clause
// The cost of a step of a plan on a machine: the links that its bytes pass, the rate of its ends, the owners whose
// pages it locks, and its startup time. This is the only file of lib/sim that reads operands.
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
  double bytes = 0;  // 0: source and destination are the same memory
  double startup_us = 0;
  Route route;
  bool kernel = false;
  // The bytes of another rank that the transfer fetches, and the L3 that it fetches them into, so that ranks on one L3
  // fetch the same bytes once.
  struct Fetched {
    uint64_t cell = 0, length = 0;
    uint32_t pass = 0;
    int32_t l3 = -1;  // -1: not shared
    bool operator==(const Fetched&) const = default;
  } fetched;
};

class Routes {
 public:
  // Adds its links to the network. All arguments must outlive the object.
  Routes(const plan::Layout& layout, const topo::Hierarchy& hierarchy, const model::Table& table,
         const Options& options, Network& network);

  bool direct(const plan::View& view, int owner) const;
  Transfer transfer(const plan::LaneState& lane, const plan::Step& step, const plan::Extent& extent) const;
  // Changes a transfer to read from the reader's own L3, because another rank on it has fetched the bytes or is
  // fetching them.
  void fetch_below(Transfer& made, int reader) const;

 private:
  // The rank whose memory an operand is in, and how it is accessed.
  struct Remote {
    int owner;
    bool kernel;
    topo::Distance distance;
    model::Mechanism mechanism;
    double buffer_bytes = 0;  // of the buffer that a kernel-assisted copy accesses
  };
  // Notes that domain `index` has a link if gbs > 0; an unknown domain, -1, counts as the first one.
  static void want(std::vector<uint32_t>& of, int index, double gbs);
  // Adds the links that bytes of rank `from` pass on their way to a core at this distance.
  void add_links(std::vector<Use>& uses, int from, topo::Distance distance, bool cached) const;
  double buffer_bytes(plan::Buffer buffer, int rank) const;  // of one rank's buffer
  bool cached(const plan::Operand& operand) const;
  bool is_result(const plan::Operand& operand) const;
  // Microseconds per byte, if the table has rates by size: to load from an operand or combine it, to store to it.
  double load_us(const plan::Operand& operand, const Remote& peer, int rank, bool combines, double chunk_bytes) const;
  double store_us(const plan::Operand& operand, const Remote& peer, int rank, double bytes) const;
  double kernel_gbs(const Remote& peer, int rank) const;
  bool by_size() const { return !table_.caches.empty(); }
  bool keeps(uint32_t link, int reader) const;

  const plan::Layout& layout_;
  const plan::Plan& plan_;
  const topo::Hierarchy& hierarchy_;
  const model::Table& table_;
  const plan::AccessMode access_;
  const model::Mechanism kernel_;
  const double buffer_times_;
  double vector_bytes_, work_set_;
  std::vector<double> own_bytes_;      // by rank: bytes of its own buffers that it touches
  std::vector<bool> filled_by_peers_;  // [rank * views + view]: other ranks write to its slots
  bool stores_to_memory_, streams_;
  std::vector<plan::Decision> decisions_;
  std::vector<uint32_t> l3_links_, memory_links_, numa_links_, socket_links_, core_links_;  // by domain
  std::vector<bool> core_shared_;                                                           // by rank
};

}  // namespace coll::sim
