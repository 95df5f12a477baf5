// SPDX-License-Identifier: BSD-3-Clause
// The processes of collctl bench contention. Accessing processes start each access together (bench/lockstep) and are
// pinned if there are enough processors. The process at rest, which owns the memory in most patterns, sleeps, or maps
// and unmaps memory (--busy). All paths are timed in alternating bursts, so that slow changes of the machine affect
// them alike.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <new>

#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>

#include "bench/lockstep/lockstep.h"
#include "tools/bench/contention/contention.h"
#include "tools/bench/contention/kernel_counts.h"
#include "tools/command.h"
#include "tools/common/first_problem.h"
#include "tools/common/launch.h"
#include "tools/common/now.h"
#include "tools/common/shared_memory.h"
#include "transport/shared_file.h"

namespace coll::tools {
namespace {

const size_t page_bytes = transport::page_bytes();
constexpr int counted_accesses = 50;
constexpr int bursts = 5;  // per path and measurement
const size_t busy_bytes = 64 * page_bytes;

// Memory that all processes share, besides that of the path `shm`.
struct Board {
  pthread_barrier_t all, accessing;
  transport::Token key;
  Place places[LOCKSTEP_MAX_RANKS + 1];
  char problems[path_names.size()][300];
  char counts_problem[300];
  std::atomic<uint32_t> failures[path_names.size()], counts_failures;
  std::atomic<uint32_t> finished;  // number of finished measurements
  std::atomic<int> measured;       // number of processes that have finished all measurements
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

// Returns the expected word at an index of a process's memory: different for every process and word.
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

// Rounded up to whole pages, so that segments can follow each other in one mapping.
size_t segment_bytes() { return (lockstep_segment_bytes() + page_bytes - 1) / page_bytes * page_bytes; }

// Everything that one run needs, created before the processes are forked.
struct Run {
  const ContentionTask& task;
  size_t slot_bytes = 0;  // size of the largest access
  bool spin = false;
  std::vector<int> cpus;
  Board* board = nullptr;
  char* segments = nullptr;  // of lockstep, one for each number of concurrent accesses
  char* shared = nullptr;    // memory of the path shm, one part per process
  ContentionCell* cells = nullptr;

  int at_rest() const { return task.ranks; }
  // The process at rest has one slot for each accessing process, the others have one slot.
  size_t source_bytes(int process) const { return slot_bytes * size_t(process == at_rest() ? task.ranks : 1); }
  char* shared_of(int process) const { return shared + slot_bytes * size_t(process); }
  size_t cells_per_path() const { return task.patterns.size() * task.pages.size() * size_t(task.ranks); }
  ContentionCell& cell(size_t path, size_t pattern, size_t pages, int concurrent) const {
    return cells[((path * task.patterns.size() + pattern) * task.pages.size() + pages) * size_t(task.ranks) +
                 size_t(concurrent - 1)];
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
    if (source_.data() == nullptr) return fail("cannot allocate memory; use fewer ranks or smaller --pages");
    fill(source_.data(), run_.source_bytes(self_), self_, 0);
    fill(shared_, run_.source_bytes(self_), self_, 0);
    board_.places[self_] = source_.place();
    pthread_barrier_wait(&board_.all);
    if (self_ != run_.at_rest()) {
      if (!measure()) return 1;
      ++board_.measured;
    } else if (run_.task.busy) {
      map_and_unmap();
    }
    pthread_barrier_wait(&board_.all);
    // Writes were undone after each measurement, so every changed byte is an error.
    board_.wrong += count_wrong(source_.data(), run_.source_bytes(self_), self_, 0) +
                    count_wrong(shared_, run_.source_bytes(self_), self_, 0);
    pthread_barrier_wait(&board_.all);
    for (lockstep* step : steps_) lockstep_close(step);
    return 0;
  }

 private:
  int fail(const std::string& text) {
    board_.failure.report("process " + std::to_string(self_) + ": " + text);
    return 1;
  }

