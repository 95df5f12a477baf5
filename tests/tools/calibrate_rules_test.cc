// SPDX-License-Identifier: BSD-3-Clause
// `collctl calibrate --emit-rows`: the rules choose as the table does.
#include "tools/calibrate/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>

#include "coll/coll.h"
#include "model/machines.h"
#include "tune/rules.h"
#include "tune/tables.h"

namespace coll::tools {
namespace {

using plan::Collective;

model::Chosen row(Collective collective, int ranks, size_t up_to_bytes, const char* algorithm, bool kernel_copies) {
  model::Chosen made{.collective = collective,
                     .ranks = ranks,
                     .up_to_bytes = up_to_bytes,
                     .algorithm = algo::find(collective, algorithm),
                     .kernel_copies = kernel_copies};
  made.parameters.chunk_bytes = 8192;
  made.parameters.depth = 8;
  return made;
}

model::Table table() {
  model::Table made;
  EXPECT_TRUE(model::find_machine("epyc-1p", made).ok());
  made.fingerprint.processor = "AMD EPYC 9B14";
  made.fingerprint.l2_bytes = 1 << 20;
  made.date = "2026-11-27";
  made.choices = {row(Collective::bcast, 2, 512, "latency", false),
                  row(Collective::bcast, 2, 65536, "flat_read", false),
                  row(Collective::bcast, 2, 1 << 20, "push_pull", true),
                  row(Collective::bcast, 4, 4096, "knomial", false),
                  row(Collective::allreduce, 2, 1024, "all_read", false),
                  row(Collective::allreduce, 2, 1 << 20, "rabenseifner", false),
                  row(Collective::alltoall, 4, 32, "latency", false),
                  row(Collective::alltoall, 4, 4096, "bruck", false)};
  std::ranges::sort(made.choices, {},
                    [](const model::Chosen& c) { return std::tuple(c.collective, c.ranks, c.up_to_bytes); });
  return made;
}

TEST(EmittedRules, ChooseAsTheTableDoes) {
  const model::Table from = table();
  const std::string text = rules_text(from);
  tune::Book book;
  const topo::Status read = book.add(text, "emitted.rules");
  ASSERT_TRUE(read.ok()) << read.text() << text;
  ASSERT_TRUE(book.check().ok()) << book.check().text();
  int compared = 0;
  for (const auto& [collective, ranks] : {std::pair(Collective::bcast, 2),
                                          {Collective::bcast, 4},
                                          {Collective::allreduce, 2},
                                          {Collective::alltoall, 4}}) {
    const topo::Hierarchy hierarchy = topo::Hierarchy::flat(ranks);
    const tune::Calibrated calibrated(from, hierarchy);
    for (size_t bytes = 1; bytes <= 8 << 20; bytes = bytes * 3 / 2 + 1) {
      const tune::Situation situation{.collective = collective,
                                      .bytes = bytes,
                                      .element_bytes = 4,
                                      .ranks = ranks,
                                      .cma_works = true,
                                      .core_cache_bytes = 1 << 20,
                                      .processor = "AMD EPYC 9B14"};
      const auto expected = calibrated.find(situation);
      const tune::Book::Found found = book.find(situation);
      ASSERT_NE(found.rule, nullptr);
      const tune::Candidate& candidate = found.range->candidates.front();
      EXPECT_EQ(candidate.kind == tune::Candidate::Kind::latency, !expected.has_value() || !expected->exact);
      if (candidate.kind == tune::Candidate::Kind::latency) continue;
      EXPECT_TRUE(tune::same(made(candidate, situation, book, true), expected->choice)) << bytes << text;
      ++compared;
    }
    const tune::Situation any{
        .collective = collective, .ranks = ranks, .core_cache_bytes = 1 << 20, .processor = "AMD EPYC 9B14"};
    if (const size_t latency = calibrated.latency_path_bytes(collective, ranks).value_or(0); latency > 0) {
      EXPECT_EQ(book.value("latency", any), latency);
    }
  }
  EXPECT_GT(compared, 60);
}

TEST(EmittedRules, AreForThisProcessorAlone) {
  tune::Book book;
  ASSERT_TRUE(book.add(rules_text(table()), "emitted.rules").ok());
  tune::Situation situation{.collective = Collective::bcast,
                            .bytes = 4096,
                            .element_bytes = 2,
                            .ranks = 2,
                            .core_cache_bytes = 1 << 20,
                            .processor = "AMD EPYC 9B14"};
  ASSERT_NE(book.find(situation).rule, nullptr);
  EXPECT_EQ(book.find(situation).rule->evidence,
            std::string("AMD EPYC 9B14, libcoll ") + coll_version() + ", 2026-11-27");
  tune::Situation other = situation;
  other.processor = "AMD EPYC 7B13";
  EXPECT_EQ(book.find(other).rule, nullptr);
  other = situation, other.core_cache_bytes = 512 << 10;
  EXPECT_EQ(book.find(other).rule, nullptr);
  // Partial results of 16-bit floats would be rounded.
  other = situation, other.collective = Collective::allreduce, other.bytes = 1 << 20;
  EXPECT_EQ(book.find(other).rule, nullptr);
  other.element_bytes = 4;
  EXPECT_NE(book.find(other).rule, nullptr);
}

}  // namespace
}  // namespace coll::tools
