// SPDX-License-Identifier: BSD-3-Clause
// Selection: rows of the table, rows of about as many ranks, prices, built-in defaults; and that no choice changes a result.
#include "model/select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "machines.h"
#include "model/prices.h"

namespace coll::model {
namespace {

using plan::Collective;

Chosen row(Collective collective, int ranks, size_t up_to_bytes, const char* algorithm, double measured_us = 0) {
  Chosen made{.collective = collective,
              .ranks = ranks,
              .up_to_bytes = up_to_bytes,
              .algorithm = algo::find(collective, algorithm)};
  made.measured_us = measured_us;
  return made;
}

struct Chooser {
  testing::Placed placed;
  Selector selector;
  bool crowded = false;

  Chooser(int ranks, std::vector<Chosen> rows, Circumstances circumstances = {}, const char* machine = "epyc-2p")
      : placed(machine, ranks) {
    auto table = std::make_shared<Table>(placed.table);
    table->choices = std::move(rows);
    std::ranges::sort(table->choices, {},
                      [](const Chosen& c) { return std::tuple(c.collective, c.ranks, c.up_to_bytes); });
    selector = Selector(table, placed.hierarchy, circumstances);
  }
  Question question(Collective collective, size_t bytes) const {
    return {.collective = collective,
            .bytes = bytes,
            .element_bytes = 4,
            .ranks = placed.hierarchy.ranks(),
            .levels = placed.hierarchy.levels(),
            .crowded = crowded};
  }
  Selection select(Collective collective, size_t bytes) { return selector.select(question(collective, bytes)); }
};

std::vector<Chosen> bcasts() {
  return {row(Collective::bcast, 8, 4096, "flat_read", 2), row(Collective::bcast, 8, 16384, "knomial", 8),
          row(Collective::bcast, 8, 1 << 20, "scatter_allgather", 500)};
}

TEST(Select, WithoutATableTheDefaults) {
  Selector selector;
  const Question question{.collective = Collective::bcast, .bytes = 4096, .ranks = 2};
  const Selection selected = selector.select(question);
  EXPECT_EQ(selected.by, Decider::builtin);
  EXPECT_EQ(selected.choice.algorithm, choose(question).algorithm);
  EXPECT_EQ(selector.latency_path_bytes(question), latency_path_bytes(question));
}

TEST(Select, TwoRanksShareTheSumsOfMappedVectors) {
  Question question{.collective = Collective::reduce, .bytes = 4 << 20, .element_bytes = 4, .ranks = 2};
  EXPECT_EQ(choose(question).algorithm->name, "flat");
  question.mapped = true;
  EXPECT_EQ(choose(question).algorithm->name, "fused");
  question.bytes = 512 << 10;
  EXPECT_EQ(choose(question).algorithm->name, "flat");
  question.collective = Collective::allreduce;
  EXPECT_EQ(choose(question).algorithm->name, "all_read");
  EXPECT_EQ(choose(question).parameters.chunk_bytes, 512 << 10);
  question.bytes = 1 << 20;
  EXPECT_EQ(choose(question).algorithm->name, "fused");
}

TEST(Select, TwoRanksShareTheCopiesOfLongBroadcasts) {
  Question question{.collective = Collective::bcast, .bytes = 512 << 10, .ranks = 2};
  EXPECT_EQ(choose(question).algorithm->name, "push_pull");
  question.bytes = 256 << 10;
  EXPECT_EQ(choose(question).algorithm->name, "flat_read");
  question.kernel_copies = true;
  EXPECT_EQ(choose(question).algorithm->name, "push_pull");
  question.crowded = true;
  EXPECT_EQ(choose(question).algorithm->name, "flat_read");
  question = {.collective = Collective::bcast, .bytes = 1 << 20, .ranks = 3};
  EXPECT_EQ(choose(question).algorithm->name, "flat_read");
}

TEST(Select, KernelCopiesPayWhereAllMoveLongPieces) {
  Question question{.collective = Collective::alltoall, .bytes = 8 << 20, .ranks = 2};
  EXPECT_FALSE(choose(question).kernel_copies);  // they do not work
  question.kernel_times = 10;
  EXPECT_FALSE(choose(question).kernel_copies);
  question.kernel_times = 3;
  EXPECT_TRUE(choose(question).kernel_copies);
  question.bytes = 4 << 20;
  EXPECT_FALSE(choose(question).kernel_copies);
  question.huge_pages = true;
  EXPECT_TRUE(choose(question).kernel_copies);
  question.ranks = 64, question.bytes = 4 << 20;
  EXPECT_FALSE(choose(question).kernel_copies);
  question.ranks = 2, question.huge_pages = false;
  question.kernel_times = 1.5;
  EXPECT_TRUE(choose(question).kernel_copies);
  question = {.collective = Collective::scatter, .bytes = 16 << 20, .ranks = 2, .kernel_times = 3};
  EXPECT_FALSE(choose(question).kernel_copies);  // one rank's copies
  question = {.collective = Collective::alltoall, .irregular = true, .ranks = 2, .kernel_times = 3};
  EXPECT_FALSE(choose(question).kernel_copies);  // perhaps short
}

// Of pieces nobody knows how long all are, so they are taken for long ones.
TEST(Select, IrregularPiecesGoInLongChunks) {
  using enum Collective;
  for (const Collective collective : {scatter, gather, allgather, alltoall, reduce_scatter})
    for (const int ranks : {2, 4, 16})
      for (const bool crowded : {false, true})
        for (const double kernel_times : {1.0, 3.0, no_copy}) {
          const Choice choice = choose({.collective = collective,
                                        .irregular = true,
                                        .ranks = ranks,
                                        .kernel_times = kernel_times,
                                        .crowded = crowded});
          EXPECT_GE(choice.parameters.chunk_bytes, 64u << 10) << plan::name(collective) << ' ' << ranks;
        }
}

TEST(Select, LongVectorsPassThroughARingAsLongAsACoresOwnCaches) {
  using enum Collective;
  for (const Collective collective : {bcast, reduce, allreduce, scatter, gather, allgather, scan, exscan})
    for (const size_t cache_bytes : {512 << 10, 1024 << 10}) {
      const algo::Parameters made =
          choose({.collective = collective, .bytes = 8 << 20, .ranks = 2, .core_cache_bytes = cache_bytes}).parameters;
      EXPECT_EQ(size_t(made.chunk_bytes) * made.depth, cache_bytes) << plan::name(collective);
    }
}

TEST(Select, HalfAsLongWhereStoresDoNotWaitForLines) {
  using enum Collective;
  for (const Collective collective : {bcast, reduce, allreduce, scatter, gather, allgather, scan, exscan}) {
    const algo::Parameters made =
        choose(
            {.collective = collective, .bytes = 8 << 20, .ranks = 2, .core_cache_bytes = 1 << 20, .overwrites = true})
            .parameters;
    EXPECT_EQ(size_t(made.chunk_bytes) * made.depth, 512u << 10) << plan::name(collective);
  }
}

TEST(Select, RingsAreNoLongerThanTheVector) {
  for (size_t bytes = 4096; bytes <= 4 << 20; bytes *= 2) {
    const algo::Parameters made =
        choose({.collective = Collective::reduce, .bytes = bytes, .ranks = 2, .core_cache_bytes = 1 << 20}).parameters;
    EXPECT_LE(size_t(made.chunk_bytes) * made.depth, bytes);
  }
}

// Each rank has a slot for every hop of every block: slots much longer than blocks cost a page each.
TEST(Select, ShortBlocksOfAnAlltoallPassThroughShortSlots) {
  for (int ranks : {16, 64, 256}) {
    const Question question{.collective = Collective::alltoall, .bytes = 8, .ranks = ranks, .levels = 1};
    const Choice choice = choose(question);
    ASSERT_EQ(choice.algorithm->name, "bruck");
    const topo::Hierarchy hierarchy = topo::Hierarchy::flat(ranks);
    const plan::Plan plan = choice.algorithm->make({.hierarchy = &hierarchy, .parameters = choice.parameters});
    EXPECT_LE(plan.staging_bytes, size_t(ranks) * size_t(std::bit_width(unsigned(ranks))) * 1024) << ranks;
  }
}

TEST(Select, ProcessorsThatDoNotPassLinesOnBroadcastByLeaders) {
  const Family& arm = family_of("Neoverse-N1");
  const Family& epyc = family_of("AMD EPYC 7551P 32-Core Processor");
  EXPECT_EQ(family_of("").name, "all processors");
  Question question{.collective = Collective::bcast, .bytes = 2048, .ranks = 32, .levels = 3};
  EXPECT_EQ(choose(question, arm).algorithm->name, "hierarchical");
  EXPECT_EQ(choose(question, epyc).algorithm, choose(question).algorithm);
  question.levels = 1;
  EXPECT_EQ(choose(question, arm).algorithm, choose(question).algorithm);
  question.collective = Collective::allreduce;
  EXPECT_EQ(choose(question, arm).algorithm, choose(question).algorithm);
}

TEST(Select, AClassEndsWithItsRowAndTheLastHasNoEnd) {
  Chooser chooser(8, bcasts());
  for (const auto& [bytes, name] : {std::pair{size_t(1), "flat_read"},
                                    {size_t(4096), "flat_read"},
                                    {size_t(4097), "knomial"},
                                    {size_t(16385), "scatter_allgather"},
                                    {size_t(1) << 30, "scatter_allgather"}}) {
    const Selection selected = chooser.select(Collective::bcast, bytes);
    EXPECT_EQ(selected.by, Decider::measured) << bytes;
    EXPECT_EQ(selected.choice.algorithm->name, name) << bytes;
  }
  EXPECT_EQ(decider_text(chooser.select(Collective::bcast, 5000)), "table row bcast up to 16 KiB of 8 ranks");
}

TEST(Select, ExpectedTimesLieBetweenThoseOfTheRows) {
  Chooser chooser(8, bcasts());
  EXPECT_EQ(chooser.select(Collective::bcast, 4096).expected_us, 2);
  EXPECT_EQ(chooser.select(Collective::bcast, 100).expected_us, 0);           // nothing was measured below
  EXPECT_NEAR(chooser.select(Collective::bcast, 8192).expected_us, 4, 1e-9);  // half way on the scale, as are the times
  EXPECT_EQ(chooser.select(Collective::bcast, 16384).expected_us, 8);
  EXPECT_EQ(chooser.select(Collective::bcast, 2 << 20).expected_us, 0);
}

TEST(Select, RowsOfAboutAsManyRanksThenPrices) {
  Chooser near(10, bcasts());
  EXPECT_EQ(near.select(Collective::bcast, 4097).by, Decider::nearby);
  EXPECT_EQ(near.select(Collective::bcast, 4097).choice.algorithm->name, "knomial");
  EXPECT_EQ(near.select(Collective::bcast, 4096).expected_us, 0);
  Chooser far(32, bcasts());
  const Selection priced = far.select(Collective::bcast, 1 << 20);
  EXPECT_EQ(priced.by, Decider::priced);
  // The ranking that collctl explain prints, of what this communicator can do: no kernel copies, nothing mapped.
  Table staged = far.placed.table;
  for (Mechanism mechanism : all_mechanisms)
    staged.access[size_t(mechanism)].available = mechanism == Mechanism::shared_memory;
  for (const Priced& ranked : rank_choices("bcast", staged, far.placed.hierarchy, 1 << 20))
    if (registered(*ranked.row) != nullptr) {
      EXPECT_EQ(priced.choice.algorithm->name, ranked.row->algorithm);
      break;
    }
}

TEST(Select, CrowdedRanksTakeRowsOfCrowdedRanksOnly) {
  const std::vector<Chosen> rows = {row(Collective::bcast, 8, 4096, "knomial"),
                                    row(Collective::bcast, 80, 4096, "knomial")};
  Chooser two_on_a_core(8, rows);
  two_on_a_core.crowded = true;
  EXPECT_EQ(two_on_a_core.select(Collective::bcast, 4096).by, Decider::builtin);
  Chooser more_than_cores(80, rows);
  more_than_cores.crowded = true;
  EXPECT_EQ(more_than_cores.select(Collective::bcast, 4096).by, Decider::measured);
  EXPECT_EQ(more_than_cores.select(Collective::allreduce, 4096).by, Decider::builtin);
}

TEST(Select, WhereATurnCostsASleepLongVectorsTakeFewerOfThem) {
  for (const Collective collective : {Collective::bcast, Collective::reduce, Collective::allreduce}) {
    // Reductions of mapped vectors: in the tree a rank waits seldom anyway. An allreduce of such needs no slots and goes
    // in the longest pieces in any case.
    constexpr uint32_t longest = 1024 << 10;
    Question question{.collective = collective,
                      .bytes = 4 << 20,
                      .element_bytes = 4,
                      .ranks = 8,
                      .crowded = true,
                      .mapped = collective != Collective::bcast};
    const uint32_t by_yields = choose(question).parameters.chunk_bytes;
    question.groups_apart = true;
    EXPECT_GE(choose(question).parameters.chunk_bytes, std::min(4 * by_yields, longest));
    question.bytes = 128 << 10;
    const uint32_t short_by_sleeps = choose(question).parameters.chunk_bytes;
    question.groups_apart = false;
    EXPECT_EQ(choose(question).parameters.chunk_bytes, short_by_sleeps);
  }
}

TEST(Select, RanksThatShareCoresReduceInATree) {
  for (const Collective collective : {Collective::reduce, Collective::allreduce, Collective::reduce_scatter}) {
    const Question crowd{.collective = collective, .bytes = 512 << 10, .element_bytes = 4, .ranks = 4, .crowded = true};
    EXPECT_EQ(choose(crowd).algorithm->name, "in_order_tree");
    const auto but = [&](auto change) {
      Question question = crowd;
      change(question);
      return choose(question).algorithm;
    };
    const auto is_tree = [](const algo::Algorithm* chosen) {
      return chosen->name == "in_order_tree" || chosen->name == "rg";
    };
    EXPECT_EQ(but([](Question& q) { q.ranks = 8; })->name, collective == Collective::reduce_scatter ? "fused" : "rg");
    EXPECT_FALSE(is_tree(but([](Question& q) { q.crowded = false; })));
    EXPECT_FALSE(is_tree(but([](Question& q) { q.mapped = true; })));
    EXPECT_FALSE(is_tree(but([](Question& q) { q.kernel_copies = true; })));
    EXPECT_FALSE(is_tree(but([](Question& q) { q.bytes = 1 << 10; })));
    EXPECT_FALSE(is_tree(but([](Question& q) { q.ranks = 64, q.bytes = 64 << 10; })));
    EXPECT_FALSE(is_tree(but([](Question& q) { q.irregular = true, q.bytes = 0; })));
    EXPECT_FALSE(but([](Question& q) { q.element_bytes = 2; })->stores_partials);
  }
}

TEST(Select, RanksThatShareCoresGatherByKernelCopiesOnlyWhereThoseAreQuick) {
  Question question{
      .collective = Collective::gather, .bytes = 1 << 20, .element_bytes = 1, .ranks = 8, .crowded = true};
  question.kernel_times = 3;
  EXPECT_FALSE(choose(question).kernel_copies);
  EXPECT_EQ(choose(question).algorithm->name, "sequential_read");
  question.kernel_times = 1.5;
  EXPECT_TRUE(choose(question).kernel_copies);
  EXPECT_EQ(choose(question).algorithm->name, "parallel_write");
}

// The executor's room is a communicator's: lib/comm/segment_layout.h.
TEST(Select, WhatIsBuiltInFitsTheStaging) {
  for (const int ranks : {2, 3, 8, 16, 33, 64, 100}) {
    const topo::Hierarchy hierarchy = topo::Hierarchy::flat(ranks);
    for (int c = 0; c < plan::collectives; c++)
      for (size_t bytes = 64; bytes <= size_t(64) << 20; bytes *= 4)
        for (const int crowd : {0, 1, 2}) {
          const Choice choice = choose({.collective = Collective(c),
                                        .bytes = bytes,
                                        .element_bytes = 4,
                                        .ranks = ranks,
                                        .crowded = crowd > 0,
                                        .groups_apart = crowd > 1});
          const plan::Plan plan = choice.algorithm->make(
              {.hierarchy = &hierarchy, .only_rank = ranks - 1, .parameters = choice.parameters});
          EXPECT_LE(plan.staging_bytes, 4u << 20) << choice.algorithm->name << " " << ranks << " " << bytes;
        }
  }
}

TEST(Select, KernelCopiesOnlyWhereTheyWork) {
  std::vector<Chosen> rows = {row(Collective::gather, 8, 1 << 20, "throttled_write")};
  rows[0].kernel_copies = true;
  Chooser chooser(8, rows);
  Question question = chooser.question(Collective::gather, 65536);
  EXPECT_EQ(chooser.selector.select(question).by, Decider::priced);
  Chooser where_they_work(8, rows, {.kernel_works = true});  // whatever a trial has found of their speed
  EXPECT_EQ(where_they_work.selector.select(question).by, Decider::measured);
  question.kernel_times = 1;
  EXPECT_EQ(chooser.selector.select(question).by, Decider::measured);
  EXPECT_TRUE(chooser.selector.select(question).choice.kernel_copies);
}

TEST(Select, OfUnknownLengthsTheDefaults) {
  Chooser chooser(8, {row(Collective::gather, 8, 1 << 20, "throttled_write")});
  Question question = chooser.question(Collective::gather, 0);
  question.irregular = true;
  EXPECT_EQ(chooser.selector.select(question).by, Decider::builtin);
}

// Whatever a table holds: operands combine in the balanced order, and 16-bit floats are rounded in one place.
TEST(Select, NoChoiceChangesAResult) {
  for (int c = 0; c < plan::collectives; ++c) {
    const auto collective = Collective(c);
    if (!plan::is_reduction(collective)) continue;
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
      if (algorithm.collective != collective) continue;
      for (const char* machine : {"epyc-2p", "knl"}) {
        Chooser chooser(8, {row(collective, 8, 1 << 30, std::string(algorithm.name).c_str())}, {}, machine);
        for (size_t element_bytes : {2, 4}) {
          Question question = chooser.question(collective, 1 << 16);
          question.element_bytes = element_bytes;
          const Selection selected = chooser.selector.select(question);
          EXPECT_TRUE(selected.choice.algorithm->balanced) << selected.choice.algorithm->name;
          if (element_bytes == 2) { EXPECT_FALSE(selected.choice.algorithm->stores_partials); }
          if (selected.by != Decider::measured) {
            EXPECT_TRUE(!algorithm.balanced || algorithm.stores_partials ||
                        !algorithm.applies({.hierarchy = &chooser.placed.hierarchy}))
                << algorithm.name;
          }
        }
      }
    }
  }
}

TEST(Select, LatencyRowsSayHowFarTheLatencyPathGoes) {
  Chosen latency = row(Collective::bcast, 8, 256, "");
  latency.algorithm = nullptr;
  Chosen alltoall = row(Collective::alltoall, 8, 16, "");
  alltoall.algorithm = nullptr;
  Chooser chooser(8, {latency, row(Collective::bcast, 8, 4096, "flat_read"), alltoall,
                      row(Collective::allreduce, 8, 4096, "rabenseifner")});
  const auto bytes = [&](Collective collective) {
    return chooser.selector.latency_path_bytes(chooser.question(collective, 0));
  };
  EXPECT_EQ(bytes(Collective::bcast), 256u);
  EXPECT_EQ(bytes(Collective::alltoall), 16u * 7);  // all that a rank shows
  EXPECT_EQ(bytes(Collective::reduce), latency_path_bytes(chooser.question(Collective::reduce, 0)));
  EXPECT_EQ(bytes(Collective::allreduce), tiny_bytes);  // a table with rows knows better from there on
  EXPECT_EQ(chooser.select(Collective::bcast, 257).choice.algorithm->name, "flat_read");
}

TEST(Select, TheLatencyPathEndsWhereARankWouldMoveMoreThanAFewPages) {
  constexpr size_t most = 32 << 10;
  Question question{.ranks = 2};
  for (int c = 0; c < plan::collectives; c++) {
    question.collective = Collective(c);
    EXPECT_EQ(latency_path_bytes(question), question.collective == Collective::barrier ? 1u : most);
  }
  question.ranks = 5;
  const auto bytes = [&](Collective collective) {
    question.collective = collective;
    return latency_path_bytes(question);
  };
  EXPECT_EQ(bytes(Collective::bcast), most);
  EXPECT_EQ(bytes(Collective::scatter), most);  // of all blocks together
  EXPECT_EQ(bytes(Collective::alltoall), most);
  EXPECT_EQ(bytes(Collective::allreduce), most / 4);  // everybody reads four vectors
  EXPECT_EQ(bytes(Collective::gather), most / 4);
  question.mapped = true;
  EXPECT_EQ(bytes(Collective::bcast), tiny_bytes);
  question.mapped = false, question.levels = 2;
  EXPECT_EQ(bytes(Collective::bcast), tiny_bytes);
}

// Ranks with a core each pass a message on from group to group. Broadcasts and gathers of oversubscribed ranks are plans.
TEST(Select, TheLatencyPathServesManyRanks) {
  Question question;
  const auto bytes = [&](Collective collective) {
    return question.collective = collective, latency_path_bytes(question);
  };
  for (int ranks : {17, 64, 256})
    for (int levels : {1, 3})
      for (bool crowded : {false, true}) {
        question = {.ranks = ranks, .levels = levels, .crowded = crowded};
        EXPECT_EQ(bytes(Collective::barrier), 1u);
        EXPECT_EQ(bytes(Collective::bcast), crowded ? 0u : 4096u);
        EXPECT_EQ(bytes(Collective::gather), crowded ? 0u : tiny_bytes);
        EXPECT_EQ(bytes(Collective::allgather), tiny_bytes);
        EXPECT_EQ(bytes(Collective::scatter), 16u << 10);  // of all blocks together
        EXPECT_EQ(bytes(Collective::alltoall), 16u << 10);
        EXPECT_EQ(bytes(Collective::reduce_scatter), 16u << 10);
        for (Collective vector : {Collective::reduce, Collective::allreduce, Collective::scan, Collective::exscan})
          EXPECT_EQ(bytes(vector), tiny_bytes);
        question.mapped = true;
        EXPECT_EQ(bytes(Collective::bcast), crowded ? 0u : tiny_bytes);
      }
  question = {.ranks = 257};
  EXPECT_EQ(bytes(Collective::barrier) + bytes(Collective::bcast) + bytes(Collective::allgather), 0u);
}

}  // namespace
}  // namespace coll::model