  bool measure() {
    if (run_.spin) pin_to(run_.cpus[size_t(self_)]);
    local_.resize(run_.slot_bytes);
    for (int concurrent = 1; concurrent <= run_.task.ranks; ++concurrent) {
      char* segment = run_.segments + size_t(concurrent - 1) * segment_bytes();
      steps_.push_back(self_ < concurrent ? lockstep_attach(segment, self_, concurrent, run_.spin) : nullptr);
      if (self_ < concurrent && steps_.back() == nullptr) return fail("cannot allocate memory for the clocks"), false;
    }
    for (size_t path = 0; path < run_.task.paths.size(); ++path)
      if (works(path)) working_.push_back(path);
      else if (self_ == 0) board_.finished += uint32_t(2 * run_.cells_per_path());
    if (!each_place(&Process::time_paths)) return false;
    if (open_counters()) return each_place(&Process::count_paths);
    if (self_ == 0) board_.finished += uint32_t(working_.size() * run_.cells_per_path());
    return true;
  }

  // Maps and unmaps memory, as an allocator does, until all other processes have finished.
  void map_and_unmap() {
    while (board_.measured < run_.task.ranks) {
      void* memory = mmap(nullptr, busy_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) continue;
      std::memset(memory, 1, busy_bytes);
      munmap(memory, busy_bytes);
    }
  }

  // ---- which paths work ----------------------------------------------------------------------------------------

  // A path works if all processes can read a byte of each memory that they will use.
  bool works(size_t path) {
    CopyPath kind = run_.task.paths[path];
    std::string problem;
    Accesses& accesses = accesses_.emplace_back();
    accesses.rest = make_access(kind, board_.places[run_.at_rest()], problem);
    if (accesses.rest != nullptr) accesses.neighbour = make_access(kind, board_.places[neighbour()], problem);
    char byte;
    for (Access* access : {accesses.rest.get(), accesses.neighbour.get()})
      if (problem.empty() && !access->read(0, &byte, 1)) problem = access->problem();
    if (!problem.empty() && board_.failures[path].fetch_add(1) == 0)
      std::snprintf(board_.problems[path], sizeof board_.problems[path], "%s", problem.c_str());
    pthread_barrier_wait(&board_.accessing);
    return board_.failures[path] == 0;
  }

  int neighbour() const { return self_ == 0 ? run_.at_rest() : self_ - 1; }

  // The cells of all working paths for one pattern, size and number of concurrent accesses.
  using Cells = std::vector<ContentionCell*>;

  bool each_place(bool (Process::*measure_paths)(const Cells&)) {
    for (size_t pattern = 0; pattern < run_.task.patterns.size() && !working_.empty(); ++pattern)
      for (size_t pages = 0; pages < run_.task.pages.size(); ++pages)
        for (int concurrent = 1; concurrent <= run_.task.ranks; ++concurrent) {
          // Processes without a part sleep here.
          pthread_barrier_wait(&board_.accessing);
          if (self_ >= concurrent) continue;
          Cells cells;
          for (size_t path : working_) {
            cells.push_back(&run_.cell(path, pattern, pages, concurrent));
            if (self_ != 0) continue;
            ContentionCell& cell = *cells.back();
            cell.path = run_.task.paths[path];
            cell.pattern = run_.task.patterns[pattern];
            cell.pages = run_.task.pages[pages];
            cell.concurrent = concurrent;
          }
          lockstep_start(steps_[size_t(concurrent - 1)]);
          if (!(this->*measure_paths)(cells)) return false;
          if (self_ == 0) board_.finished += uint32_t(cells.size());
        }
    return true;
  }

  // ---- one access ----------------------------------------------------------------------------------------------

