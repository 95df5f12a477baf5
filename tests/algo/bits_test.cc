// SPDX-License-Identifier: BSD-3-Clause
// Reductions of floating-point numbers give the same bits in every run: plans are interpreted on floats whose sums
// depend on how they are bracketed.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "../seed.h"
#include "plan/layout.h"
#include "plan/machine.h"
#include "plan/schedule.h"
#include "requests.h"

namespace coll::algo {
namespace {

using plan::Collective;
using plan::Decision;

// Values of several magnitudes and both signs: nearly half of all sums of a few of them change with the brackets.
float random_input(int rank, size_t element) {
  plan::Random random(uint64_t(rank) * 1000003 + element);
  const float mantissa = 1 + float(random.below(1u << 23)) / float(1u << 23);
  return std::ldexp(random.below(2) == 0 ? mantissa : -mantissa, int(random.below(4)));
}

// The definition of the order (Plan::balanced) for the values 0, 1, ... of any type.
template <class Values>
float balanced_fold(size_t first, size_t last, const Values& values) {
  if (last - first == 1) return values(first);
  size_t left = 1;
  while (2 * left < last - first) left *= 2;
  return balanced_fold(first, first + left, values) + balanced_fold(first + left, last, values);
}

float expected(int ranks, size_t element) {
  return balanced_fold(0, size_t(ranks), [&](size_t rank) { return random_input(int(rank), element); });
}

// The facts that vary from run to run.
struct Run {
  uint64_t seed = 0;  // of the schedule, and of the mixture of staged and direct views
  enum class Views : uint8_t { staged, direct, mixed } views = Views::staged;
  bool in_place = false;
  float (*input)(int rank, size_t element) = random_input;
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
      for (size_t i = 0; i < blocks * count; ++i) memory_[layout_.send(rank) + i] = run.input(rank, i);
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
    for (uint16_t block = 0; block < step.blocks; ++block) transfer_block(lane, step, operands, block, extent);
    return true;
  }

 private:
  void transfer_block(const plan::LaneState& lane, const plan::Step& step, const plan::Operand* operands,
                      uint16_t block, const plan::Extent& extent) {
    cells_.clear();
    for (int i = 0; i < step.destinations + step.sources; ++i) {
      plan::Operand operand = operands[i];
      if (step.blocks > 1) operand.block = uint16_t(operand.block + block);
      cells_.push_back(layout_.find<false>(operand, lane.rank, extent, lane.index, decisions_).cell);
    }
    for (size_t i = 0; i < extent.length; ++i) {
      const auto source = [&](size_t s) { return memory_[cells_[step.destinations + s] + i]; };
      float value = step.from_right ? source(step.sources - 1u) : balanced_fold(0, step.sources, source);
      for (size_t s = step.sources - 1u; step.from_right && s-- > 0;) value = source(s) + value;
      for (size_t d = 0; d < step.destinations; ++d) memory_[cells_[d] + i] = value;
    }
  }

