// SPDX-License-Identifier: BSD-3-Clause
// The processes of collctl bench contention. Those that access start each access together (bench/lockstep) and are
// pinned when there are enough processors; the one whose memory most of them use sleeps meanwhile.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <new>

#include <fmt/format.h>
#include <pthread.h>

#include "command.h"
#include "contention.h"
#include "first_problem.h"
#include "kernel_counts.h"
#include "launch.h"
#include "lockstep.h"
#include "now.h"
#include "shared_memory.h"

namespace coll::tools {
namespace {

constexpr size_t page_bytes = 4096;
constexpr int counted_accesses = 20;

// What all processes share, besides the memory of the way `shm`.
struct Board {
  pthread_barrier_t all, accessing;
  transport::Token key;
  Place places[LOCKSTEP_MAX_RANKS + 1];
  char problems[way_names.size()][300];
  char counts_problem[300];
  std::atomic<uint32_t> failures[way_names.size()], counts_failures;
  std::atomic<uint32_t> finished;  // measurements
  std::atomic<int64_t> wrong;
  FirstProblem failure;
};

pthread_barrier_t make_barrier(unsigned count) {
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, &attributes, count);
  pthread_barrierattr_destroy(&attributes);
  return barrier;
}

// What lies at each byte of a process's memory, different for every process and word.
uint64_t word_of(int process, size_t index) {
  return (uint64_t(process) + 1) * 0x9e3779b97f4a7c15ULL + index * 0x85ebca77c2b2ae63ULL;
}

void fill(char* memory, size_t bytes, int process, size_t offset) {
  for (size_t at = 0; at < bytes; at += 8) {
    const uint64_t word = word_of(process, (offset + at) / 8);
    std::memcpy(memory + at, &word, 8);
  }
}

int64_t count_wrong(const char* memory, size_t bytes, int process, size_t offset) {
  int64_t wrong = 0;
  for (size_t at = 0; at < bytes; at += 8) {
    uint64_t word;
    std::memcpy(&word, memory + at, 8);
    wrong += word == word_of(process, (offset + at) / 8) ? 0 : 8;
  }
  return wrong;
}

// Whole pages, so that they can lie side by side.
size_t segment_bytes() { return (lockstep_segment_bytes() + page_bytes - 1) / page_bytes * page_bytes; }

// All that one run has, made before the processes are forked.
struct Run {
  const ContentionTask& task;
  size_t slot_bytes = 0;  // the largest access
  bool spin = false;
  std::vector<int> cpus;
  Board* board = nullptr;
  char* segments = nullptr;  // of lockstep, one for each number of concurrent accesses
  char* shared = nullptr;    // memory of the way shm: of each process in turn
  ContentionCell* cells = nullptr;

  int at_rest() const { return task.ranks; }
  // The process at rest has a slot for each other; the others have one.
  size_t source_bytes(int process) const { return slot_bytes * size_t(process == at_rest() ? task.ranks : 1); }
  char* shared_of(int process) const { return shared + slot_bytes * size_t(process); }
  size_t cells_per_way() const { return task.patterns.size() * task.pages.size() * size_t(task.ranks); }
  size_t index(size_t way, size_t pattern, size_t pages, int concurrent) const {
    return ((way * task.patterns.size() + pattern) * task.pages.size() + pages) * size_t(task.ranks) +
           size_t(concurrent - 1);
  }
};

class Process {
 public:
  Process(const Run& run, int self)
      : run_(run),
        board_(*run.board),
        self_(self),
        shared_(run.shared_of(self)),
        source_(shared_, run.source_bytes(self), run.board->key) {}

  int run() {
    if (source_.data() == nullptr) return fail("no memory; give fewer ranks or smaller --pages");
    fill(source_.data(), run_.source_bytes(self_), self_, 0);
    fill(shared_, run_.source_bytes(self_), self_, 0);
    board_.places[self_] = source_.place();
    pthread_barrier_wait(&board_.all);
    if (self_ != run_.at_rest() && !measure()) return 1;
    pthread_barrier_wait(&board_.all);
    // What was written here was put back at the end; whatever else has changed was not meant.
    board_.wrong += count_wrong(source_.data(), run_.source_bytes(self_), self_, 0) +
                    count_wrong(shared_, run_.source_bytes(self_), self_, 0);
    pthread_barrier_wait(&board_.all);
    for (lockstep* step : steps_) lockstep_close(step);
    return 0;
  }

 private:
  int fail(const std::string& text) {
    board_.failure.tell("process " + std::to_string(self_) + ": " + text);
    return 1;
  }

  bool measure() {
    if (run_.spin) pin_to(run_.cpus[size_t(self_)]);
    local_.resize(run_.slot_bytes);
    for (int concurrent = 1; concurrent <= run_.task.ranks; ++concurrent) {
      char* segment = run_.segments + size_t(concurrent - 1) * segment_bytes();
      steps_.push_back(self_ < concurrent ? lockstep_attach(segment, self_, concurrent, run_.spin) : nullptr);
      if (self_ < concurrent && steps_.back() == nullptr) return fail("no memory for the clocks"), false;
    }
    if (!each_way(&Process::time_cell)) return false;
    return each_way(&Process::count_cell);
  }

