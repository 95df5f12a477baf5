// SPDX-License-Identifier: BSD-3-Clause
// Scores of UCC's UCX transport: collective:sizes:memory:[ranks]:score:@algorithm, joined by '#'. Sizes are those of
// the vector, or of all blocks together. Collectives for which UCC has only one algorithm are omitted.
#include <algorithm>

#include <fmt/format.h>

#include "tools/export/export.h"

namespace coll::tools {
namespace {

using plan::Collective;

struct UccName {
  Collective collective;
  std::string_view ours, theirs;
};

// "latency" is the hand-written latency path, "*" every other algorithm of the collective.
constexpr UccName ucc_names[] = {
    {Collective::bcast, "scatter_allgather", "sag_knomial"},
    {Collective::bcast, "scatter_allgather_ring", "sag_knomial"},
    {Collective::bcast, "scatter_allgather_doubling", "sag_knomial"},
    {Collective::bcast, "*", "knomial"},
    {Collective::allreduce, "latency", "knomial"},
    {Collective::allreduce, "all_read", "knomial"},
    {Collective::allreduce, "*", "sra_knomial"},
    {Collective::allgather, "latency", "knomial"},
    {Collective::allgather, "recursive_doubling", "knomial"},
    {Collective::allgather, "bruck", "bruck"},
    {Collective::allgather, "ring_neighbor", "neighbor"},
    {Collective::allgather, "*", "ring"},
    {Collective::alltoall, "bruck", "bruck"},
    {Collective::alltoall, "*", "pairwise"},
    {Collective::reduce_scatter, "latency", "knomial"},
    {Collective::reduce_scatter, "*", "ring"},
};

std::string_view ucc_name(Collective collective, const tune::Choice& choice) {
  const std::string_view ours = choice.algorithm == nullptr ? "latency" : choice.algorithm->name;
  const auto* found = std::ranges::find_if(
      ucc_names, [&](const UccName& s) { return s.collective == collective && (s.ours == ours || s.ours == "*"); });
  return found == std::end(ucc_names) ? "" : found->theirs;
}

}  // namespace

std::string to_ucc(const std::vector<Thresholds>& all) {
  std::string text;
  for (const Thresholds& one : all) {
    // The rules apply up to the next larger number of ranks.
    int next = 0;
    for (const Thresholds& other : all)
      if (other.collective == one.collective && other.ranks > one.ranks && (next == 0 || other.ranks < next))
        next = other.ranks;
    const std::string ranks =
        next == 0 ? fmt::format("[{}-inf]", one.ranks) : fmt::format("[{}-{}]", one.ranks, next - 1);
    size_t from = 0;
    for (const auto& [up_to, there] :
         merged(one, [&](const Threshold& threshold) { return ucc_name(one.collective, threshold.choice); })) {
      const size_t end = total_bytes(one, up_to);
      if (!there.empty())
        text += fmt::format("{}{}:{}-{}:host:{}:inf:@{}", text.empty() ? "" : "#", plan::name(one.collective), from,
                            end == SIZE_MAX ? "inf" : std::to_string(end + 1), ranks, there);
      from = end == SIZE_MAX ? end : end + 1;
    }
  }
  return text;
}

}  // namespace coll::tools
