// SPDX-License-Identifier: BSD-3-Clause
// Reductions of floating-point numbers give the same bits, whatever the run: plans are interpreted on floats whose sums
// depend on how they are bracketed.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>

#include "../seed.h"
#include "plan/layout.h"
#include "plan/machine.h"
#include "plan/schedule.h"
#include "requests.h"

namespace coll::algo {
namespace {

using plan::Collective;
using plan::Decision;

// Of several magnitudes and both signs: nearly half of all sums of a few of them change with the brackets.
float input(int rank, size_t element) {
  plan::Random random(uint64_t(rank) * 1000003 + element);
  const float mantissa = 1 + float(random.below(1u << 23)) / float(1u << 23);
  return std::ldexp(random.below(2) == 0 ? mantissa : -mantissa, int(random.below(4)));
}

float left_fold(int ranks, size_t element) {
  float sum = input(0, element);
  for (int rank = 1; rank < ranks; ++rank) sum += input(rank, element);
  return sum;
}

// What varies from run to run.
struct Run {
  uint64_t seed = 0;  // of the schedule and, in mixtures, of the owners' decisions
  enum class Views : uint8_t { staged, direct, mixed } views = Views::staged;
  bool in_place = false;
};

class Floats {
 public:
  Floats(const plan::Plan& plan, size_t count, const Run& run)
      : plan_(plan),
        layout_(plan, plan::Shape(count), sizeof(float), run.in_place),
        memory_(layout_.cells(), std::nanf("")) {
    plan::Random random(run.seed);
    for (int rank = 0; rank < plan.ranks; ++rank)
      for (const plan::View& view : plan.views) {
        const bool direct = run.views == Run::Views::direct || (run.views == Run::Views::mixed && random.below(2) == 0);
        const bool can = view.buffer != plan::Buffer::none && layout_.has(view.buffer, rank);
        decisions_.push_back(direct && can ? Decision::direct : Decision::staged);
      }
    const size_t blocks = has_blocks(plan.collective, plan::Buffer::send) ? size_t(plan.ranks) : 1;
    for (int rank = 0; rank < plan.ranks; ++rank)
      for (size_t i = 0; i < blocks * count; ++i) memory_[layout_.send(rank) + i] = input(rank, i);
    plan::Machine machine(layout_);
    machine.reset();
    plan::Scheduler({.policy = plan::Policy::random, .seed = run.seed}, machine).run(*this);
    for (const plan::LaneState& lane : machine.lanes()) EXPECT_TRUE(lane.ended()) << plan.algorithm;
  }
  float result(int rank, size_t i) const { return memory_[layout_.recv(rank) + i]; }

  // Observer.
  bool publish(const plan::LaneState&, const plan::Step&) { return true; }
  bool post(const plan::LaneState&, const plan::Step&, uint32_t, int64_t) { return true; }
  bool met(const plan::LaneState&, const plan::Step&, uint32_t, int64_t) { return true; }
  bool owns(const plan::LaneState& lane, const plan::Step& step, bool& runs) {
    const bool direct = decisions_[lane.rank * plan_.views.size() + step.view] == Decision::direct;
    return runs = direct == (step.when == plan::When::direct), true;
  }
  bool transfer(const plan::LaneState& lane, const plan::Step& step, const plan::Extent& extent) {
    const plan::Operand* operands = plan_.program(lane.rank).operands.data() + step.operand;
    std::vector<size_t> cells;
    for (int i = 0; i < step.destinations + step.sources; ++i)
      cells.push_back(layout_.find<false>(operands[i], lane.rank, extent, lane.index, decisions_).cell);
    for (size_t i = 0; i < extent.length; ++i) {
      float value = memory_[cells[step.destinations] + i];
      for (size_t s = step.destinations + 1u; s < cells.size(); ++s) value += memory_[cells[s] + i];
      for (size_t d = 0; d < step.destinations; ++d) memory_[cells[d] + i] = value;
    }
    return true;
  }

