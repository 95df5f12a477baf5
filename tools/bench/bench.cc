// SPDX-License-Identifier: BSD-3-Clause
// collctl bench: times collectives of the C API between processes that it forks and pins.
//
// An iteration is the same as in bench/mpi: every rank rewrites its input, so that the lines are dirty in its own
// cache; all start at the same instant; [the clock starts] each rank calls the collective and, if it has a result,
// reads one word of each of its lines [the clock stops]; the result is checked. The time of an iteration is that of the
// slowest rank. Clock, start and core distance come from bench/lockstep, which bench/mpi uses, too.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/lockstep/lockstep.h"
#include "coll/coll.h"
#include "tools/bench/pattern.h"
#include "tools/bench/real_trace.h"
#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/common/choose_plans.h"
#include "tools/common/collective_call.h"
#include "tools/common/first_problem.h"
#include "tools/common/launch.h"
#include "tools/common/look_through.h"
#include "tools/common/output_file.h"
#include "tools/common/progress.h"
#include "tools/common/shared_memory.h"
#include "tools/common/text.h"
#include "topo/machine.h"

namespace coll::tools {
namespace {

using nlohmann::ordered_json;
using plan::Collective;

struct BenchOptions {
  std::string collective, algorithm, sizes = "4-16M", transport, memory = "ordinary", pages = "4k", type = "float",
                                     trace;
  int ranks = 0, root = 0;
  double seconds = 0.1;
  bool json = false;
};

// One row of the result.
struct Cell {
  Collective collective = Collective::barrier;
  uint64_t bytes = 0;
  uint32_t iterations = 0;
  int64_t wrong = 0;
  double median_us = 0, p10_us = 0, p90_us = 0, min_us = 0, flag_ns_before = 0, flag_ns_after = 0;
};

// The machine of a result, so that it can be compared with results of other machines.
ordered_json this_machine() {
  topo::Machine machine;
  if (!topo::load_native(machine).ok()) return {};
  return {{"processor", machine.processor}, {"topology", topo::describe(machine)}, {"cpus", machine.pus.size()}};
}

// Memory that the ranks share with collctl. Rank 0 writes it; cells before `finished` are complete.
struct Shared {
  static constexpr size_t most_cells = plan::collectives * 64;
  std::atomic<uint32_t> finished{0};
  std::atomic<uint32_t> pinned{0};
  Cell cells[most_cells];
  char description[512] = "";
  FirstProblem problem;
};

struct Task {
  Collective collective;
  size_t bytes;
};

class Rank {
 public:
  Rank(const BenchOptions& options, const std::vector<Task>& tasks, Shared& shared, void* segment, int rank, bool spin)
      : options_(options),
        tasks_(tasks),
        shared_(shared),
        rank_(rank),
        type_(parse_type(options.type)),
        pattern_(type_) {
    step_ = lockstep_attach(segment, rank, options.ranks, spin);
  }
  ~Rank() { lockstep_close(step_); }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  int run() {
    if (step_ == nullptr) return fail("cannot allocate memory for the clocks of the ranks");
    if (coll_comm_create_from_launcher(&comm_) != COLL_OK) return fail(coll_last_error());
    if (rank_ == 0) std::snprintf(shared_.description, sizeof shared_.description, "%s", coll_comm_describe(comm_));
    size_t largest_in = 64, largest_out = 64;
    for (const Task& task : tasks_) {
      largest_in = std::max(largest_in, task.bytes * blocks(task.collective, plan::Buffer::send, options_.ranks));
      largest_out = std::max(largest_out, task.bytes * blocks(task.collective, plan::Buffer::recv, options_.ranks));
    }
    in_ = allocate(largest_in);
    out_ = allocate(largest_out);
    if (in_ == nullptr || out_ == nullptr)
      return fail(fmt::format("cannot allocate buffers of {}; use smaller --sizes",
                              bytes_text(std::max(largest_in, largest_out))));
    lockstep_warm();
    for (const Task& task : tasks_)
      if (!run_cell(task)) return 1;
    coll_comm_free(comm_);
    return 0;
  }