  const plan::Plan& plan_;
  plan::Layout layout_;
  std::vector<Decision> decisions_;
  std::vector<float> memory_;
  std::vector<size_t> cells_;
};

bool same_bits(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

// Runs a reduction on one hierarchy in every variation. Calls visit(result) with the results of the whole vector, for
// every rank that has them.
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

// All algorithms that promise the balanced order give the bits of the definition, with every placement.
TEST(Bits, AreThoseOfTheBalancedOrder) {
  int seen = 0;
  for (const Algorithm& algorithm : algorithms()) {
    if (!algorithm.balanced || !is_reduction(algorithm.collective)) continue;
    ++seen;
    for (int ranks : {2, 3, 8, 13})
      for (const topo::Hierarchy& hierarchy : placements(ranks)) {
        int wrong = 0;
        every_run(algorithm, hierarchy, [&](int rank, size_t element, float result) {
          int folded = ranks;
          if (algorithm.collective == Collective::scan) folded = rank + 1;
          if (algorithm.collective == Collective::exscan) folded = rank;
          wrong += folded != 0 && !same_bits(result, expected(folded, element));
        });
        EXPECT_EQ(wrong, 0) << plan::name(algorithm.collective) << " " << algorithm.name << ", " << ranks << " ranks";
      }
  }
  EXPECT_GE(seen, 12);
}

// Also for more ranks than processes could be started.
TEST(Bits, AreThoseOfTheBalancedOrderForEveryNumberOfRanks) {
  std::vector<int> numbers(70);
  std::iota(numbers.begin(), numbers.end(), 1);
  numbers.insert(numbers.end(), {96, 128, 160, 256});
  uint64_t seed = test::seed();
  for (int ranks : numbers) {
    const topo::Hierarchy places[] = {testing::machine(ranks, 2, 4, (ranks + 7) / 8),
                                      testing::machine(ranks, 2, 4, (ranks + 7) / 8, true)};
    for (const Algorithm& algorithm : algorithms()) {
      if (!algorithm.balanced || !is_reduction(algorithm.collective)) continue;
      const topo::Hierarchy& place = places[algorithm.reads.hierarchy ? ++seed % 2 : 0];
      const bool scatters = algorithm.collective == Collective::reduce_scatter;
      const bool rooted = algorithm.collective == Collective::reduce;
      const int root = rooted ? int(seed % uint64_t(ranks)) : 0;
      const size_t count = scatters ? 1 : 3;
      const plan::Plan plan =
          algorithm.make({.hierarchy = &place, .root = root, .parameters = {.chunk_bytes = 64, .depth = 2}});
      const Floats run(plan, count,
                       {.seed = ++seed, .views = Run::Views::mixed, .in_place = !scatters && seed % 4 < 2});
      int wrong = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        if (rooted && rank != root) continue;
        int folded = ranks;
        if (algorithm.collective == Collective::scan) folded = rank + 1;
        if (algorithm.collective == Collective::exscan) folded = rank;
        const size_t first = scatters ? size_t(rank) * count : 0;
        for (size_t i = 0; i < count && folded != 0; ++i)
          wrong += !same_bits(run.result(rank, i), expected(folded, first + i));
      }
      EXPECT_EQ(wrong, 0) << plan::name(algorithm.collective) << " " << algorithm.name << ", " << ranks << " ranks";
    }
  }
}

// The inputs are one large value and many that are a little less than half a unit in its last place: a sum from left to
// right loses all of them. The error of the balanced order is within the bound of pairwise summation (Higham 2002,
// 4.2).
TEST(Bits, KeepSmallValuesThatSumsFromLeftToRightLose) {
  constexpr int ranks = 256, steps = 8;
  constexpr auto input = [](int rank, size_t element) {
    return rank == 0 ? 1 + float(element) / 4 : (0.5f - 0.01f * float(rank % 7)) * 0x1p-23f;
  };
  const topo::Hierarchy place = testing::machine(ranks, 2, 4, 32);
  int seen = 0;
  for (const Algorithm& algorithm : algorithms()) {
    if (!algorithm.balanced || algorithm.collective != Collective::allreduce) continue;
    ++seen;
    const Floats run(algorithm.make({.hierarchy = &place, .parameters = {.chunk_bytes = 64}}), 4, {.input = input});
    for (size_t i = 0; i < 4; ++i) {
      long double exact = 0, magnitudes = 0;
      float left_to_right = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        exact += input(rank, i);
        magnitudes += std::abs(input(rank, i));
        left_to_right += input(rank, i);
      }
      constexpr long double roundings = steps * 0x1p-24L, bound = roundings / (1 - roundings);
      const long double error = std::abs(run.result(3, i) - exact);
      EXPECT_LE(error, bound * magnitudes) << algorithm.name;
      EXPECT_LE(10 * error, std::abs(left_to_right - exact)) << algorithm.name;
    }
  }
  EXPECT_GE(seen, 5);
}

// Other brackets give other bits with these inputs; otherwise the tests above would prove nothing.
TEST(Bits, OfOtherBracketsDiffer) {
  int differ = 0;
  for (size_t element = 0; element < 100; ++element)
    differ += !same_bits(expected(8, element), [&] {
      float sum = 0;
      for (int rank = 0; rank < 8; ++rank) sum += random_input(rank, element);
      return sum;
    }());
  EXPECT_GT(differ, 25);  // in 100 trials
}

}  // namespace
}  // namespace coll::algo
