// SPDX-License-Identifier: BSD-3-Clause
// Rules of Open MPI's tuned component: for each collective, the numbers of ranks from which rules apply; for each of
// these, the sizes from which an algorithm is used, with fan-out and segment size. Algorithms have the numbers of Open
// MPI 4.1 (ompi_info --param coll tuned -l 9). Each algorithm of libcoll is mapped to the one that does the same with
// messages.
#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "tools/export/export.h"

namespace coll::tools {
namespace {

using plan::Collective;

// The counterpart of an algorithm. libcoll never selects reductions that reorder operands, so the table has none.
struct Same {
  Collective collective;
  std::string_view ours;
  int number;
  std::string_view name;
  bool segments = false;  // moves data in segments of our chunk size
  int fan_out = 0;        // 0: the default
};

// "latency" is the hand-written latency path, "*" every other algorithm of the collective.
constexpr Same same[] = {
    {Collective::barrier, "flat", 1, "linear"},
    {Collective::barrier, "hierarchical", 6, "tree"},
    {Collective::barrier, "grouped", 6, "tree"},
    {Collective::barrier, "latency", 3, "recursive_doubling"},
    {Collective::barrier, "*", 4, "bruck"},
    {Collective::bcast, "knomial", 7, "knomial", true},
    {Collective::bcast, "scatter_allgather", 8, "scatter_allgather"},
    {Collective::bcast, "scatter_allgather_doubling", 8, "scatter_allgather"},
    {Collective::bcast, "scatter_allgather_ring", 9, "scatter_allgather_ring"},
    {Collective::bcast, "hierarchical", 5, "binary_tree", true},
    {Collective::bcast, "grouped", 5, "binary_tree", true},
    {Collective::bcast, "shm_pipelined", 3, "pipeline", true},
    {Collective::bcast, "*", 1, "basic_linear"},
    {Collective::reduce, "flat", 1, "linear"},
    {Collective::reduce, "latency", 1, "linear"},
    {Collective::reduce, "*", 7, "rabenseifner"},
    {Collective::allreduce, "all_read", 3, "recursive_doubling"},
    {Collective::allreduce, "latency", 3, "recursive_doubling"},
    {Collective::allreduce, "*", 6, "rabenseifner"},
    {Collective::reduce_scatter, "latency", 2, "recursive_halving"},
    {Collective::reduce_scatter, "*", 3, "ring"},
    {Collective::allgather, "recursive_doubling", 3, "recursive_doubling"},
    // Versions after 4.1 use the fan-out as the radix, and loop without end if it is 0.
    {Collective::allgather, "latency", 2, "bruck", false, 2},
    {Collective::allgather, "bruck", 2, "bruck", false, 2},
    {Collective::allgather, "grouped", 2, "bruck", false, 2},
    {Collective::allgather, "gather_bcast", 1, "linear"},
    {Collective::allgather, "hierarchical", 1, "linear"},
    {Collective::allgather, "*", 4, "ring"},
    {Collective::alltoall, "bruck", 3, "modified_bruck"},
    {Collective::alltoall, "grouped", 3, "modified_bruck"},
    {Collective::alltoall, "latency", 1, "linear"},
    {Collective::alltoall, "*", 2, "pairwise"},
    {Collective::gather, "sequential_read", 3, "linear_sync"},
    {Collective::gather, "throttled_write", 3, "linear_sync"},
    {Collective::gather, "hierarchical", 2, "binomial"},
    {Collective::gather, "grouped", 2, "binomial"},
    {Collective::gather, "*", 1, "basic_linear"},
    {Collective::scatter, "throttled_read", 3, "linear_nb"},
    {Collective::scatter, "hierarchical", 2, "binomial"},
    {Collective::scatter, "*", 1, "basic_linear"},
    {Collective::scan, "*", 2, "recursive_doubling"},
    {Collective::exscan, "*", 2, "recursive_doubling"},
};

const Same& same_as(Collective collective, const tune::Choice& choice) {
  const std::string_view ours = choice.algorithm == nullptr ? "latency" : choice.algorithm->name;
  return *std::ranges::find_if(
      same, [&](const Same& s) { return s.collective == collective && (s.ours == ours || s.ours == "*"); });
}

// Open MPI's numbers of a collective: reduce-scatter has two, with counts and with blocks.
std::vector<int> numbers_of(Collective collective) {
  switch (collective) {
    case Collective::allgather: return {0};
    case Collective::allreduce: return {2};
    case Collective::alltoall: return {3};
    case Collective::barrier: return {6};
    case Collective::bcast: return {7};
    case Collective::exscan: return {8};
    case Collective::gather: return {9};
    case Collective::reduce: return {11};
    case Collective::reduce_scatter: return {12, 13};
    case Collective::scan: return {14};
    case Collective::scatter: return {15};
  }
  return {};
}

// reduce_scatter_block has other numbers and no ring: the butterfly moves the same number of bytes.
constexpr int with_blocks = 13;
int block_number(int number) { return number == 2 ? 3 : 4; }

}  // namespace

std::string to_openmpi(const std::vector<Thresholds>& all, const std::string& origin) {
  std::map<Collective, std::vector<const Thresholds*>> by_collective;
  for (const Thresholds& one : all) by_collective[one.collective].push_back(&one);
  std::string text = fmt::format("# Written by collctl export openmpi for {}.\n", origin), rules;
  int collectives = 0;
  for (const auto& [collective, of] : by_collective)
    for (const int number : numbers_of(collective)) {
      ++collectives;
      rules += fmt::format("{}  # {}{}\n{}  # numbers of ranks; each entry serves up to the next\n", number,
                           plan::name(collective), number == with_blocks ? "_block" : "", of.size());
      for (const Thresholds* one : of) {
        const auto classes = merged(*one, [&, collective = collective](const Threshold& threshold) {
          const Same& there = same_as(collective, threshold.choice);
          const uint32_t chunk = threshold.choice.parameters.chunk_bytes;
          return std::tuple(number == with_blocks ? block_number(there.number) : there.number, there.fan_out,
                            there.segments && chunk < threshold.up_to_bytes ? chunk : 0u, there.name);
        });
        rules += fmt::format("{}  # ranks\n{}  # sizes, then for each: least bytes, algorithm, fan-out, segment\n",
                             one->ranks, classes.size());
        size_t from = 0;
        for (const auto& [up_to, there] : classes) {
          const auto& [algorithm, fan_out, segment, name] = there;
          rules += fmt::format("{} {} {} {}  # {}\n", from, algorithm, fan_out, segment, name);
          if (up_to != SIZE_MAX) from = total_bytes(*one, up_to) + 1;
        }
      }
    }
  return text + fmt::format("{}  # collectives\n", collectives) + rules;
}

}  // namespace coll::tools
