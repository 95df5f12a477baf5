// SPDX-License-Identifier: BSD-3-Clause
// collctl verify: proves plans correct by running them with symbolic contents (plan/verify.h), for every root, around
// every boundary of size, in place and not.
//
// Vectors are short and chunks have two cache lines: whether a plan is correct depends on the number of iterations of its
// loops and on how they end, not on the number of bytes per iteration.
#include "tools/verify/verify.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plan/verify.h"
#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/common/choose_plans.h"
#include "tools/common/progress.h"
#include "tools/common/text.h"

namespace coll::tools {
namespace {

using nlohmann::ordered_json;

using Options = SweepOptions;

constexpr size_t element_bytes = 64;  // a cache line, so that elements never share one

// One plan to be verified at several sizes.
struct Item {
  const algo::Algorithm* algorithm;
  const topo::Hierarchy* hierarchy;
  int root;
  bool irregular;
  uint64_t weight() const { return uint64_t(hierarchy->ranks()) * uint64_t(hierarchy->ranks()) + 64; }
};

// The results of one algorithm.
struct Result {
  const algo::Algorithm* algorithm;
  uint64_t plans = 0, cases = 0, interleavings = 0, steps = 0, failures = 0;
  std::string problem;  // of the failure with the fewest ranks
  int problem_ranks = 0;
  plan::Association association = plan::Association::balanced;
};

algo::Parameters small_chunks() {
  algo::Parameters parameters;
  parameters.chunk_bytes = 2 * element_bytes;
  parameters.depth = 2;
  parameters.k = 2;
  return parameters;
}

struct Size {
  size_t count = 0;
  std::vector<size_t> pieces;
  uint64_t seed = 0;
};

// Returns pseudo-random block lengths, from 0 to more than two rings of slots.
std::vector<size_t> irregular_pieces(const Item& item, uint64_t seed) {
  const auto ranks = size_t(item.hierarchy->ranks());
  std::vector<size_t> pieces(item.algorithm->collective == plan::Collective::alltoall ? ranks * ranks : ranks);
  for (size_t i = 0; i < pieces.size(); ++i) pieces[i] = (i * 2654435761u + seed * 40503u + 3) / 7 % 6;
  return pieces;
}

// Returns numbers of elements: 0, less than a chunk, a chunk, one more, a ring of slots, one more, slices for every rank.
// Slices make plans long, so with many ranks only some roots use them.
std::vector<Size> sizes_for(const Item& item) {
  const int ranks = item.hierarchy->ranks();
  if (item.algorithm->collective == plan::Collective::barrier) return {Size{}};
  std::vector<Size> sizes;
  if (item.irregular) {
    for (uint64_t seed = 1; seed <= 2; ++seed) sizes.push_back({.pieces = irregular_pieces(item, seed), .seed = seed});
    sizes.push_back({.pieces = std::vector<size_t>(sizes.front().pieces.size())});
    return sizes;
  }
  for (size_t count : {0, 1, 2, 3, 4, 5}) sizes.push_back({.count = count, .seed = count});
  const bool slices = !plan::has_pieces(item.algorithm->collective);
  if (slices && (ranks <= 16 || item.root % 16 == 0))
    sizes.push_back({.count = size_t(2 * ranks + 1), .seed = uint64_t(2 * ranks + 1)});
  return sizes;
}

// Returns whether plans of the collective support input in the receive buffer; for others, the library copies it first.
bool runs_in_place(plan::Collective collective) {
  using plan::Collective;
  return collective != Collective::barrier && collective != Collective::bcast && collective != Collective::alltoall &&
         collective != Collective::reduce_scatter;
}

// Checks the order that the registry promises, which verify() does not know. Returns "" or the violation.
std::string broken_promise(const algo::Algorithm& algorithm, const plan::Plan& plan, const plan::Verdict& verdict) {
  using plan::Association;
  if (!is_reduction(algorithm.collective)) return "";
  if (!algorithm.balanced || (plan.balanced && verdict.association == Association::balanced)) return "";
  return fmt::format(
      "{} {}, {} ranks, root {}: operands do not combine in the balanced order, as the list of algorithms states",
      plan::name(plan.collective), plan.algorithm, plan.ranks, plan.root);
}

// Returns the number of combinations of staged and direct views that verify() tries with one mixture.
size_t decisions_of(const plan::Plan& plan) {
  return std::ranges::any_of(plan.views, [](const plan::View& view) { return view.buffer != plan::Buffer::none; }) ? 3
                                                                                                                   : 1;
}

void verify_item(const Options& options, const Item& item, Result& result) {
  const algo::Algorithm& algorithm = *item.algorithm;
  const int ranks = item.hierarchy->ranks();
  algo::Parameters parameters = small_chunks();
  const plan::Plan plan = algorithm.make(
      {.hierarchy = item.hierarchy, .root = item.root, .irregular = item.irregular, .parameters = parameters});
  ++result.plans;
  const std::vector<Size> sizes = sizes_for(item);
  const bool often = ranks <= 8 && ranks > 1;
  const size_t sets = sizes.size() * (runs_in_place(algorithm.collective) ? 2 : 1) * decisions_of(plan);
  const int runs = often ? int((size_t(options.interleavings) + sets - 1) / sets) : std::min(options.interleavings, 1);
  for (const Size& size : sizes)
    for (bool in_place : {false, true}) {
      if (in_place && !runs_in_place(algorithm.collective)) continue;
      const plan::VerifyOptions how = {.count = size.count,
                                       .pieces = size.pieces,
                                       .element_bytes = element_bytes,
                                       .in_place = in_place,
                                       .mixtures = 1,
                                       .adversaries = ranks <= 8,
                                       .interleavings = runs,
                                       .seed = options.seed + uint64_t(item.root) * 64 + size.seed,
                                       .form = &size == &sizes.front() && !in_place};
      const plan::Verdict verdict = plan::verify(plan, how);
      ++result.cases;
      result.interleavings += verdict.interleavings;
      result.steps += verdict.steps;
      result.association = std::max(result.association, verdict.association);
      std::string problem = verdict.ok ? broken_promise(algorithm, plan, verdict) : verdict.problem;
      if (problem.empty()) continue;
      if (result.failures++ != 0) continue;
      result.problem_ranks = ranks;
      result.problem = fmt::format("{} (machine: {}; seed {})", problem, topo::describe(*item.hierarchy), how.seed);
    }
}

void add(Result& sum, const Result& more) {
  sum.plans += more.plans;
  sum.cases += more.cases;
  sum.interleavings += more.interleavings;
  sum.steps += more.steps;
  if (more.failures != 0 && (sum.failures == 0 || more.problem_ranks < sum.problem_ranks)) {
    sum.problem = more.problem;
    sum.problem_ranks = more.problem_ranks;
  }
  sum.failures += more.failures;
  sum.association = std::max(sum.association, more.association);
}

class Sweep {
 public:
  Sweep(const Options& options, std::span<const algo::Algorithm> registry) : options_(options) {
    for (plan::Collective collective : parse_collectives(options.collective))
      for (const algo::Algorithm& algorithm : registry)
        if (algorithm.collective == collective && (options.algorithm.empty() || options.algorithm == algorithm.name))
          results_.push_back({&algorithm});
    if (results_.empty())
      throw usage(fmt::format("--algorithm: {} has no algorithm '{}'; collctl list prints all", options.collective,
                              options.algorithm));
    ranks_ = parse_numbers(options.ranks, "--ranks", 1, 128);
    lay_out_machines();
    for (Result& result : results_) add_items(*result.algorithm);
    // Start with the longest items, so that all threads end at about the same time.
    std::ranges::stable_sort(items_, [](const Item& a, const Item& b) { return a.weight() > b.weight(); });
    for (const Item& item : items_) weight_ += item.weight();
  }

