// SPDX-License-Identifier: BSD-3-Clause
// Scatter and gather, including their v-forms: the registry entries of the generators in rooted.h. Each entry exists
// once for both: a gather is a scatter with reversed data flow.
#include <array>
#include <string_view>

#include "algo/families.h"
#include "algo/rooted.h"

namespace coll::algo {
namespace {

using plan::Collective;

struct Text {
  const char* name;
  std::string_view summary;
  std::string_view source;
};

struct Texts {
  Text parallel, sequential, throttled, hierarchical, grouped;
};

constexpr Texts texts_of(Collective what) {
  if (what == Collective::scatter)
    return {.parallel = {"parallel_read", "all ranks read their blocks from the root at once", "CMA IV-A.1, KNEM V-B"},
            .sequential = {"sequential_write", "the root writes to one rank after the other", "CMA IV-A.2"},
            .throttled = {"throttled_read", "ranks read their blocks from the root, k at a time", "CMA IV-A.3"},
            .hierarchical = {"hierarchical", "leaders read the blocks of their groups, members read from their leaders",
                             "CMA VII-G"},
            .grouped = {"grouped", "all ranks read from the root; leaders of at most 16 L3 caches pass its flag on",
                        "this project, XHC IV-A"}};
  return {.parallel = {"parallel_write", "all ranks write their blocks to the root at once", "CMA IV-B.1, KNEM V-B"},
          .sequential = {"sequential_read", "the root reads from one rank after the other", "CMA IV-B.2"},
          .throttled = {"throttled_write", "ranks write their blocks to the root, k at a time", "CMA IV-B.3"},
          .hierarchical = {"hierarchical",
                           "members write to their leaders, leaders write the blocks of their groups to the root",
                           "CMA VII-G"},
          .grouped = {"grouped", "groups of at most 16 ranks write to their leaders, leaders write to the root",
                      "this project, CMA VII-G"}};
}

template <Collective what>
plan::Plan parallel(const PlanRequest& request) {
  return peers_move(request, what, texts_of(what).parallel.name, 0);
}
template <Collective what>
plan::Plan sequential(const PlanRequest& request) {
  return root_moves(request, what, texts_of(what).sequential.name);
}
template <Collective what>
plan::Plan throttled(const PlanRequest& request) {
  return throttled_peers_move(request, what, texts_of(what).throttled.name);
}
template <Collective what>
plan::Plan hierarchical(const PlanRequest& request) {
  return leaders_move(request, what, texts_of(what).hierarchical.name);
}

Algorithm entry(Collective what, const Text& text, Reads reads, plan::Plan (*make)(const PlanRequest&)) {
  return {.collective = what,
          .name = text.name,
          .summary = text.summary,
          .source = text.source,
          .reads = reads,
          .described = plan::AccessMode::remote,
          .applies = always,
          .make = make};
}

template <Collective what>
std::array<Algorithm, 5> family(plan::Plan (*grouped)(const PlanRequest&)) {
  constexpr Texts texts = texts_of(what);
  std::array<Algorithm, 5> all{
      entry(what, texts.parallel, {.chunk = true, .depth = true}, parallel<what>),
      entry(what, texts.sequential, {.chunk = true, .depth = true}, sequential<what>),
      entry(what, texts.throttled, {.chunk = true, .depth = true, .k = true}, throttled<what>),
      entry(what, texts.hierarchical, {.chunk = true, .depth = true, .hierarchy = true}, hierarchical<what>),
      entry(what, texts.grouped, {.chunk = true, .depth = true, .hierarchy = true}, grouped)};
  for (size_t flat = 0; flat < 3; flat++) all[flat].irregular = true;
  all[3].applies = has_levels;
  all[4].applies = has_small_groups;
  all[4].described = plan::AccessMode::staged;
  all[4].max_bytes = 16384;
  return all;
}

}  // namespace

std::span<const Algorithm> scatter_family() {
  static const std::array all = family<Collective::scatter>(grouped_scatter);
  return all;
}

std::span<const Algorithm> gather_family() {
  static const std::array all = family<Collective::gather>(grouped_gather);
  return all;
}

}  // namespace coll::algo
