// SPDX-License-Identifier: BSD-3-Clause
// Every row of the table of algorithms with its formula, and the ranking of all that apply to one question.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algo/registry.h"
#include "model/formulas.h"

namespace coll::model {

// What a row's formula reads besides sizes.
struct Reads {
  bool k = false, chunk = false;
  bool j = false;  // Knobs::k is the stride of a ring
};

// What is copied once more where peers cannot see a buffer, because it goes through shared slots: by whom it takes longest.
enum class Staging : uint8_t {
  nothing,  // or the formula has it
  block,    // one block, or the vector
  peers,    // the blocks of all peers
};

// By which mechanisms it can go.
enum class Means : uint8_t { anywhere, staged, mapped };

// What every rank fetches from every other one: blocks of its own, or blocks that all fetch. Of a vector, p-th parts of it.
struct Traffic {
  double own = 0, shared = 0;
  double passed_on = 0;  // the share of what is stored that is to stay in caches, because others read it or write it
  double from_send =
      0;  // the share of what is received that is copied from the buffers that peers send, if they can be seen
};

// Blocks of a chunk that the slots of one pass hold, times the ranks and besides: together they have limited room, so that
// chunks may become shorter than they are asked for. None: one block.
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

// The generator of a row's plans; nullptr for rows that are priced for comparison only.
const algo::Algorithm* registered(const Row& row);

// The row's formula, and the copies into shared slots where the setting's mechanism is shared memory.
Terms cost(const Row& row, const Setting& on, double bytes, const Knobs& knobs);

struct Priced {
  const Row* row = nullptr;
  Mechanism mechanism = Mechanism::shared_memory;
  Knobs knobs;
  Terms terms;
};

// One row at its best: the mechanism among those that the machine has, k among 1 ... cores of a socket, chunks of 4 KiB
// to 1 MiB. Vectors below the table's threshold are staged.
Priced price(const Row& row, const Table& table, const topo::Hierarchy& hierarchy, double bytes);

// All rows of a collective that apply to the hierarchy, cheapest first; of rows that cost the same the one listed first.
std::vector<Priced> rank_choices(std::string_view collective, const Table& table, const topo::Hierarchy& hierarchy,
                                 double bytes);

}  // namespace coll::model