  int run() {
    const auto begin = std::chrono::steady_clock::now();
    work();
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    options_.json ? print_json() : print_table();
    return failed() ? exit_failure : exit_fine;
  }

 private:
  bool failed() const {
    return std::ranges::any_of(results_, [](const Result& result) { return result.failures > 0; });
  }

  // Adds, for every number of ranks, a flat hierarchy, and those of the machine with ranks mapped by core and by NUMA node.
  void lay_out_machines() {
    hierarchies_.reserve(3 * ranks_.size());
    for (int ranks : ranks_) {
      hierarchies_.push_back(topo::Hierarchy::flat(ranks));
      for (const char* map_by : {"core", "numa"}) {
        topo::Hierarchy made =
            lay_out(ranks, options_.topology, map_by, topo::Sensitivity::standard().text()).hierarchy;
        if (made.is_flat() || (map_by[0] == 'n' && made.places() == hierarchies_.back().places())) continue;
        hierarchies_.push_back(std::move(made));
      }
    }
  }

  void add_items(const algo::Algorithm& algorithm) {
    int last_ranks = 0;
    for (const topo::Hierarchy& hierarchy : hierarchies_) {
      if (hierarchy.ranks() == last_ranks && !algorithm.reads.hierarchy) continue;
      last_ranks = hierarchy.ranks();
      for (int root = 0; root < (is_rooted(algorithm.collective) ? hierarchy.ranks() : 1); ++root) {
        items_.push_back({&algorithm, &hierarchy, root, false});
        if (algorithm.irregular) items_.push_back({&algorithm, &hierarchy, root, true});
      }
    }
  }

  void work() {
    Progress progress(weight_);
    std::atomic<size_t> next{0}, done{0};
    std::mutex mutex;  // protects the results
    const auto worker = [&] {
      for (size_t i; (i = next++) < items_.size();) {
        Result part{items_[i].algorithm};
        verify_item(options_, items_[i], part);
        std::lock_guard lock(mutex);
        add(*std::ranges::find(results_, part.algorithm, &Result::algorithm), part);
        done += items_[i].weight();
      }
      --running_;
    };
    int threads = options_.threads > 0 ? options_.threads : std::max(1u, std::thread::hardware_concurrency());
    running_ = threads;
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i) workers.emplace_back(worker);
    while (running_ > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      size_t at = std::min(next.load(), items_.size() - 1);
      progress.show(done, fmt::format("{} {}, {} ranks", plan::name(items_[at].algorithm->collective),
                                      items_[at].algorithm->name, items_[at].hierarchy->ranks()));
    }
  }

