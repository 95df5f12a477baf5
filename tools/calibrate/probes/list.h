// SPDX-License-Identifier: BSD-3-Clause
// The probes of collctl calibrate, one function per kind.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "mem/shared_stores.h"
#include "tools/calibrate/memory.h"
#include "tools/calibrate/probes/probes.h"

namespace coll::tools {

// For each distance from process 0 that occurs, the first process at it.
struct Pair {
  topo::Distance distance;
  int other;  // the partner of process 0
};
std::vector<Pair> pairs_of(const MeasureTask& task);

// Numbers of processes that access one owner concurrently: all up to eight, then some of the larger ones.
std::vector<int> concurrency_levels(int processes);

// Adds probes with their keys. The functions of the probes run in the forked processes.
class Probes {
 public:
  Probes(const MeasureTask& task, Workplace& at) : task_(task), at_(at), n_(task.processes) {}

  void add_memory(const std::vector<double>& sizes);
  void add_lines();
  void add_steps();
  void add_near_copies();
  void add_shared_readers();
  void add_rep_movsb();
  void add_cma(const std::vector<double>& footprints);
  void add_kcoll();

  std::vector<Key> keys;
  std::vector<Probe> probes;

 private:
  using Act = std::function<void(int process)>;
  using Try = std::function<std::string(int process)>;
  static std::function<bool(int)> first(int count) {
    return [count](int process) { return process < count; };
  }
  static Try plain(Act act) {
    if (!act) return nullptr;
    return [act](int process) { return act(process), std::string(); };
  }
  void add(const Key& key, std::function<bool(int)> acts, Try prepare, Try timed, int repeats = 1) {
    // A program that copies repeatedly finds the kernel's page tables in the caches: rehearse kernel-assisted copies.
    constexpr double lasting_bytes = 16 << 20;
    const int rehearsals = key.quantity >= Quantity::call && key.bytes <= lasting_bytes ? 2 : 0;
    keys.push_back(key);
    probes.push_back({text(key), repeats, rehearsals, std::move(acts), std::move(prepare), std::move(timed)});
  }
  void add_take(Quantity quantity, size_t bytes);
  int neighbour(int process) const { return (process + 1) % n_; }

  // Calls `piece` for parts that fit into the L1 cache, so that the other side of a copy costs nothing.
  template <class Piece>
  static void in_pieces(size_t bytes, const Piece& piece) {
    for (size_t done = 0; done < bytes; done += Workplace::few_bytes)
      piece(done, std::min(Workplace::few_bytes, bytes - done));
  }

  Try cma(int owner, size_t bytes) {
    return [this, owner, bytes](int process) {
      const int from = owner < 0 ? neighbour(process) : owner;
      std::string problem;
      Access* access = at_.access(CopyPath::cma, from, problem);
      if (access == nullptr || access->read(0, at_.own() + bytes, bytes)) return problem;
      return access->problem();
    };
  }

  mem::SharedStores stores_;  // of each process after the fork
  const MeasureTask& task_;
  Workplace& at_;
  const int n_;
};

}  // namespace coll::tools