 private:
  int fail(const std::string& text) {
    shared_.problem.report("rank " + std::to_string(rank_) + ": " + text);
    return 1;
  }

  char* allocate(size_t bytes) {
    void* memory = nullptr;
    const size_t huge = size_t(2) << 20;
    if (options_.memory == "mapped") {
      if (coll_mem_alloc(bytes, &memory) != COLL_OK) return nullptr;
    } else if (options_.pages == "2m") {
      memory = std::aligned_alloc(huge, (bytes + huge - 1) / huge * huge);
      if (memory != nullptr) madvise(memory, bytes, MADV_HUGEPAGE);
    } else {
      memory = std::malloc(bytes);
    }
    if (memory != nullptr) std::memset(memory, 1, bytes);
    return static_cast<char*>(memory);
  }

  bool call(Collective collective, void* out, size_t count) {
    const coll_status status = perform({collective, in_, out, count, type_, pattern_.op(), options_.root}, comm_);
    if (status != COLL_OK) fail(coll_last_error());
    return status == COLL_OK;
  }

  bool iterate(const Task& task, int iteration) {
    const size_t count = task.bytes / pattern_.element_bytes();
    const bool root = rank_ == options_.root;
    char* out = task.collective == Collective::bcast && root ? in_ : out_;
    const bool reads = has_result(task.collective, rank_, options_.root);
    ++seed_;
    pattern_.fill(in_, count * blocks(task.collective, plan::Buffer::send, options_.ranks), seed_, rank_);
    lockstep_start(step_);
    const uint64_t begin = lockstep_ticks();
    if (!call(task.collective, out, count)) return false;
    if (reads) look_through(out, task.bytes * blocks(task.collective, plan::Buffer::recv, options_.ranks));
    lockstep_record(step_, iteration, begin, lockstep_ticks());
    if (reads) wrong_ += count_wrong(task, out, count);
    return true;
  }

  // Number of operands of each element of the result, if this rank has one.
  int results(Collective collective) const {
    switch (collective) {
      case Collective::reduce:
      case Collective::allreduce:
      case Collective::reduce_scatter: return options_.ranks;
      case Collective::scan: return rank_ + 1;
      case Collective::exscan: return rank_;
      default: return 1;
    }
  }

  int64_t count_wrong(const Task& task, const char* out, size_t count) const {
    const bool from_blocks = plan::has_blocks(task.collective, plan::Buffer::send);
    const size_t from = from_blocks ? size_t(rank_) * count : 0;
    if (plan::has_blocks(task.collective, plan::Buffer::recv)) {
      int64_t wrong = 0;
      for (int sender = 0; sender < options_.ranks; ++sender)
        wrong += pattern_.count_wrong(out + size_t(sender) * task.bytes, count, seed_, sender, 1, from);
      return wrong;
    }
    const bool from_root = task.collective == Collective::bcast || task.collective == Collective::scatter;
    return pattern_.count_wrong(out, count, seed_, from_root ? options_.root : 0, results(task.collective), from);
  }

  // A barrier has no result: check that no rank leaves before all ranks have entered.
  bool check_barrier() {
    for (int64_t round = 1; round <= 100; ++round) {
      lockstep_post(step_, round);
      if (!call(Collective::barrier, nullptr, 0)) return false;
      wrong_ += lockstep_least(step_) < round;
      if (!call(Collective::barrier, nullptr, 0)) return false;
    }
    return true;
  }

  bool run_cell(const Task& task) {
    wrong_ = 0;
    if (task.collective == Collective::barrier && !check_barrier()) return false;
    auto rehearse = [&] { return iterate(task, 0) ? 0 : 1; };
    const int64_t wanted = lockstep_rehearse(
        step_, options_.seconds, [](void* context) { return (*static_cast<decltype(rehearse)*>(context))(); },
        &rehearse);
    if (wanted < 0) return false;
    const int iterations = int(std::clamp(wanted, int64_t(5), int64_t(LOCKSTEP_MAX_ITERATIONS)));
    Cell cell{task.collective, task.bytes, uint32_t(iterations)};
    cell.flag_ns_before = lockstep_flag_ns(step_);
    for (int i = 0; i < iterations; ++i)
      if (!iterate(task, i)) return false;
    cell.flag_ns_after = lockstep_flag_ns(step_);
    cell.wrong = lockstep_sum(step_, wrong_);
    if (rank_ == 0) publish(cell);
    return true;
  }