  size_t bytes_of(const ContentionCell& cell) const { return size_t(cell.pages) * page_bytes; }
  bool writes(const ContentionCell& cell) const { return cell.pattern == AccessPattern::all_to_one; }
  int source_of(const ContentionCell& cell) const {
    return cell.pattern == AccessPattern::all_to_all ? neighbour() : run_.at_rest();
  }
  size_t offset_of(const ContentionCell& cell) const {
    const bool separate = cell.pattern == AccessPattern::one_to_all_apart || cell.pattern == AccessPattern::all_to_one;
    return separate ? size_t(self_) * run_.slot_bytes : 0;
  }
  Access& access_of(const ContentionCell& cell) {
    const size_t path = size_t(std::ranges::find(run_.task.paths, cell.path) - run_.task.paths.begin());
    return cell.pattern == AccessPattern::all_to_all ? *accesses_[path].neighbour : *accesses_[path].rest;
  }

  bool access_memory(const ContentionCell& cell) {
    Access& access = access_of(cell);
    const bool done = writes(cell) ? access.write(offset_of(cell), local_.data(), bytes_of(cell))
                                   : access.read(offset_of(cell), local_.data(), bytes_of(cell));
    if (!done) fail(fmt::format("{}: {}", path_names[size_t(cell.path)], access.problem()));
    return done;
  }

  // Checks that the bytes read are the source's, or that the bytes written have arrived; then restores what was there
  // before.
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

  bool time_paths(const Cells& cells) {
    lockstep* step = steps_[size_t(cells[0]->concurrent - 1)];
    std::vector<int> iterations;  // of one burst
    std::vector<std::vector<double>> us(cells.size());
    for (const ContentionCell* cell : cells) {
      double took = 0;
      for (int warm = 0; warm < 3; ++warm) {
        lockstep_start(step);
        const double begin = now();
        if (!access_memory(*cell)) return false;
        took = now() - begin;
      }
      const double wanted = run_.task.seconds / bursts / std::max(took, 1e-7);
      iterations.push_back(
          int(lockstep_agree(step, int64_t(std::clamp(wanted, 2.0, double(LOCKSTEP_MAX_ITERATIONS / bursts))))));
    }
    for (int burst = 0; burst < bursts; ++burst)
      for (size_t i = 0; i < cells.size(); ++i)
        if (!time_burst(*cells[i], iterations[i], us[i])) return false;
    for (size_t i = 0; i < cells.size() && self_ == 0; ++i) {
      std::ranges::sort(us[i]);
      cells[i]->iterations = uint32_t(us[i].size());
      cells[i]->median_us = us[i][us[i].size() / 2];
      cells[i]->p10_us = us[i][us[i].size() / 10];
      cells[i]->p90_us = us[i][us[i].size() * 9 / 10];
    }
    return true;
  }

  // Process 0 appends the duration of each iteration.
  bool time_burst(const ContentionCell& cell, int iterations, std::vector<double>& us) {
    lockstep* step = steps_[size_t(cell.concurrent - 1)];
    fill(local_.data(), bytes_of(cell), self_, 0);
    for (int i = 0; i < iterations; ++i) {
      lockstep_start(step);
      const uint64_t begin = lockstep_ticks();
      if (!access_memory(cell)) return false;
      lockstep_record(step, i, begin, lockstep_ticks());
    }
    lockstep_start(step);
    for (int i = 0; i < iterations && self_ == 0; ++i)
      us.push_back(double(lockstep_duration(step, i)) * lockstep_ns_per_tick() / 1000);
    return check(cell);
  }

  // Returns whether all processes can count. The counter of the gate is optional: it needs the module.
  bool open_counters() {
    std::string problem, no_module;
    locks_ = EventCounter::open(lock_taken_event, problem);
    if (locks_ != nullptr) lock_waits_ = EventCounter::open(lock_wait_event, problem);
    gate_waits_ = EventCounter::open(gate_wait_event, no_module);
    if (lock_waits_ == nullptr && board_.counts_failures.fetch_add(1) == 0)
      std::snprintf(board_.counts_problem, sizeof board_.counts_problem, "%s", problem.c_str());
    pthread_barrier_wait(&board_.accessing);
    return board_.counts_failures == 0;
  }