  // ---- what works ----------------------------------------------------------------------------------------------

  // A way works when all processes can read a byte of each memory that they will use.
  bool works(size_t way) {
    Way kind = run_.task.ways[way];
    std::string problem;
    to_rest_ = make_access(kind, board_.places[run_.at_rest()], problem);
    if (to_rest_ != nullptr) to_neighbour_ = make_access(kind, board_.places[neighbour()], problem);
    char byte;
    for (Access* access : {to_rest_.get(), to_neighbour_.get()})
      if (problem.empty() && !access->read(0, &byte, 1)) problem = access->problem();
    if (!problem.empty() && board_.failures[way].fetch_add(1) == 0)
      std::snprintf(board_.problems[way], sizeof board_.problems[way], "%s", problem.c_str());
    pthread_barrier_wait(&board_.accessing);
    return board_.failures[way] == 0;
  }

  int neighbour() const { return self_ == 0 ? run_.at_rest() : self_ - 1; }

  bool each_way(bool (Process::*measure_cell)(ContentionCell&)) {
    const bool counting = measure_cell == &Process::count_cell;
    if (counting && !open_counter()) return true;
    for (size_t way = 0; way < run_.task.ways.size(); ++way) {
      const bool here = works(way);
      for (size_t pattern = 0; here && pattern < run_.task.patterns.size(); ++pattern)
        for (size_t pages = 0; pages < run_.task.pages.size(); ++pages)
          for (int concurrent = 1; concurrent <= run_.task.ranks; ++concurrent) {
            ContentionCell& cell = run_.cells[run_.index(way, pattern, pages, concurrent)];
            // Whoever has no part sleeps.
            pthread_barrier_wait(&board_.accessing);
            if (self_ >= concurrent) continue;
            if (self_ == 0) {
              cell.way = run_.task.ways[way];
              cell.pattern = run_.task.patterns[pattern];
              cell.pages = run_.task.pages[pages];
              cell.concurrent = concurrent;
            }
            lockstep_start(steps_[size_t(concurrent - 1)]);
            if (!(this->*measure_cell)(cell) || !check(cell)) return false;
            if (self_ == 0) ++board_.finished;
          }
      if (self_ == 0 && !here) board_.finished += uint32_t(run_.cells_per_way());
      to_rest_.reset();
      to_neighbour_.reset();
    }
    return true;
  }

  // ---- one access ----------------------------------------------------------------------------------------------

  size_t bytes_of(const ContentionCell& cell) const { return size_t(cell.pages) * page_bytes; }
  bool writes(const ContentionCell& cell) const { return cell.pattern == Pattern::all_to_one; }
  int source_of(const ContentionCell& cell) const {
    return cell.pattern == Pattern::all_to_all ? neighbour() : run_.at_rest();
  }
  size_t offset_of(const ContentionCell& cell) const {
    const bool apart = cell.pattern == Pattern::one_to_all_apart || cell.pattern == Pattern::all_to_one;
    return apart ? size_t(self_) * run_.slot_bytes : 0;
  }
  Access& access_of(const ContentionCell& cell) {
    return cell.pattern == Pattern::all_to_all ? *to_neighbour_ : *to_rest_;
  }

  bool move(const ContentionCell& cell) {
    Access& access = access_of(cell);
    const bool done = writes(cell) ? access.write(offset_of(cell), local_.data(), bytes_of(cell))
                                   : access.read(offset_of(cell), local_.data(), bytes_of(cell));
    if (!done) fail(fmt::format("{}: {}", way_names[size_t(cell.way)], access.problem()));
    return done;
  }

  // What was read is the source's; what was written is there, and is replaced by what was before.
  bool check(const ContentionCell& cell) {
    const size_t bytes = bytes_of(cell), offset = offset_of(cell);
    if (!writes(cell)) {
      board_.wrong += count_wrong(local_.data(), bytes, source_of(cell), offset);
      std::memset(local_.data(), 0, bytes);
      return true;
    }
    std::memset(local_.data(), 0, bytes);
    Access& access = access_of(cell);
    if (!access.read(offset, local_.data(), bytes)) return fail(access.problem()), false;
    board_.wrong += count_wrong(local_.data(), bytes, self_, 0);
    fill(local_.data(), bytes, source_of(cell), offset);
    if (!access.write(offset, local_.data(), bytes)) return fail(access.problem()), false;
    return true;
  }

  // ---- measuring -----------------------------------------------------------------------------------------------