  void publish(Cell& cell) {
    std::vector<double> us(cell.iterations);
    for (size_t i = 0; i < us.size(); ++i)
      us[i] = double(lockstep_duration(step_, int(i))) * lockstep_ns_per_tick() / 1000;
    std::ranges::sort(us);
    cell.min_us = us.front();
    cell.p10_us = us[us.size() / 10];
    cell.median_us = us[us.size() / 2];
    cell.p90_us = us[us.size() * 9 / 10];
    uint32_t at = shared_.finished.load(std::memory_order_relaxed);
    shared_.cells[at] = cell;
    shared_.finished.store(at + 1, std::memory_order_release);
  }

  const BenchOptions& options_;
  const std::vector<Task>& tasks_;
  Shared& shared_;
  const int rank_;
  const coll_datatype type_;
  const Pattern pattern_;
  lockstep* step_ = nullptr;
  coll_comm* comm_ = nullptr;
  char *in_ = nullptr, *out_ = nullptr;
  uint32_t seed_ = 0;
  int64_t wrong_ = 0;
};

// ---- collctl's side ---------------------------------------------------------------------------------------------

std::vector<Task> tasks_of(const BenchOptions& options) {
  const size_t element = coll_datatype_size(parse_type(options.type));
  std::vector<Task> tasks;
  for (Collective collective : parse_collectives(options.collective)) {
    if (collective == Collective::barrier) tasks.push_back({collective, 0});
    else
      for (size_t bytes : parse_sizes(options.sizes, "--sizes"))
        if (bytes >= element) tasks.push_back({collective, bytes / element * element});
  }
  if (tasks.empty())
    throw usage(fmt::format("--sizes {}: an element of {} has {} bytes; use larger sizes", options.sizes, options.type,
                            element));
  if (tasks.size() > Shared::most_cells)
    throw usage(fmt::format("--sizes: {} measurements are too many; use fewer sizes, at most {} in all", tasks.size(),
                            Shared::most_cells));
  return tasks;
}

void check(const BenchOptions& options) {
  if (options.root >= options.ranks)
    throw usage(
        fmt::format("--root {}: there are {} ranks; use 0 to {}", options.root, options.ranks, options.ranks - 1));
  if (options.memory != "ordinary" && options.memory != "mapped")
    throw usage(fmt::format("--memory: unknown value '{}'; use ordinary or mapped", options.memory));
  if (options.pages != "4k" && options.pages != "2m")
    throw usage(fmt::format("--pages: unknown value '{}'; use 4k or 2m", options.pages));
  if (options.memory == "mapped" && options.pages == "2m")
    throw usage("--pages 2m is for --memory ordinary; coll_mem_alloc requests huge pages itself");
  if (!options.algorithm.empty() && options.collective == "all")
    throw usage("--algorithm belongs to one collective; name one instead of all");
  if (!options.trace.empty() && (options.collective == "all" || parse_sizes(options.sizes, "--sizes").size() != 1))
    throw usage("--trace records one call; name one collective and one of --sizes");
  for (const char* known : {"", "auto", "shm", "cma", "mapped", "kcoll_copy", "kcoll_map", "kcoll_uring"})
    if (options.transport == known) return;
  throw usage(
      fmt::format("--transport: unknown value '{}'; use auto, shm, cma, mapped, kcoll_copy, kcoll_map or kcoll_uring",
                  options.transport));
}

Environment environment_of(const BenchOptions& options) {
  Environment environment;
  if (!options.transport.empty()) environment.emplace_back("COLL_TRANSPORT", options.transport);
  if (!options.algorithm.empty()) {
    Collective collective = parse_collectives(options.collective).front();
    parse_algorithm(collective, options.algorithm);
    std::string name = fmt::format("COLL_{}", plan::name(collective));
    for (char& c : name) c = char(std::toupper(static_cast<unsigned char>(c)));
    environment.emplace_back(name, options.algorithm);
  }
  if (!options.trace.empty()) environment.emplace_back("COLL_TRACE", options.trace);
  return environment;
}

class Bench {
 public:
  explicit Bench(const BenchOptions& options) : options_(options), tasks_((check(options), tasks_of(options))) {
    shared_ = new (shared_memory_.data()) Shared;
    spin_ = allowed_cpus().size() >= size_t(options.ranks);
  }