  bool count_paths(const Cells& cells) {
    return std::ranges::all_of(cells, [this](ContentionCell* cell) { return count_cell(*cell) && check(*cell); });
  }

  bool count_cell(ContentionCell& cell) {
    lockstep* step = steps_[size_t(cell.concurrent - 1)];
    fill(local_.data(), bytes_of(cell), self_, 0);
    if (!access_memory(cell)) return false;  // the first access is not counted
    lockstep_start(step);
    const uint64_t pinned = self_ == 0 ? pages_pinned() : 0;
    const double accesses = double(counted_accesses) * cell.concurrent;
    const struct {
      const EventCounter* counter;
      double& per_access;
    } counted[] = {
        {locks_.get(), cell.locks}, {lock_waits_.get(), cell.lock_waits}, {gate_waits_.get(), cell.gate_waits}};
    int64_t met[std::size(counted)];
    lockstep_start(step);
    for (size_t i = 0; i < std::size(counted); ++i) met[i] = count(counted[i].counter);
    for (int i = 0; i < counted_accesses; ++i)
      if (!access_memory(cell)) return false;
    for (size_t i = 0; i < std::size(counted); ++i) met[i] = count(counted[i].counter) - met[i];
    for (size_t i = 0; i < std::size(counted); ++i) {
      const int64_t all = lockstep_sum(step, met[i]);
      if (self_ == 0 && counted[i].counter != nullptr) counted[i].per_access = double(all) / accesses;
    }
    if (self_ == 0) cell.pinned = double(pages_pinned() - pinned) / accesses;
    lockstep_start(step);
    return true;
  }
  static int64_t count(const EventCounter* counter) { return counter == nullptr ? 0 : int64_t(counter->count()); }

  const Run& run_;
  Board& board_;
  const int self_;
  char* const shared_;
  Source source_;
  std::vector<lockstep*> steps_;  // [concurrent - 1]; null: this process takes no part
  std::vector<char> local_;
  struct Accesses {
    std::unique_ptr<Access> rest, neighbour;
  };
  std::vector<Accesses> accesses_;  // [paths]
  std::vector<size_t> working_;     // paths that work
  std::unique_ptr<EventCounter> locks_, lock_waits_, gate_waits_;
};

}  // namespace

ContentionResult measure_contention(const ContentionTask& task, const std::function<void(size_t, size_t)>& show) {
  Run run{task};
  run.slot_bytes = size_t(*std::ranges::max_element(task.pages)) * page_bytes;
  run.cpus = allowed_cpus();
  run.spin = run.cpus.size() >= size_t(task.ranks + task.busy);
  constexpr const char* none = "no shared memory for the processes; give fewer ranks or smaller --pages";
  const size_t cells = run.cells_per_path() * task.paths.size();
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
  lockstep_ns_per_tick();  // measures the clock once, before the fork

  const std::string problem = run_ranks(
      task.ranks + 1, {}, 0, [&](int self) { return Process(run, self).run(); },
      [&] { show(run.board->finished, 2 * cells); });
  if (!problem.empty()) throw Failure(run.board->failure.text[0] != 0 ? run.board->failure.text : problem);

  ContentionResult result;
  result.spin = run.spin;
  result.wrong = run.board->wrong;
  result.counts_problem = run.board->counts_problem;
  for (size_t path = 0; path < task.paths.size(); ++path) {
    result.problems.push_back(run.board->problems[path]);
    if (!result.problems.back().empty()) continue;
    for (size_t i = 0; i < run.cells_per_path(); ++i) {
      ContentionCell cell = run.cells[path * run.cells_per_path() + i];
      const ContentionCell& alone = run.cells[path * run.cells_per_path() + i - size_t(cell.concurrent - 1)];
      cell.relative = cell.median_us / alone.median_us;
      result.cells.push_back(cell);
    }
  }
  return result;
}

}  // namespace coll::tools