  static const char* association_text(const Result& result) {
    if (!is_reduction(result.algorithm->collective)) return "";
    switch (result.association) {
      case plan::Association::balanced: return order_balanced;
      case plan::Association::any_order: return order_any;
    }
    return "";
  }

  Result sum() const {
    Result all{};
    for (const Result& result : results_) add(all, result);
    return all;
  }

  void print_json() const {
    ordered_json algorithms = ordered_json::array();
    for (const Result& r : results_) {
      ordered_json one = {{"collective", plan::name(r.algorithm->collective)},
                          {"algorithm", r.algorithm->name},
                          {"ok", r.failures == 0},
                          {"plans", r.plans},
                          {"cases", r.cases},
                          {"interleavings", r.interleavings},
                          {"steps", r.steps}};
      if (is_reduction(r.algorithm->collective)) one["order"] = association_text(r);
      if (r.failures > 0) one["failures"] = r.failures, one["problem"] = r.problem;
      algorithms.push_back(one);
    }
    const Result all = sum();
    ordered_json json = {
        {"ok", !failed()},     {"ranks", ranks_},         {"topology", options_.topology},      {"seed", options_.seed},
        {"plans", all.plans},  {"cases", all.cases},      {"interleavings", all.interleavings}, {"steps", all.steps},
        {"seconds", seconds_}, {"algorithms", algorithms}};
    fmt::print("{}\n", json.dump(2));
  }

  void print_table() const {
    Table table("<<>>>><<");
    table.row({"collective", "algorithm", "plans", "cases", "runs", "steps", "order found", "result"});
    for (const Result& r : results_)
      table.row({plan::name(r.algorithm->collective), std::string(r.algorithm->name), count_text(r.plans),
                 count_text(r.cases), count_text(r.interleavings), count_text(r.steps), association_text(r),
                 r.failures > 0 ? fmt::format("FAILED ({})", count_text(r.failures)) : "correct"});
    fmt::print("{}", table.text());
    const Result all = sum();
    fmt::print(
        "\n{}\n",
        wrapped(fmt::format("{} plans of {}{} ranks with every root, {} cases (size, in place or not), {} runs of all "
                            "ranks, {} steps: {} ({:.1f} s, seed {})",
                            count_text(all.plans), ranks_.size() == 1 ? "" : fmt::format("{} to ", ranks_.front()),
                            ranks_.back(), count_text(all.cases), count_text(all.interleavings), count_text(all.steps),
                            failed() ? fmt::format("{} FAILED", count_text(all.failures)) : "all correct", seconds_,
                            options_.seed),
                0));
    for (const Result& r : results_)
      if (r.failures > 0) fmt::print("\n{}\n", wrapped(r.problem, 2));
  }

  const Options& options_;
  std::vector<int> ranks_;
  std::vector<topo::Hierarchy> hierarchies_;
  std::vector<Item> items_;
  std::vector<Result> results_;
  std::atomic<int> running_{0};
  uint64_t weight_ = 0;
  double seconds_ = 0;
};

}  // namespace

int sweep(const SweepOptions& options, std::span<const algo::Algorithm> registry) {
  return Sweep(options, registry).run();
}

void add_verify(Command& app, Action& action) {
  auto options = std::make_shared<Options>();
  Command* sub = app.add_subcommand("verify", "Prove plans correct: no deadlock, no race, no wrong result");
  sub->add_option("COLLECTIVE", options->collective, "the collective, or all; see collctl list")
      ->required()
      ->option_text("  ");
  sub->add_option("--algorithm", options->algorithm, "verify only this algorithm; see collctl list")->option_text("A");
  sub->add_option("--ranks", options->ranks, "numbers of ranks, at most 128: 2-64 or 3,7-9; default: 1-64")
      ->option_text("LIST");
  sub->add_option("--interleavings", options->interleavings,
                  "random interleavings of each plan of up to 8 ranks; default: 10000")
      ->range(0, 10000000)
      ->option_text("N");
  sub->add_option("--seed", options->seed, "seed of everything random; default: 1")->option_text("S");
  sub->add_option("--topology", options->topology,
                  "machine that defines the groups; default: \"package:2 numa:4 core:8\"")
      ->option_text("TEXT");
  sub->add_option("--threads", options->threads, "number of threads; default: one per processor")
      ->range(1, 1024)
      ->option_text("N");
  sub->add_flag("--json", options->json, "print the result as JSON");
  sub->footer(
      examples("  collctl verify all\n"
               "  collctl verify allreduce --ranks 2-64\n"
               "  collctl verify bcast --algorithm knomial --ranks 3,7-9 --interleavings 100000 --seed 7\n"
               "Exit status 1 if a plan is wrong; the output then names the step, the ranks and the seed."));
  sub->callback([&action, options] { action = [options] { return sweep(*options, algo::algorithms()); }; });
}

}  // namespace coll::tools