  int run() {
    Environment environment = environment_of(options_);
    if (!options_.trace.empty()) check_writable("--trace", options_.trace, true);
    Progress progress(tasks_.size());
    lockstep_ns_per_tick();  // measures the clock once, before the fork
    std::string problem = run_ranks(
        options_.ranks, environment, 0,
        [&](int rank) { return Rank(options_, tasks_, *shared_, segment_memory_.data(), rank, spin_).run(); },
        [&] { show(progress); });
    progress.clear();
    if (!problem.empty()) throw Failure(shared_->problem.text[0] != 0 ? shared_->problem.text : problem);
    if (!options_.trace.empty()) join_traces(options_.trace, options_.ranks, tasks_.front().bytes);
    if (options_.json) print_json();
    else fmt::print("\n{}", note());
    return wrong_ == 0 ? exit_fine
                       : throw Failure(fmt::format("{} elements of results are wrong; please report this", wrong_));
  }

 private:
  // Prints new rows of the table as they arrive, and the progress bar below.
  void show(Progress& progress) {
    uint32_t finished = shared_->finished.load(std::memory_order_acquire);
    for (; shown_ < finished; ++shown_) {
      const Cell& cell = shared_->cells[shown_];
      wrong_ += cell.wrong;
      if (options_.json) continue;
      progress.clear();
      if (shown_ == 0) print_head();
      print_row(cell);
      std::fflush(stdout);
    }
    if (finished < tasks_.size()) {
      const Task& task = tasks_[finished];
      progress.show(finished, fmt::format("{} {}", plan::name(task.collective), bytes_text(task.bytes)));
    }
  }

  void print_head() const {
    fmt::print("{}\n\n", wrapped(fmt::format("{}; {} memory; {}", shared_->description, options_.memory,
                                             spin_ ? "ranks bound to processors" : "more ranks than processors"),
                                 0));
    fmt::print("{:<14} {:>9} {:>10} {:>10} {:>10} {:>9} {:>6} {:>9}\n", "collective", "size", "median", "p10", "p90",
               "GB/s", "runs", "flag ns");
  }

  void print_row(const Cell& cell) const {
    std::string rate = cell.bytes == 0 ? "" : fmt::format("{:.2f}", double(cell.bytes) / cell.median_us / 1e3);
    std::string flag = has_flag() ? fmt::format("{:.0f} {:.0f}", cell.flag_ns_before, cell.flag_ns_after) : "-";
    fmt::print("{:<14} {:>9} {:>10} {:>10} {:>10} {:>9} {:>6} {:>9}{}\n", plan::name(cell.collective),
               cell.bytes == 0 ? "" : bytes_text(cell.bytes), us_text(cell.median_us), us_text(cell.p10_us),
               us_text(cell.p90_us), rate, cell.iterations, flag, cell.wrong != 0 ? "  WRONG" : "");
  }

  bool has_flag() const { return spin_ && options_.ranks > 1; }

  std::string note() const {
    std::string text =
        spin_ ? "Times are those of the slowest rank after a common start and include reading the result"
              : "Times are from the first rank's start to the last rank's end and include reading the result";
    if (has_flag()) text += "; flag ns: one-way latency of a cache line between ranks 0 and 1, before and after";
    return wrapped(text + ".", 0) + "\n";
  }

