// SPDX-License-Identifier: BSD-3-Clause
// The table of algorithms with their formulas, and the ranking of those that apply to a call.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algo/registry.h"
#include "model/formulas.h"

namespace coll::model {

// The parameters that a row's formula reads.
struct Reads {
  bool k = false, chunk = false;
  bool j = false;  // Knobs::k is the stride of a ring
};

// The data that the busiest rank also copies into slots if peers cannot access its buffer.
enum class Staging : uint8_t {
  nothing,  // none, or the formula includes it
  block,    // one block, or the vector
  peers,    // the blocks of all peers
};

// The mechanisms that an algorithm can use.
enum class Means : uint8_t { anywhere, staged, mapped };

// What every rank fetches from every other rank, in blocks or in p-th parts of the vector.
struct Traffic {
  double own = 0, shared = 0;  // different data for each rank, the same data for all ranks
  double reused = 0;     // the share of the stored data that stays in caches, because other ranks read or write it
  double from_send = 0;  // the share of the received data that is copied from send buffers, if peers can access them
};

// The slots of one iteration hold per_rank * ranks + more chunks. Their room is limited, so that chunks may become
// shorter than requested. Both 0: one chunk.
struct Slots {
  int per_rank = 0, more = 0;
};

struct Row {
  std::string_view collective, algorithm;
  std::string_view row;     // "bcast / k-nomial: B + ceil(log_{k+1} p) C(k)"
  std::string_view source;  // "CMA V-B.2"
  Formula formula;
  Reads reads;
  Staging staging = Staging::block;
  Means means = Means::anywhere;
  Slots slots = {};
  Traffic traffic = {};
};

std::span<const Row> rows();
// nullptr when there is none.
const Row* find_row(std::string_view collective, std::string_view algorithm);

// The algorithm of a row; nullptr for rows that are priced for comparison only.
const algo::Algorithm* registered(const Row& row);

// The row's formula, plus the copies into slots if the setting's mechanism is shared memory, plus what the links add.
Terms cost(const Row& row, const Setting& on, double bytes, const Knobs& knobs);

struct Priced {
  const Row* row = nullptr;
  Mechanism mechanism = Mechanism::shared_memory;
  Knobs knobs;
  Terms terms;
};

// A row with its cheapest parameters: any mechanism of the machine, k from 1 to the cores of a socket, chunks from 4
// KiB to 1 MiB. Vectors below the table's threshold are staged.
Priced price(const Row& row, const Table& table, const topo::Hierarchy& hierarchy, double bytes);

// All rows of a collective that apply to the hierarchy, cheapest first; rows of equal cost in the table's order.
std::vector<Priced> rank_choices(std::string_view collective, const Table& table, const topo::Hierarchy& hierarchy,
                                 double bytes);

}  // namespace coll::model
