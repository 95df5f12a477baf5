// SPDX-License-Identifier: BSD-3-Clause
// From points to a table: an invented machine measures itself, and the fit must find its parameters again.
#include "tools/calibrate/fit/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "mem/processor.h"
#include "model/machines.h"

namespace coll::tools {
namespace {

constexpr double kib = 1024, mib = 1024 * kib;

Timing took(double us) { return {.us = us, .low_us = us, .high_us = us, .kept = 9}; }

// A machine of eight cores: gamma(c) = 1 + 0.1 (c^2 - 1) + 0.5 (c - 1).
Measured made_up(double page = 4096) {
  Measured measured{.page_bytes = page};
  const auto add = [&](Key key, double us) { measured.points.push_back({key, took(us)}); };
  const auto gamma = [](double c) { return 1 + 0.1 * (c * c - 1) + 0.5 * (c - 1); };
  add({Quantity::call}, 0.2);
  add({Quantity::check}, 0.7);
  for (int c : {1, 2, 4, 8})
    for (double pages : {16., 256., 1000.}) add({Quantity::pages, pages * page, c}, 0.7 + 0.12 * gamma(c) * pages);
  for (double bytes = 4 * kib; bytes <= 16 * mib; bytes *= 4)
    add({Quantity::cma_copy, bytes}, 0.7 + 0.12 * bytes / page + bytes / 10000);
  for (double bytes : {24 * kib, 512 * kib, 8 * mib}) {
    add({Quantity::load, bytes}, bytes / 50000);
    add({Quantity::store, bytes}, bytes / 25000);
    add({Quantity::fetch, bytes}, bytes / 10000);
    add({Quantity::take, bytes}, bytes / 12500);
    add({Quantity::combine, bytes}, bytes / 40000);
    add({Quantity::combine_fetch, bytes}, bytes / 8000);
    // Half of it comes from the neighbour: inside the caches it is faster than the probe's own rate.
    add({Quantity::cma_exchange, bytes},
        0.7 + 0.12 * std::floor(bytes / 2 / page) + bytes / 2 / (bytes > mib ? 8000 : 16000));
    // The longer half, and three tenths of the shorter one.
    add({Quantity::copy, bytes}, bytes / 2 / 25000 + 0.3 * bytes / 2 / 50000);
    add({Quantity::copy_alone, bytes}, bytes / 2 / 30000);
    for (Quantity quantity : {Quantity::stream, Quantity::stream_alone})
      add({quantity, bytes}, bytes / 2 / (bytes > mib ? 40000 : 5000));
    for (Quantity quantity :
         {Quantity::reduce, Quantity::reduce_alone, Quantity::reduce_stream, Quantity::reduce_stream_alone})
      add({quantity, bytes}, bytes / 20000);
  }
  add({Quantity::short_take, 2048}, 2048. / 4000);
  add({.quantity = Quantity::flag, .distance = topo::Distance::l3}, 0.06);
  add({.quantity = Quantity::flag, .distance = topo::Distance::node}, 0.23);
  add({.quantity = Quantity::look}, 0.008);
  add({.quantity = Quantity::step}, 0.004);
  add({.quantity = Quantity::lines, .concurrent = 1}, 0.3);
  add({.quantity = Quantity::lines, .concurrent = 7}, 0.36);
  for (double bytes : {kib, 16 * kib, mib})
    add({.quantity = Quantity::near_copy, .bytes = bytes, .distance = topo::Distance::l3}, 0.05 + bytes / 20000);
  for (int c : {1, 2, 4, 8}) add({Quantity::shared_copy, 256 * kib, c}, 13 * (1 + 0.02 * (c - 1)));
  for (Quantity quantity : {Quantity::pinned_check, Quantity::pinned_copy, Quantity::first_copy, Quantity::mapped_copy})
    measured.points.push_back({{quantity}, {.problem = "there is no /dev/kcoll"}});
  return measured;
}

model::Fingerprint eight_cores() {
  return {.processor = "made up",
          .sockets = 2,
          .numas = 2,
          .l3s = 2,
          .cores = 8,
          .l2_bytes = 2 << 20,
          .l3_bytes = 32 << 20};
}

Model fitted() { return fit_model(made_up(), eight_cores(), model::builtin_table({})); }

TEST(FitModel, FindsTheProbesParameters) {
  const model::Table table = fitted().table;
  const model::Access& cma = table.of(model::Mechanism::cma);
  ASSERT_TRUE(cma.available);
  EXPECT_NEAR(cma.startup_us[topo::Distance::node], 0.7, 1e-9);
  EXPECT_NEAR(cma.page_us, 0.12, 1e-9);
  EXPECT_NEAR(cma.bandwidth_gbs[topo::Distance::l3], 10, 1e-6);
  EXPECT_NEAR(cma.gamma.quadratic, 0.1, 1e-9);
  EXPECT_NEAR(cma.gamma.linear, 0.5, 1e-9);
  EXPECT_NEAR(cma.gamma.residual, 0, 1e-9);
  const model::Gamma& shared = table.of(model::Mechanism::shared_memory).gamma;
  EXPECT_NEAR(shared(8), 1.14, 1e-6);
}

TEST(FitModel, LocksPagesOfTheSystemsSize) {
  for (double page : {16 * kib, 64 * kib}) {
    const model::Table table = fit_model(made_up(page), eight_cores(), model::builtin_table({})).table;
    const model::Access& cma = table.of(model::Mechanism::cma);
    EXPECT_EQ(cma.page_bytes, page);
    EXPECT_NEAR(cma.page_us, 0.12, 1e-9);
    EXPECT_NEAR(cma.gamma.quadratic, 0.1, 1e-9);
  }
}

TEST(FitModel, AHugePageIsLockedAtOnceOrPageByPage) {
  Measured measured = made_up();
  const auto huge_pages = [&] { return fit_model(measured, eight_cores(), model::builtin_table({})).table.huge_pages; };
  EXPECT_FALSE(huge_pages());  // not measured
  measured.points.push_back({{Quantity::huge_page, 2 * mib}, took(1.5)});
  EXPECT_TRUE(huge_pages());
  measured.points.back().timing = took(0.7 + 0.11 * 512);
  EXPECT_FALSE(huge_pages());
}

TEST(FitModel, FindsLinesMemoryAndOverlap) {
  const model::Table table = fitted().table;
  EXPECT_NEAR(table.flag_ns[topo::Distance::core], 60, 1e-6);
  EXPECT_NEAR(table.flag_ns[topo::Distance::socket], 60, 1e-6);
  EXPECT_NEAR(table.flag_ns[topo::Distance::node], 230, 1e-6);
  EXPECT_NEAR(table.line_ns, 10, 1e-6);
  EXPECT_NEAR(table.look_ns, 8, 1e-6);
  EXPECT_NEAR(table.step_ns, 4, 1e-6);
  ASSERT_EQ(table.caches.size(), 3u);
  EXPECT_NEAR(table.caches[1].load_gbs, 50, 1e-6);
  EXPECT_NEAR(table.caches[1].take_gbs, 12.5, 1e-6);
  EXPECT_NEAR(table.short_take_gbs, 4, 1e-6);
  EXPECT_NEAR(table.caches[0].kernel_gbs, 16, 1e-6);
  EXPECT_NEAR(table.caches[2].kernel_gbs, 8, 1e-6);
  EXPECT_NEAR(table.overlap, 0.3, 1e-6);
  EXPECT_NEAR(table.copy.alone_gbs, 30, 1e-6);
  const model::Access& shared = table.of(model::Mechanism::shared_memory);
  EXPECT_NEAR(shared.startup_us[topo::Distance::l3], 0.05, 1e-6);
  EXPECT_NEAR(shared.bandwidth_gbs[topo::Distance::l3], 20, 1e-6);
  // Non-temporal stores are faster from 8 MiB per core on.
  EXPECT_EQ(table.thresholds.non_temporal_bytes, 8 * mib * 8);
}

TEST(FitModel, ReportsWhatTheMachineLacks) {
  const Model model = fitted();
  EXPECT_FALSE(model.table.of(model::Mechanism::kcoll_pinned).available);
  EXPECT_THAT(model.remarks, ::testing::Contains(::testing::HasSubstr("/dev/kcoll")));
  // Without any point all values come from the replacement table, and the remarks report that.
  const Model none = fit_model({}, eight_cores(), model::builtin_table({}));
  EXPECT_EQ(none.table.line_ns, model::builtin_table({}).line_ns);
  EXPECT_FALSE(none.table.of(model::Mechanism::cma).available);
  EXPECT_TRUE(none.table.of(model::Mechanism::shared_memory).available);
  EXPECT_GE(none.remarks.size(), 5u);
}

// A page takes 0.3 us, or 0.45 us if two tasks pin at once, and 0.05 us pass before a set of pages.
TEST(FitModel, TakesTheCostOfAPinFromTheModulesCounts) {
  Measured measured = made_up();
  std::erase_if(measured.points, [](const Point& of) { return of.key.quantity >= Quantity::pinned_check; });
  measured.points.push_back({{Quantity::pinned_check, 1}, took(0.4)});
  for (double bytes : {64 * kib, mib}) {
    measured.points.push_back({{Quantity::pinned_copy, bytes}, took(0.4 + bytes / 10000)});
    // Faster than pinned ones, as on a disturbed machine: measured times would not give the cost of a page.
    measured.points.push_back({{Quantity::first_copy, bytes}, took(0.2 + bytes / 12000)});
  }
  for (int repetition = 0; repetition < 7; ++repetition) {
    const double slower = repetition == 2 ? 50 : 1;  // a disturbance
    measured.kcoll.push_back({.source = "counters",
                              .pins = 20,
                              .pages = 2000,
                              .throttle_us = 1,
                              .lock_us = 10,
                              .pin_us = 590,
                              .by_concurrency = {{1, {1500, 450 * slower}}, {2, {500, 225 * slower}}}});
  }
  const Model model = fit_model(measured, eight_cores(), model::builtin_table({}));
  const model::Access& first = model.table.of(model::Mechanism::kcoll_first_touch);
  EXPECT_TRUE(first.available);
  EXPECT_NEAR(first.page_us, 0.3, 1e-9);
  EXPECT_NEAR(first.startup_us[topo::Distance::l3], 0.45, 1e-9);
  EXPECT_NEAR(first.bandwidth_gbs[topo::Distance::l3], 10, 1e-6);
  EXPECT_NEAR(first.gamma(2), 1.5, 1e-9);
  EXPECT_THAT(model.remarks, ::testing::Contains(::testing::StartsWith("kcoll by its counters: per set of 100 pages")));

  for (KcollTimes& repetition : measured.kcoll) repetition.by_concurrency.clear();
  const Model silent = fit_model(measured, eight_cores(), model::builtin_table({}));
  EXPECT_TRUE(silent.table.of(model::Mechanism::kcoll_pinned).available);
  EXPECT_FALSE(silent.table.of(model::Mechanism::kcoll_first_touch).available);
  EXPECT_THAT(silent.remarks,
              ::testing::Contains(::testing::HasSubstr("first touch: the module reports no pinned page")));
}

// Copies with vectors take 2 us; with rep movsb twice as long below `crossing`, and so many times as long from there on.
Measured with_rep_movsb(double crossing, double beyond) {
  Measured measured = made_up();
  for (double bytes = 4 * kib; bytes <= 512 * kib; bytes *= 2)
    for (auto [vectors, rep_movsb] : {std::pair(Quantity::fetch_vectors, Quantity::fetch_rep_movsb),
                                      std::pair(Quantity::take_vectors, Quantity::take_rep_movsb)}) {
      const bool fetches = vectors == Quantity::fetch_vectors;
      measured.points.push_back({{vectors, bytes}, took(2)});
      measured.points.push_back({{rep_movsb, bytes},
                                 took(2 * (bytes < crossing ? 2
                                           : fetches        ? beyond
                                                            : 0.99 * beyond))});
    }
  return measured;
}

TEST(FitModel, UsesRepMovsbWhereItIsFaster) {
  const auto fit = [](const Measured& measured) {
    return fit_model(measured, eight_cores(), model::builtin_table({})).table.rep_movsb;
  };
  const mem::Processor& own = mem::processor();
  ASSERT_GT(own.rep_movsb_load_min_bytes, 8 * kib);
  EXPECT_FALSE(fit(made_up()).has_value());  // not measured
  // A processor's own size between two measured ones is kept if it selects as the upper one does.
  const size_t own_stores = own.rep_movsb_store_min_bytes;
  const size_t stores_from_8k = own_stores > 4 * kib && own_stores < 8 * kib ? own_stores : size_t(8 * kib);
  EXPECT_EQ(fit(with_rep_movsb(8 * kib, 0.8)), (model::RepMovsb{8 << 10, stores_from_8k}));
  EXPECT_EQ(fit(with_rep_movsb(8 * kib, 1.2)), (model::RepMovsb{}));  // always slower: never
  // What it changes is not clearly faster.
  EXPECT_FALSE(fit(with_rep_movsb(4 * kib, 0.98)).has_value());
  // Only stores that differ from the processor's choice: the size for loads stays.
  Measured stores = with_rep_movsb(1 * mib, 1);
  std::erase_if(stores.points, [](const Point& point) { return point.key.quantity == Quantity::fetch_vectors; });
  EXPECT_EQ(fit(stores), (model::RepMovsb{own.rep_movsb_load_min_bytes, model::RepMovsb::never}));
}

TEST(FitModel, EveryCurveIsMetByItsPoints) {
  const Model model = fitted();
  EXPECT_GT(model.curves.size(), 20u);
  for (const Fitted& point : model.curves)
    EXPECT_NEAR(point.fitted / point.measured, 1, 1e-6) << point.curve << " " << point.x;
}

TEST(Changes, ListValuesThatChangedByMoreThanTheirSpread) {
  Model before = fitted();
  EXPECT_TRUE(changes(before.table, before.table, before.precisions).empty());
  model::Table now = before.table;
  now.access[size_t(model::Mechanism::cma)].page_us *= 1.5;
  now.line_ns *= 1.05;
  std::vector<Precision> precisions = {{"cma page", 0.1, 3}, {"line", 0.1, 2}};
  std::vector<std::string> lines = changes(before.table, now, precisions);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], ::testing::StartsWith("cma page: 0.18 us, was 0.12"));

  const algo::Algorithm* flat = algo::find(plan::Collective::reduce, "flat");
  const algo::Algorithm* fused = algo::find(plan::Collective::reduce, "fused");
  before.table.choices = {{plan::Collective::reduce, 2, 4096, flat}, {plan::Collective::reduce, 2, 8192, flat}};
  now = before.table;
  now.choices[1].algorithm = fused;
  lines = changes(before.table, now, precisions);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], ::testing::HasSubstr("reduce up to 8 KiB, 2 ranks: fused"));
}

}  // namespace
}  // namespace coll::tools