  void print_json() const {
    ordered_json rows = ordered_json::array();
    for (uint32_t i = 0; i < shown_; ++i) {
      const Cell& cell = shared_->cells[i];
      rows.push_back({{"collective", plan::name(cell.collective)},
                      {"bytes", cell.bytes},
                      {"ranks", options_.ranks},
                      {"iterations", cell.iterations},
                      {"median_us", cell.median_us},
                      {"p10_us", cell.p10_us},
                      {"p90_us", cell.p90_us},
                      {"min_us", cell.min_us},
                      {"wrong", cell.wrong},
                      {"flag_ns_before", cell.flag_ns_before},
                      {"flag_ns_after", cell.flag_ns_after}});
    }
    ordered_json json = {{"library", fmt::format("libcoll {}", coll_version())},
                         {"ranks", options_.ranks},
                         {"root", options_.root},
                         {"type", options_.type},
                         {"memory", options_.memory},
                         {"pages", options_.memory == "mapped" ? "coll_mem_alloc" : options_.pages},
                         {"algorithm", options_.algorithm.empty() ? "selected by libcoll" : options_.algorithm},
                         {"communicator", shared_->description},
                         {"machine", this_machine()},
                         {"pinned", spin_},
                         {"rows", rows}};
    fmt::print("{}\n", json.dump(2));
  }

  const BenchOptions& options_;
  const std::vector<Task> tasks_;
  static constexpr const char* no_memory = "cannot allocate shared memory for the ranks; free memory";
  const SharedMemory shared_memory_{sizeof(Shared), no_memory}, segment_memory_{lockstep_segment_bytes(), no_memory};
  Shared* shared_;
  bool spin_ = false;
  uint32_t shown_ = 0;
  int64_t wrong_ = 0;
};

}  // namespace

void add_bench(Command& app, Action& action) {
  auto options = std::make_shared<BenchOptions>();
  Command* sub = app.add_subcommand("bench", "Measure collectives between ranks of this machine");
  sub->add_option("COLLECTIVE", options->collective, "the collective, or all; see collctl list")
      ->required()
      ->option_text("  ");
  sub->add_option("-n,--ranks", options->ranks, "number of ranks, 1 to 64 (required)")
      ->required()
      ->range(1, int(LOCKSTEP_MAX_RANKS))
      ->option_text("N");
  sub->add_option("--sizes", options->sizes,
                  "bytes of the vector, or of the block that one rank has for one other:\n"
                  "a list (64,1K,100K), or a range in powers of four; default: 4-16M")
      ->option_text("BYTES");
  sub->add_option("--algorithm", options->algorithm,
                  "algorithm, with parameters if wanted; see collctl list;\ndefault: what libcoll selects")
      ->option_text("A");
  sub->add_option("--root", options->root, "root of bcast, reduce, scatter and gather; default: 0")
      ->at_least_zero()
      ->option_text("R");
  sub->add_option("--type", options->type, "datatype of the elements; default: float")->option_text("TYPE");
  sub->add_option("--transport", options->transport,
                  "as COLL_TRANSPORT: auto (default), shm, cma, mapped, kcoll_copy,\nkcoll_map or kcoll_uring")
      ->option_text("HOW");
  sub->add_option("--memory", options->memory, "buffers from malloc (ordinary, default) or coll_mem_alloc (mapped)")
      ->option_text("ordinary|mapped");
  sub->add_option("--pages", options->pages, "pages of ordinary memory: 4k (default), or 2m for huge pages")
      ->option_text("4k|2m");
  sub->add_option("--time", options->seconds, "seconds per size, 0.001 to 3600; default: 0.1")
      ->range(0.001, 3600.0)
      ->option_text("S");
  sub->add_option("--trace", options->trace, "write a timeline of the last call for Perfetto (ui.perfetto.dev)")
      ->file();
  sub->add_flag("--json", options->json, "print the result as JSON");
  sub->footer(
      examples("  collctl bench allreduce -n 2 --sizes 4-16M\n"
               "  collctl bench bcast -n 4 --sizes 64K,1M --transport shm --algorithm knomial:k=2\n"
               "  collctl bench all -n 2 --memory mapped --json"));
  sub->callback([&action, options] { action = [options] { return Bench(*options).run(); }; });
}

}  // namespace coll::tools