  bool time_cell(ContentionCell& cell) {
    lockstep* step = steps_[size_t(cell.concurrent - 1)];
    fill(local_.data(), bytes_of(cell), self_, 0);
    double took = 0;
    for (int warm = 0; warm < 3; ++warm) {
      lockstep_start(step);
      const double begin = now();
      if (!move(cell)) return false;
      took = now() - begin;
    }
    const double wanted = run_.task.seconds / std::max(took, 1e-7);
    const int iterations =
        int(lockstep_agree(step, int64_t(std::clamp(wanted, 10.0, double(LOCKSTEP_MAX_ITERATIONS)))));
    for (int i = 0; i < iterations; ++i) {
      lockstep_start(step);
      const uint64_t begin = lockstep_ticks();
      if (!move(cell)) return false;
      lockstep_record(step, i, begin, lockstep_ticks());
    }
    lockstep_start(step);
    if (self_ != 0) return true;
    std::vector<double> us;
    for (int i = 0; i < iterations; ++i)
      us.push_back(double(lockstep_duration(step, i)) * lockstep_ns_per_tick() / 1000);
    std::ranges::sort(us);
    cell.iterations = uint32_t(iterations);
    cell.median_us = us[us.size() / 2];
    cell.p10_us = us[us.size() / 10];
    cell.p90_us = us[us.size() * 9 / 10];
    return true;
  }

  // All who can count, or none.
  bool open_counter() {
    std::string problem;
    counter_ = LockCounter::open(problem);
    if (counter_ == nullptr && board_.counts_failures.fetch_add(1) == 0)
      std::snprintf(board_.counts_problem, sizeof board_.counts_problem, "%s", problem.c_str());
    pthread_barrier_wait(&board_.accessing);
    return board_.counts_failures == 0;
  }

  bool count_cell(ContentionCell& cell) {
    lockstep* step = steps_[size_t(cell.concurrent - 1)];
    fill(local_.data(), bytes_of(cell), self_, 0);
    if (!move(cell)) return false;  // first use is not what is counted
    lockstep_start(step);
    const uint64_t pinned = self_ == 0 ? pages_pinned() : 0;
    lockstep_start(step);
    const uint64_t locks = counter_->taken();
    for (int i = 0; i < counted_accesses; ++i)
      if (!move(cell)) return false;
    const int64_t mine = int64_t(counter_->taken() - locks);
    const int64_t all = lockstep_sum(step, mine);
    if (self_ == 0) {
      const double accesses = double(counted_accesses) * cell.concurrent;
      cell.locks = double(all) / accesses;
      cell.pinned = double(pages_pinned() - pinned) / accesses;
    }
    lockstep_start(step);
    return true;
  }

  const Run& run_;
  Board& board_;
  const int self_;
  char* const shared_;
  Source source_;
  std::vector<lockstep*> steps_;  // [concurrent - 1]; null: no part in it
  std::vector<char> local_;
  std::unique_ptr<Access> to_rest_, to_neighbour_;
  std::unique_ptr<LockCounter> counter_;
};

}  // namespace

ContentionResult measure_contention(const ContentionTask& task, const std::function<void(size_t, size_t)>& show) {
  Run run{task};
  run.slot_bytes = size_t(*std::ranges::max_element(task.pages)) * page_bytes;
  run.cpus = allowed_cpus();
  run.spin = run.cpus.size() >= size_t(task.ranks);
  constexpr const char* none = "no shared memory for the processes; give fewer ranks or smaller --pages";
  const size_t cells = run.cells_per_way() * task.ways.size();
  const SharedMemory board(sizeof(Board), none), segments(segment_bytes() * size_t(task.ranks), none),
      shared(run.slot_bytes * size_t(2 * task.ranks), none), cell_memory(cells * sizeof(ContentionCell), none);
  run.board = new (board.data()) Board{};
  run.board->all = make_barrier(unsigned(task.ranks) + 1);
  run.board->accessing = make_barrier(unsigned(task.ranks));
  run.board->key = transport::own_token();
  run.segments = segments.data();
  run.shared = shared.data();
  run.cells = reinterpret_cast<ContentionCell*>(cell_memory.data());
  for (size_t i = 0; i < cells; ++i) new (&run.cells[i]) ContentionCell{};
  lockstep_ns_per_tick();  // once, for all

  const std::string problem = run_ranks(
      task.ranks + 1, {}, 0, [&](int self) { return Process(run, self).run(); },
      [&] { show(run.board->finished, 2 * cells); });
  if (!problem.empty()) throw Failure(run.board->failure.text[0] != 0 ? run.board->failure.text : problem);

  ContentionResult result;
  result.spin = run.spin;
  result.wrong = run.board->wrong;
  result.counts_problem = run.board->counts_problem;
  for (size_t way = 0; way < task.ways.size(); ++way) {
    result.problems.push_back(run.board->problems[way]);
    if (!result.problems.back().empty()) continue;
    for (size_t i = 0; i < run.cells_per_way(); ++i) {
      ContentionCell cell = run.cells[way * run.cells_per_way() + i];
      const ContentionCell& alone = run.cells[way * run.cells_per_way() + i - size_t(cell.concurrent - 1)];
      cell.relative = cell.median_us / alone.median_us;
      result.cells.push_back(cell);
    }
  }
  return result;
}

}  // namespace coll::tools
