// SPDX-License-Identifier: BSD-3-Clause
// Why this file is long: a choice depends on many things, and each has a test.
// Selection: rows of the table, rows of about as many ranks, prices, shipped rules; and no choice changes a result.
#include "tune/select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "model/candidates.h"
#include "model/machines.h"
#include "model/workset.h"
#include "topo/machine.h"

namespace coll::tune {
namespace {

using model::Chosen;
using plan::Collective;

Choice chosen(const Situation& situation) { return Selector().shipped(situation).choice; }

// A machine by its name, with ranks on consecutive cores.
struct Placed {
  model::Table table;
  topo::Hierarchy hierarchy;

  Placed(const std::string& machine, int ranks) {
    topo::Machine described;
    EXPECT_TRUE(model::find_machine(machine, table).ok());
    EXPECT_TRUE(topo::load_synthetic(table.topology, described).ok());
    hierarchy = topo::Hierarchy::from_places(topo::map_ranks(described, ranks, topo::Mapping::core));
  }
};

Chosen row(Collective collective, int ranks, size_t up_to_bytes, const char* algorithm, double measured_us = 0) {
  Chosen made{.collective = collective,
              .ranks = ranks,
              .up_to_bytes = up_to_bytes,
              .algorithm = algo::find(collective, algorithm)};
  made.measured_us = measured_us;
  return made;
}

struct Chooser {
  Placed placed;
  Selector selector;
  bool oversubscribed = false, cma_works = false;