 private:
  const plan::Plan& plan_;
  plan::Layout layout_;
  std::vector<Decision> decisions_;
  std::vector<float> memory_;
};

bool same_bits(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

// Everything that may differ between two runs of one reduction on one hierarchy; visit(result) with the results of the
// whole vector, at every rank that has them.
template <class Visit>
void every_run(const Algorithm& algorithm, const topo::Hierarchy& hierarchy, Visit visit) {
  const int ranks = hierarchy.ranks();
  const bool scatters = algorithm.collective == Collective::reduce_scatter;
  const bool in_place_too = !scatters;
  uint64_t seed = test::seed();
  for (int root = 0; root < (is_rooted(algorithm.collective) ? ranks : 1); root += 1 + ranks / 3)
    for (size_t count : {size_t(1), size_t(37), size_t(150)})
      for (uint32_t chunk : {64u, 192u, 4096u})
        for (Run::Views views : {Run::Views::staged, Run::Views::direct, Run::Views::mixed}) {
          const plan::Plan plan =
              algorithm.make({.hierarchy = &hierarchy,
                              .root = root,
                              .parameters = {.chunk_bytes = chunk, .depth = uint16_t(1 + seed % 2)}});
          const Floats run(plan, count, {.seed = seed, .views = views, .in_place = in_place_too && seed % 2 == 0});
          ++seed;
          for (int rank = 0; rank < ranks; ++rank) {
            if (algorithm.collective == Collective::reduce && rank != root) continue;
            const size_t first = scatters ? size_t(rank) * count : 0;
            for (size_t i = 0; i < count; ++i) visit(rank, first + i, run.result(rank, i));
          }
        }
}

std::vector<topo::Hierarchy> placements(int ranks) {
  std::vector<topo::Hierarchy> made;
  made.push_back(topo::Hierarchy::flat(ranks));
  made.push_back(testing::machine(ranks, 2, 2, (ranks + 3) / 4));
  made.push_back(testing::machine(ranks, 2, 2, (ranks + 3) / 4, true));
  return made;
}

bool is_whole_reduction(const Algorithm& algorithm) {
  return is_reduction(algorithm.collective) && algorithm.collective != Collective::scan &&
         algorithm.collective != Collective::exscan;
}

// fused and all others that promise it: the bits of the sum from left to right, with every placement too.
TEST(Bits, FromLeftToRight) {
  int seen = 0;
  for (const Algorithm& algorithm : algorithms()) {
    if (!algorithm.left_to_right || !is_reduction(algorithm.collective)) continue;
    ++seen;
    for (int ranks : {2, 3, 8, 13})
      for (const topo::Hierarchy& hierarchy : placements(ranks)) {
        int wrong = 0;
        every_run(algorithm, hierarchy, [&](int rank, size_t element, float result) {
          int folded = ranks;
          if (algorithm.collective == Collective::scan) folded = rank + 1;
          if (algorithm.collective == Collective::exscan) folded = rank;
          wrong += folded != 0 && !same_bits(result, left_fold(folded, element));
        });
        EXPECT_EQ(wrong, 0) << plan::name(algorithm.collective) << " " << algorithm.name << ", " << ranks << " ranks";
      }
  }
  EXPECT_GE(seen, 12);
}

// Trees bracket by groups, so ranks that are grouped otherwise may round otherwise; but all else may differ: the root,
// the sizes of vector and chunks, the way buffers are reached, the order in which ranks get ahead, and where in the
// machine the groups are.
TEST(Bits, OfTreesDependOnTheGroupsAlone) {
  for (const char* name : {"hierarchical", "hierarchical_by_index", "rg", "recursive_doubling", "rabenseifner"})
    for (int ranks : {6, 8, 13}) {
      std::map<size_t, float> first;  // by element, whichever collective, root or rank came first
      int wrong = 0, compared = 0;
      const topo::Hierarchy hierarchy = testing::machine(ranks, 2, 2, (ranks + 3) / 4);
      const topo::Hierarchy elsewhere = testing::machine(ranks, 2, 2, (ranks + 3) / 4, false, true);
      for (const Algorithm& algorithm : algorithms()) {
        if (!is_whole_reduction(algorithm) || algorithm.name != name) continue;
        for (const topo::Hierarchy* place : {&hierarchy, &elsewhere})
          every_run(algorithm, *place, [&](int, size_t element, float result) {
            auto [at, is_first] = first.try_emplace(element, result);
            wrong += !same_bits(at->second, result);
            compared += !is_first;
          });
      }
      EXPECT_EQ(wrong, 0) << name << ", " << ranks << " ranks";
      EXPECT_GT(compared, 1000);
    }
}

// The inputs tell brackets apart, or the tests above would say nothing.
TEST(Bits, OfOtherBracketsDiffer) {
  int differ = 0;
  for (size_t element = 0; element < 100; ++element)
    differ += !same_bits(left_fold(8, element), [&] {
      float sum = 0, half = 0;
      for (int rank = 0; rank < 4; ++rank) sum += input(rank, element), half += input(rank + 4, element);
      return sum + half;
    }());
  EXPECT_GT(differ, 25);  // of 100
}

}  // namespace
}  // namespace coll::algo
