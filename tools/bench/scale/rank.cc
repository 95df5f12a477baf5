// SPDX-License-Identifier: BSD-3-Clause
// One rank of a job of `collctl bench scale`.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "api/launcher.h"
#include "coll/coll.h"
#include "tools/bench/scale/scale.h"
#include "tools/common/collective_call.h"
#include "tools/common/now.h"

namespace coll::tools {
namespace {

constexpr size_t block_bytes = 8;
constexpr int repetitions = 20;

// Returns the number of NAME, in bytes, in a file of lines "NAME: NUMBER kB".
uint64_t kilobytes(const char* file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name + ":")) return std::strtoull(line.c_str() + name.size() + 1, nullptr, 10) * 1024;
  return 0;
}

uint64_t descriptors() {
  // The listing itself has one descriptor.
  return uint64_t(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {})) - 1;
}

Footprint footprint() {
  return {.address_space = kilobytes("/proc/self/status", "VmSize"),
          .proportional = kilobytes("/proc/self/smaps_rollup", "Pss"),
          .page_tables = kilobytes("/proc/self/status", "VmPTE"),
          .descriptors = descriptors()};
}

struct Error {
  std::string text;
};

void check(coll_status status) {
  if (status != COLL_OK) throw Error{coll_last_error()};
}

class Rank {
 public:
  Rank(ScaleBoard& board, int rank, int ranks)
      : board_(board), report_(board.reports[rank]), rank_(rank), ranks_(ranks), memory_(2 * buffer_bytes()) {}

  void calls() {
    report_.before = together();
    coll_comm* comm = nullptr;
    report_.create = timed([&] { check(coll_comm_create_from_launcher(&comm)); });
    report_.created = together();
    coll_comm *second = nullptr, *row = nullptr, *column = nullptr;
    report_.split = timed([&] { check(coll_comm_split(comm, 0, rank_, &second)); });
    report_.descriptors_of_second = descriptors() - report_.created.descriptors;
    const int side = std::max(1, int(std::sqrt(double(ranks_))));
    report_.rows = timed([&] { check(coll_comm_split(comm, rank_ / side, rank_, &row)); });
    report_.columns = timed([&] { check(coll_comm_split(comm, rank_ % side, rank_, &column)); });
    report_.free = timed([&] { check(coll_comm_free(second)); });
    check(coll_comm_free(row));
    check(coll_comm_free(column));
    for (int i = 0; i < plan::collectives; ++i) {
      const auto collective = plan::Collective(i);
      report_.first[size_t(i)] = timed([&] { call(collective, block_bytes, comm); });
      std::array<double, repetitions> later;
      for (double& each : later) each = timed([&] { call(collective, block_bytes, comm); });
      std::ranges::nth_element(later, later.begin() + repetitions / 2);
      report_.later[size_t(i)] = later[repetitions / 2];
    }
    report_.used = together();
    check(coll_comm_free(comm));
  }

  void load() {
    std::array<coll_comm*, scale_communicators> comms{};
    check(coll_comm_create_from_launcher(&comms[0]));
    for (size_t i = 1; i < comms.size(); ++i) check(coll_comm_split(comms[0], 0, rank_, &comms[i]));
    for (coll_comm* comm : comms)
      for (size_t bytes : {block_bytes, most_bytes})
        for (plan::Collective collective :
             {plan::Collective::barrier, plan::Collective::allreduce, plan::Collective::alltoall,
              plan::Collective::allgather, plan::Collective::bcast})
          call(collective, bytes, comm);
    report_.used = together();
    for (size_t i = comms.size(); i-- > 0;) check(coll_comm_free(comms[i]));
  }

  void meet() { pthread_barrier_wait(&board_.barrier); }

 private:
  static constexpr size_t most_bytes = 1024;
  size_t buffer_bytes() const { return most_bytes * size_t(ranks_); }

  // Returns the duration of `work` after a common start.
  template <typename Work>
  double timed(Work&& work) {
    meet();
    const double begin = now();
    work();
    return now() - begin;
  }
  // Measures while all ranks are in the same state, because proportional memory depends on the other ranks.
  Footprint together() {
    meet();
    const Footprint found = footprint();
    meet();
    return found;
  }
  void call(plan::Collective collective, size_t bytes, coll_comm* comm) {
    check(perform({.collective = collective,
                   .in = memory_.data(),
                   .out = memory_.data() + buffer_bytes(),
                   .count = bytes / sizeof(double),
                   .type = COLL_DOUBLE},
                  comm));
  }

  ScaleBoard& board_;
  ScaleReport& report_;
  const int rank_, ranks_;
  std::vector<char> memory_;
};

}  // namespace

int run_scale_rank(ScaleJob job, int descriptor) {
  int rank = -1, ranks = 0;
  struct stat facts {};
  const char* place = std::getenv(launcher::variable);
  if (place == nullptr || std::sscanf(place, "%d/%d", &rank, &ranks) != 2 || fstat(descriptor, &facts) != 0 ||
      rank < 0 || rank >= ranks || size_t(facts.st_size) < board_bytes(ranks))
    return 2;
  void* memory = mmap(nullptr, board_bytes(ranks), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return 2;
  auto& board = *static_cast<ScaleBoard*>(memory);
  Rank self(board, rank, ranks);
  self.meet();
  try {
    if (job == ScaleJob::calls) self.calls();
    if (job == ScaleJob::load) self.load();
  } catch (const Error& error) {
    // Other ranks may wait for this one: the parent ends the job when the first rank fails.
    board.problem.report(error.text);
    return 1;
  }
  self.meet();
  return 0;
}

}  // namespace coll::tools