  Chooser(int ranks, std::vector<Chosen> rows, const char* machine = "epyc-2p") : placed(machine, ranks) {
    auto table = std::make_shared<model::Table>(placed.table);
    table->choices = std::move(rows);
    std::ranges::sort(table->choices, {},
                      [](const Chosen& c) { return std::tuple(c.collective, c.ranks, c.up_to_bytes); });
    selector = Selector(table, placed.hierarchy, table->fingerprint);
  }
  Situation situation(Collective collective, size_t bytes) const {
    return {.collective = collective,
            .bytes = bytes,
            .element_bytes = 4,
            .ranks = placed.hierarchy.ranks(),
            .levels = placed.hierarchy.levels(),
            .oversubscribed = oversubscribed,
            .cma_works = cma_works};
  }
  Selection select(Collective collective, size_t bytes) { return selector.select(situation(collective, bytes)); }
};

std::vector<Chosen> bcasts() {
  return {row(Collective::bcast, 8, 4096, "flat_read", 2), row(Collective::bcast, 8, 16384, "knomial", 8),
          row(Collective::bcast, 8, 1 << 20, "scatter_allgather", 500)};
}

TEST(Select, WithoutATableTheDefaults) {
  Selector selector;
  const Situation situation{.collective = Collective::bcast, .bytes = 4096, .ranks = 2};
  const Selection selected = selector.select(situation);
  EXPECT_EQ(selected.by, Source::shipped);
  EXPECT_EQ(selected.choice.algorithm, chosen(situation).algorithm);
  EXPECT_EQ(selector.latency_path_bytes(situation), 32u << 10);
}

TEST(Select, TwoRanksShareTheSumsOfMappedVectors) {
  Situation situation{.collective = Collective::reduce, .bytes = 4 << 20, .element_bytes = 4, .ranks = 2};
  EXPECT_EQ(chosen(situation).algorithm->name, "flat");
  situation.mapped = true;
  EXPECT_EQ(chosen(situation).algorithm->name, "fused");
  situation.bytes = 512 << 10;
  EXPECT_EQ(chosen(situation).algorithm->name, "flat");
  situation.collective = Collective::allreduce;
  EXPECT_EQ(chosen(situation).algorithm->name, "all_read");
  EXPECT_EQ(chosen(situation).parameters.chunk_bytes, 512 << 10);
  situation.bytes = 1 << 20;
  EXPECT_EQ(chosen(situation).algorithm->name, "fused");
}

TEST(Select, TwoRanksShareTheCopiesOfLongBroadcasts) {
  Situation situation{.collective = Collective::bcast, .bytes = 512 << 10, .ranks = 2};
  EXPECT_EQ(chosen(situation).algorithm->name, "push_pull");
  situation.bytes = 256 << 10;
  EXPECT_EQ(chosen(situation).algorithm->name, "flat_read");
  situation.single_copy = true;
  EXPECT_EQ(chosen(situation).algorithm->name, "push_pull");
  situation.oversubscribed = true;
  EXPECT_EQ(chosen(situation).algorithm->name, "flat_read");
  situation = {.collective = Collective::bcast, .bytes = 1 << 20, .ranks = 3};
  EXPECT_EQ(chosen(situation).algorithm->name, "flat_read");
}

TEST(Select, KernelCopiesPayIfAllMoveLongBlocks) {
  Situation situation{.collective = Collective::alltoall, .bytes = 8 << 20, .ranks = 2};
  EXPECT_FALSE(chosen(situation).kernel_copies);  // they do not work
  situation.cma_times = 10;
  EXPECT_FALSE(chosen(situation).kernel_copies);
  situation.cma_times = 3;
  EXPECT_TRUE(chosen(situation).kernel_copies);
  situation.bytes = 4 << 20;
  EXPECT_FALSE(chosen(situation).kernel_copies);
  situation.huge_pages = true;
  EXPECT_TRUE(chosen(situation).kernel_copies);
  situation.ranks = 64, situation.bytes = 4 << 20;
  EXPECT_FALSE(chosen(situation).kernel_copies);
  situation.ranks = 2, situation.huge_pages = false;
  situation.cma_times = 1.5;
  EXPECT_TRUE(chosen(situation).kernel_copies);
  situation = {.collective = Collective::scatter, .bytes = 16 << 20, .ranks = 2, .cma_times = 3};
  EXPECT_FALSE(chosen(situation).kernel_copies);  // one rank's copies
  situation = {.collective = Collective::alltoall, .irregular = true, .ranks = 2, .cma_times = 3};
  EXPECT_FALSE(chosen(situation).kernel_copies);  // perhaps short
}

// The lengths of irregular blocks are unknown, so they count as long.
TEST(Select, IrregularBlocksUseLongChunks) {
  using enum Collective;
  for (const Collective collective : {scatter, gather, allgather, alltoall, reduce_scatter})
    for (const int ranks : {2, 4, 16})
      for (const bool oversubscribed : {false, true})
        for (const double kernel_times : {1.0, 3.0, no_copy}) {
          const Choice choice = chosen({.collective = collective,
                                        .irregular = true,
                                        .ranks = ranks,
                                        .oversubscribed = oversubscribed,
                                        .cma_times = kernel_times});
          EXPECT_GE(choice.parameters.chunk_bytes, 64u << 10) << plan::name(collective) << ' ' << ranks;
        }
}

TEST(Select, LongVectorsUseARingAsLongAsPrivateCaches) {
  using enum Collective;
  for (const Collective collective : {bcast, reduce, allreduce, scatter, gather, allgather, scan, exscan})
    for (const size_t cache_bytes : {512 << 10, 1024 << 10}) {
      const algo::Parameters made =
          chosen({.collective = collective, .bytes = 8 << 20, .ranks = 2, .core_cache_bytes = cache_bytes}).parameters;
      EXPECT_EQ(size_t(made.chunk_bytes) * made.depth, cache_bytes) << plan::name(collective);
    }
}

TEST(Select, HalfAsLongWithRfoFreeStores) {
  using enum Collective;
  for (const Collective collective : {bcast, reduce, allreduce, scatter, gather, allgather, scan, exscan}) {
    const algo::Parameters made =
        chosen({.collective = collective, .bytes = 8 << 20, .ranks = 2, .rfo_free = true, .core_cache_bytes = 1 << 20})
            .parameters;
    EXPECT_EQ(size_t(made.chunk_bytes) * made.depth, 512u << 10) << plan::name(collective);
  }
}

TEST(Select, RingsAreNoLongerThanTheVector) {
  for (size_t bytes = 4096; bytes <= 4 << 20; bytes *= 2) {
    const algo::Parameters made =
        chosen({.collective = Collective::reduce, .bytes = bytes, .ranks = 2, .core_cache_bytes = 1 << 20}).parameters;
    EXPECT_LE(size_t(made.chunk_bytes) * made.depth, bytes);
  }
}

// Each rank has a slot for every hop of every block: slots much longer than blocks cost a page each.
TEST(Select, ShortBlocksOfAnAlltoallUseShortSlots) {
  for (int ranks : {16, 64, 256}) {
    const Situation situation{.collective = Collective::alltoall, .bytes = 8, .ranks = ranks, .levels = 1};
    const Choice choice = chosen(situation);
    ASSERT_EQ(choice.algorithm->name, "bruck");
    const topo::Hierarchy hierarchy = topo::Hierarchy::flat(ranks);
    const plan::Plan plan = choice.algorithm->make({.hierarchy = &hierarchy, .parameters = choice.parameters});
    EXPECT_LE(plan.staging_bytes, size_t(ranks) * size_t(std::bit_width(unsigned(ranks))) * 1024) << ranks;
  }
}

TEST(Select, ProcessorsThatDoNotForwardLinesBroadcastByLeaders) {
  Situation situation{.collective = Collective::bcast, .bytes = 2048, .ranks = 32, .levels = 3};
  situation.processor = "AMD EPYC 7551P 32-Core Processor";
  EXPECT_EQ(chosen(situation).algorithm->name, "flat_read");
  situation.processor = "Neoverse-N1";
  EXPECT_EQ(chosen(situation).algorithm->name, "hierarchical");
  situation.levels = 1;
  EXPECT_EQ(chosen(situation).algorithm->name, "flat_read");
}

TEST(Select, AClassEndsWithItsRowAndTheLastHasNoEnd) {
  Chooser chooser(8, bcasts());
  for (const auto& [bytes, name] : {std::pair{size_t(1), "flat_read"},
                                    {size_t(4096), "flat_read"},
                                    {size_t(4097), "knomial"},
                                    {size_t(16385), "scatter_allgather"},
                                    {size_t(1) << 30, "scatter_allgather"}}) {
    const Selection selected = chooser.select(Collective::bcast, bytes);
    EXPECT_EQ(selected.by, Source::measured) << bytes;
    EXPECT_EQ(selected.choice.algorithm->name, name) << bytes;
  }
  EXPECT_EQ(source_text(chooser.select(Collective::bcast, 5000)), "table row bcast up to 16 KiB of 8 ranks");
}

TEST(Select, ExpectedTimesAreBetweenThoseOfTheRows) {
  Chooser chooser(8, bcasts());
  EXPECT_EQ(chooser.select(Collective::bcast, 4096).expected_us, 2);
  EXPECT_EQ(chooser.select(Collective::bcast, 100).expected_us, 0);           // nothing was measured below
  EXPECT_NEAR(chooser.select(Collective::bcast, 8192).expected_us, 4, 1e-9);  // half way on the scale, like the times
  EXPECT_EQ(chooser.select(Collective::bcast, 16384).expected_us, 8);
  EXPECT_EQ(chooser.select(Collective::bcast, 2 << 20).expected_us, 0);
}

TEST(Select, RowsOfAboutAsManyRanksThenPrices) {
  Chooser near(10, bcasts());
  EXPECT_EQ(near.select(Collective::bcast, 4097).by, Source::nearby);
  EXPECT_EQ(near.select(Collective::bcast, 4097).choice.algorithm->name, "knomial");
  EXPECT_EQ(near.select(Collective::bcast, 4096).expected_us, 0);
  Chooser far(32, bcasts());
  const Selection priced = far.select(Collective::bcast, 1 << 20);
  EXPECT_EQ(priced.by, Source::priced);
  EXPECT_EQ(source_text(priced), "prices of the table 'epyc-2p'");
  // Abilities of this communicator: no kernel-assisted copies, nothing mapped.
  constexpr model::Mechanism staged[] = {model::Mechanism::shared_memory};
  const model::Prices prices(far.placed.table, far.placed.hierarchy, staged);
  const std::vector<model::Candidate> all = prices.candidates({Collective::bcast, 1 << 20, 4});
  EXPECT_EQ(priced.choice.algorithm, all[0].algorithm);
  // Auto-tuning may compare it with the next ones.
  ASSERT_FALSE(priced.alternatives.empty());
  EXPECT_EQ(priced.alternatives[0].algorithm, all[1].algorithm);
  EXPECT_FALSE(far.select(Collective::bcast, tuned_min_bytes).alternatives.empty());
  EXPECT_TRUE(far.select(Collective::bcast, tuned_min_bytes - 1).alternatives.empty());
}

// Rules for two ranks are measured: a table replaces them by its rows alone.
TEST(Select, TwoRanksUseRowsOrRules) {
  Chooser two(2, {row(Collective::allreduce, 2, 1 << 20, "dpml")});
  EXPECT_EQ(two.select(Collective::allreduce, 1 << 20).by, Source::measured);
  for (const size_t bytes : {size_t(0), size_t(1) << 10, size_t(64) << 10, size_t(8) << 20}) {
    const Selection selected = two.select(Collective::bcast, bytes);
    EXPECT_EQ(selected.by, Source::shipped) << bytes;
    EXPECT_TRUE(same(selected.choice, Selector().shipped(two.situation(Collective::bcast, bytes)).choice)) << bytes;
  }
}

// The purpose of throttling: all ranks copy in whole rounds.
TEST(Select, ThrottledCopiesUseWholeRounds) {
  const Placed placed("power8", 20);
  Selector selector(std::make_shared<const model::Table>(placed.table), placed.hierarchy, placed.table.fingerprint);
  Situation situation{
      .collective = Collective::scatter, .bytes = 4 << 20, .ranks = 20, .single_copy = true, .may_stage = true};
  for (const Collective collective : {Collective::scatter, Collective::gather}) {
    situation.collective = collective;
    const Choice choice = selector.select(situation).choice;
    EXPECT_EQ(choice.algorithm->name, collective == Collective::scatter ? "throttled_read" : "throttled_write");
    EXPECT_EQ(choice.parameters.k, 10);
  }
}

// Without a table of their own they use the nearest one.
TEST(Select, MoreThanTwoRanksWithACoreEachUsePrices) {
  const auto selected = [](const char* machine, int ranks, auto change) {
    const Placed placed(machine, ranks);
    Selector selector(nullptr, placed.hierarchy, placed.table.fingerprint);
    Situation situation{
        .collective = Collective::allreduce, .bytes = 1 << 16, .element_bytes = 4, .ranks = ranks, .cma_times = 2};
    change(situation);
    const Selection made = selector.select(situation);
    return made.by == Source::priced ? made.table : made.by == Source::shipped ? "rules" : "?";
  };
  const auto nothing = [](Situation&) {};
  for (const char* machine : {"epyc-1p", "epyc-2p", "arm-n1", "knl", "broadwell", "nodea", "nodeb"})
    EXPECT_EQ(selected(machine, 16, nothing), machine);
  EXPECT_EQ(selected("epyc-2p", 3, nothing), "epyc-2p");
  EXPECT_EQ(selected("epyc-2p", 2, nothing), "rules");
  EXPECT_EQ(selected("epyc-2p", 16, [](Situation& of) { of.oversubscribed = true; }), "rules");
  EXPECT_EQ(selected("epyc-2p", 16,
                     [](Situation& of) { of.collective = Collective::alltoall, of.irregular = true, of.bytes = 0; }),
            "rules");
}

// Kernel-assisted copies cost as measured by the communicator.
TEST(Select, PricesOfTheNearestTableKnowHowSlowKernelCopiesAre) {
  const Placed placed("broadwell", 16);
  const auto by_kernel = [&](double times) {
    Selector selector(nullptr, placed.hierarchy, placed.table.fingerprint);
    return selector.select({.collective = Collective::alltoall, .bytes = 1 << 20, .ranks = 16, .cma_times = times})
        .choice.kernel_copies;
  };
  EXPECT_TRUE(by_kernel(0.5));
  EXPECT_FALSE(by_kernel(20));
}

// With small pages the readers of one owner wait for its page locks. The first choice assumes these; if long buffers
// may lie on huge pages, auto-tuning also tries what is fast with them.
TEST(Select, AutoTuningAlsoTriesCopiesThatHugePagesMakeFast) {
  const Placed placed("broadwell", 16);
  const auto selected = [&](size_t bytes, bool huge_pages) {
    Selector selector(nullptr, placed.hierarchy, placed.table.fingerprint);
    return selector.select({.collective = Collective::bcast,
                            .bytes = bytes,
                            .element_bytes = 4,
                            .ranks = 16,
                            .cma_times = 0.8,
                            .huge_pages = huge_pages});
  };
  const auto by_kernel = [](const std::vector<Choice>& choices) {
    return std::ranges::count_if(choices, &Choice::kernel_copies);
  };
  const Selection small = selected(1 << 20, false), huge = selected(1 << 20, true);
  EXPECT_FALSE(small.choice.kernel_copies);
  EXPECT_TRUE(same(small.choice, huge.choice));
  EXPECT_EQ(by_kernel(huge.alternatives), by_kernel(small.alternatives) + 1);
  EXPECT_TRUE(huge.alternatives.back().kernel_copies);
  EXPECT_EQ(by_kernel(selected(16 << 10, true).alternatives), by_kernel(selected(16 << 10, false).alternatives));
  // A table knows whether the kernel locks huge pages at once.
  auto own = std::make_shared<model::Table>(placed.table);
  for (double& gbs : own->access[size_t(model::Mechanism::cma)].bandwidth_gbs.at) gbs *= 2;
  for (const bool huge_pages : {false, true}) {
    own->huge_pages = huge_pages;
    Selector selector(own, placed.hierarchy, own->fingerprint);
    const Situation situation{.collective = Collective::bcast,
                              .bytes = 1 << 20,
                              .element_bytes = 4,
                              .ranks = 16,
                              .cma_works = true,
                              .huge_pages = true};
    EXPECT_EQ(selector.select(situation).choice.kernel_copies, huge_pages);
  }
}

// If kernel-assisted copies are the default, algorithms that are faster staged are staged, unless the user requests
// such copies.
TEST(Select, IfKernelCopiesAreTheDefaultPricesMayStage) {
  const Placed placed("knl", 64);
  Selector selector(std::make_shared<const model::Table>(placed.table), placed.hierarchy, placed.table.fingerprint);
  int staged = 0, copied = 0;
  for (const bool may_stage : {false, true})
    for (int c = 0; c < plan::collectives; ++c) {
      const Choice choice = selector
                                .select({.collective = Collective(c),
                                         .bytes = 128 << 10,
                                         .element_bytes = 4,
                                         .ranks = 64,
                                         .single_copy = true,
                                         .may_stage = may_stage})
                                .choice;
      EXPECT_FALSE(choice.staged && (choice.kernel_copies || !may_stage)) << plan::name(Collective(c));
      staged += choice.staged;
      copied += may_stage && choice.kernel_copies;
    }
  EXPECT_GT(staged, 0);
  EXPECT_GT(copied, 0);
}

TEST(Select, RowsThatStageServeIfKernelCopiesAreTheDefault) {
  Chooser chooser(2, {row(Collective::bcast, 2, 1 << 20, "knomial")});
  Situation situation{.collective = Collective::bcast, .bytes = 1 << 20, .ranks = 2, .single_copy = true};
  EXPECT_NE(chooser.selector.select(situation).by, Source::measured);
  situation.may_stage = true;
  EXPECT_EQ(chooser.selector.select(situation).by, Source::measured);
  EXPECT_TRUE(chooser.selector.select(situation).choice.staged);
  situation.kernel = model::Mechanism::kcoll_pinned;  // which the row was not compared with
  EXPECT_NE(chooser.selector.select(situation).by, Source::measured);
}

TEST(Select, OversubscribedRanksUseRowsOfOversubscribedRanksOnly) {
  const std::vector<Chosen> rows = {row(Collective::bcast, 8, 4096, "knomial"),
                                    row(Collective::bcast, 80, 4096, "knomial")};
  Chooser two_on_a_core(8, rows);
  two_on_a_core.oversubscribed = true;
  EXPECT_EQ(two_on_a_core.select(Collective::bcast, 4096).by, Source::shipped);
  Chooser more_than_cores(80, rows);
  more_than_cores.oversubscribed = true;
  EXPECT_EQ(more_than_cores.select(Collective::bcast, 4096).by, Source::measured);
  EXPECT_EQ(more_than_cores.select(Collective::allreduce, 4096).by, Source::shipped);
}

TEST(Select, IfATimeSliceCostsASleepLongVectorsUseFewerChunks) {
  for (const Collective collective : {Collective::bcast, Collective::reduce, Collective::allreduce}) {
    // Reductions of mapped vectors: in the tree a rank seldom waits anyway. Such an allreduce needs no slots and always
    // uses the longest chunks.
    constexpr uint32_t longest = 1024 << 10;
    Situation situation{.collective = collective,
                        .bytes = 4 << 20,
                        .element_bytes = 4,
                        .ranks = 8,
                        .oversubscribed = true,
                        .mapped = collective != Collective::bcast};
    const uint32_t by_yields = chosen(situation).parameters.chunk_bytes;
    situation.scheduler_groups = true;
    EXPECT_GE(chosen(situation).parameters.chunk_bytes, std::min(4 * by_yields, longest));
    situation.bytes = 128 << 10;
    const uint32_t short_by_sleeps = chosen(situation).parameters.chunk_bytes;
    situation.scheduler_groups = false;
    EXPECT_EQ(chosen(situation).parameters.chunk_bytes, short_by_sleeps);
  }
}

TEST(Select, OversubscribedRanksReduceInATreeIfItIsSurelyFaster) {
  const auto is_tree = [](const Choice& choice) {
    return choice.algorithm->name == "in_order_tree" || choice.algorithm->name == "rg";
  };
  for (const Collective collective : {Collective::reduce, Collective::allreduce, Collective::reduce_scatter}) {
    const Situation sharing{
        .collective = collective, .bytes = 512 << 10, .element_bytes = 4, .ranks = 16, .oversubscribed = true};
    const auto but = [&](auto change) {
      Situation situation = sharing;
      change(situation);
      return Selector().shipped(situation);
    };
    const bool reduces_to_one = collective == Collective::reduce;
    EXPECT_EQ(is_tree(Selector().shipped(sharing).choice), reduces_to_one);
    for (const int few : {4, 8}) {
      const Selection selection = but([&](Situation& q) { q.ranks = few; });
      EXPECT_FALSE(is_tree(selection.choice));
      EXPECT_EQ(std::ranges::any_of(selection.alternatives, is_tree), collective != Collective::reduce_scatter);
    }
    EXPECT_FALSE(is_tree(but([](Situation& q) { q.ranks = 32; }).choice));
    EXPECT_FALSE(is_tree(but([](Situation& q) { q.oversubscribed = false; }).choice));
    EXPECT_FALSE(is_tree(but([](Situation& q) { q.mapped = true; }).choice));
    EXPECT_FALSE(is_tree(but([](Situation& q) { q.single_copy = true; }).choice));
    EXPECT_FALSE(is_tree(but([](Situation& q) { q.bytes = 1 << 10; }).choice));
    EXPECT_FALSE(is_tree(but([](Situation& q) { q.irregular = true, q.bytes = 0; }).choice));
    EXPECT_FALSE(but([](Situation& q) { q.element_bytes = 2; }).choice.algorithm->stores_partials);
  }
}

TEST(Select, OversubscribedRanksGatherByKernelCopiesOnlyIfTheseAreFast) {
  Situation situation{
      .collective = Collective::gather, .bytes = 1 << 20, .element_bytes = 1, .ranks = 8, .oversubscribed = true};
  for (const double times : {3., 5.}) {  // for long blocks, if they take less than four times as long
    situation.bytes = times < 4 ? 512 << 10 : 1 << 20;
    situation.cma_times = times;
    EXPECT_FALSE(chosen(situation).kernel_copies);
    EXPECT_EQ(chosen(situation).algorithm->name, "sequential_read");
  }
  situation.cma_times = 3;
  EXPECT_TRUE(chosen(situation).kernel_copies);
  situation.bytes = 512 << 10;
  situation.cma_times = 1.5;
  EXPECT_TRUE(chosen(situation).kernel_copies);
  EXPECT_EQ(chosen(situation).algorithm->name, "parallel_write");
}

// The staging of a communicator: lib/comm/segment_layout.h.
TEST(Select, BuiltInChoicesFitTheStaging) {
  for (const int ranks : {2, 3, 8, 16, 33, 64, 100}) {
    const topo::Hierarchy hierarchy = topo::Hierarchy::flat(ranks);
    for (int c = 0; c < plan::collectives; c++)
      for (size_t bytes = 64; bytes <= size_t(64) << 20; bytes *= 4)
        for (const int sharing : {0, 1, 2}) {
          const Choice choice = chosen({.collective = Collective(c),
                                        .bytes = bytes,
                                        .element_bytes = 4,
                                        .ranks = ranks,
                                        .oversubscribed = sharing > 0,
                                        .scheduler_groups = sharing > 1});
          const plan::Plan plan = choice.algorithm->make(
              {.hierarchy = &hierarchy, .only_rank = ranks - 1, .parameters = choice.parameters});
          EXPECT_LE(plan.staging_bytes, 4u << 20) << choice.algorithm->name << " " << ranks << " " << bytes;
        }
  }
}

TEST(Select, KernelCopiesOnlyIfTheyWork) {
  std::vector<Chosen> rows = {row(Collective::gather, 8, 1 << 20, "throttled_write")};
  rows[0].kernel_copies = true;
  Chooser chooser(8, rows);
  Situation situation = chooser.situation(Collective::gather, 65536);
  EXPECT_EQ(chooser.selector.select(situation).by, Source::priced);
  Chooser where_they_work(8, rows);
  where_they_work.cma_works = true;  // whatever speed was measured
  EXPECT_EQ(where_they_work.select(Collective::gather, 65536).by, Source::measured);
  situation.cma_times = 1;
  EXPECT_EQ(chooser.selector.select(situation).by, Source::measured);
  EXPECT_TRUE(chooser.selector.select(situation).choice.kernel_copies);
}

TEST(Select, OfUnknownLengthsTheDefaults) {
  Chooser chooser(8, {row(Collective::gather, 8, 1 << 20, "throttled_write")});
  Situation situation = chooser.situation(Collective::gather, 0);
  situation.irregular = true;
  EXPECT_EQ(chooser.selector.select(situation).by, Source::shipped);
}

// For any table: operands combine in the balanced order, and 16-bit floats are rounded once.
TEST(Select, NoChoiceChangesAResult) {
  for (int c = 0; c < plan::collectives; ++c) {
    const auto collective = Collective(c);
    if (!plan::is_reduction(collective)) continue;
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
      if (algorithm.collective != collective) continue;
      for (const char* machine : {"epyc-2p", "knl"}) {
        Chooser chooser(8, {row(collective, 8, 1 << 30, std::string(algorithm.name).c_str())}, machine);
        for (size_t element_bytes : {2, 4}) {
          Situation situation = chooser.situation(collective, 1 << 16);
          situation.element_bytes = element_bytes;
          const Selection selected = chooser.selector.select(situation);
          EXPECT_TRUE(selected.choice.algorithm->balanced) << selected.choice.algorithm->name;
          if (element_bytes == 2) { EXPECT_FALSE(selected.choice.algorithm->stores_partials); }
          if (selected.by != Source::measured) {
            EXPECT_TRUE(!algorithm.balanced || algorithm.stores_partials ||
                        !algorithm.applies({.hierarchy = &chooser.placed.hierarchy}))
                << algorithm.name;
          }
        }
      }
    }
  }
}

TEST(Select, LatencyRowsLimitTheLatencyPath) {
  Chosen latency = row(Collective::bcast, 8, 256, "");
  latency.algorithm = nullptr;
  Chosen alltoall = row(Collective::alltoall, 8, 16, "");
  alltoall.algorithm = nullptr;
  Chooser chooser(8, {latency, row(Collective::bcast, 8, 4096, "flat_read"), alltoall,
                      row(Collective::allreduce, 8, 4096, "rabenseifner")});
  const auto bytes = [&](Collective collective) {
    return chooser.selector.latency_path_bytes(chooser.situation(collective, 0));
  };
  EXPECT_EQ(bytes(Collective::bcast), 256u);
  EXPECT_EQ(bytes(Collective::alltoall), 16u * 7);  // all data that a rank publishes
  EXPECT_EQ(bytes(Collective::reduce), Selector().latency_path_bytes(chooser.situation(Collective::reduce, 0)));
  EXPECT_EQ(bytes(Collective::allreduce), tiny_bytes);  // a table with rows decides beyond that size
  EXPECT_EQ(chooser.select(Collective::bcast, 257).choice.algorithm->name, "flat_read");
}

TEST(Select, TheLatencyPathMovesAtMostAFewPagesPerRank) {
  constexpr size_t most = 32 << 10;
  Situation situation{.ranks = 2};
  for (int c = 0; c < plan::collectives; c++) {
    situation.collective = Collective(c);
    EXPECT_EQ(Selector().latency_path_bytes(situation), situation.collective == Collective::barrier ? 1u : most);
  }
  situation.ranks = 5;
  const auto bytes = [&](Collective collective) {
    situation.collective = collective;
    return Selector().latency_path_bytes(situation);
  };
  EXPECT_EQ(bytes(Collective::bcast), most);
  EXPECT_EQ(bytes(Collective::scatter), most);  // of all blocks together
  EXPECT_EQ(bytes(Collective::alltoall), most);
  EXPECT_EQ(bytes(Collective::allreduce), most / 4);  // all ranks read four vectors
  EXPECT_EQ(bytes(Collective::gather), most / 4);
  situation.mapped = true;
  EXPECT_EQ(bytes(Collective::bcast), tiny_bytes);
  situation.mapped = false, situation.levels = 2;
  EXPECT_EQ(bytes(Collective::bcast), tiny_bytes);
}

// Ranks with a core each pass a message from group to group. Broadcasts and gathers of oversubscribed ranks are plans.
TEST(Select, TheLatencyPathServesManyRanks) {
  Situation situation;
  const auto bytes = [&](Collective collective) {
    return situation.collective = collective, Selector().latency_path_bytes(situation);
  };
  for (int ranks : {17, 64, 256})
    for (int levels : {1, 3})
      for (bool oversubscribed : {false, true}) {
        situation = {.ranks = ranks, .levels = levels, .oversubscribed = oversubscribed};
        EXPECT_EQ(bytes(Collective::barrier), 1u);
        EXPECT_EQ(bytes(Collective::bcast), oversubscribed ? 0u : 4096u);
        EXPECT_EQ(bytes(Collective::gather), oversubscribed ? 0u : tiny_bytes);
        EXPECT_EQ(bytes(Collective::allgather), tiny_bytes);
        EXPECT_EQ(bytes(Collective::scatter), 16u << 10);  // of all blocks together
        EXPECT_EQ(bytes(Collective::alltoall), oversubscribed ? 128u << 10 : 16u << 10);
        EXPECT_EQ(bytes(Collective::reduce_scatter), 16u << 10);
        for (Collective vector : {Collective::reduce, Collective::allreduce, Collective::scan, Collective::exscan})
          EXPECT_EQ(bytes(vector), tiny_bytes);
        situation.mapped = true;
        EXPECT_EQ(bytes(Collective::bcast), oversubscribed ? 0u : tiny_bytes);
        EXPECT_EQ(bytes(Collective::alltoall), 16u << 10);
      }
  situation = {.ranks = 257};
  EXPECT_EQ(bytes(Collective::barrier) + bytes(Collective::bcast) + bytes(Collective::allgather), 0u);
}

TEST(Select, TheChoiceStreamsBeyondTheCacheOnly) {
  for (int c = 0; c < plan::collectives; ++c) {
    const auto collective = Collective(c);
    for (size_t bytes : {size_t(64), size_t(4096), size_t(1) << 20}) {
      Situation situation{.collective = collective, .bytes = bytes, .element_bytes = 4, .ranks = 8};
      const uint64_t buffers = model::buffer_bytes(collective, bytes, 8);
      EXPECT_FALSE(chosen(situation).stream) << "the cache is not known";
      situation.cache_bytes = size_t(buffers) + 1;
      EXPECT_FALSE(chosen(situation).stream) << plan::name(collective);
      situation.cache_bytes = size_t(buffers) / 2;
      EXPECT_EQ(chosen(situation).stream, collective != Collective::barrier) << plan::name(collective);
    }
  }
}

}  // namespace
}  // namespace coll::tune
