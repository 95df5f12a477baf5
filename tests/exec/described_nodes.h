// SPDX-License-Identifier: BSD-3-Clause
// Described nodes for the tests of latency paths of many ranks, as threads or as processes. The library sees as many
// processors as the test defines. For a test of one source file, which defines sched_getaffinity().
#pragma once

#include <sched.h>

#include <tuple>

#include "comm/collectives.h"

namespace ranks {

inline std::atomic<int> processors{2};

// This file is compiled once for ranks that are threads and once for processes.
#ifdef RANKS_ARE_PROCESSES
inline void run(int ranks, const Function& function) { run_processes(ranks, function, -1, 120); }
#else
inline void run(int ranks, const Function& function) { run_threads(ranks, function); }
#endif

// A described machine, whose cores the ranks fill in order, and whether the ranks are oversubscribed on two processors.
struct Node {
  const char* name;
  const char* topology;
  bool oversubscribed;
};
inline const Node nodes[] = {{"oversubscribed", "package:1 core:64", true},
                             {"oversubscribed_groups", "package:2 numa:4 core:8", true},
                             {"flat", "package:1 core:64", false},
                             {"groups", "package:2 numa:4 core:8", false},
                             {"l3s", "package:2 l3:10 core:4", false}};

class On {
 public:
  explicit On(const Node& node) : topology_("COLL_TOPOLOGY", node.topology) {
    processors = node.oversubscribed ? 2 : 256;
  }

 private:
  Environment topology_, transport_{"COLL_TRANSPORT", "shm"};
};

inline coll_comm* comm_on(Context& c, const Node& node) {
  coll_comm* comm = c.comm();
  if (comm == nullptr) return nullptr;
  const bool oversubscribed = strstr(coll_comm_describe(comm), "oversubscribed") != nullptr;
  if (oversubscribed != node.oversubscribed) c.fail(coll_comm_describe(comm));
  return comm;
}

class ManyRanks : public testing::TestWithParam<std::tuple<Node, int>> {
 protected:
  const Node& node() const { return std::get<0>(GetParam()); }
  int ranks() const { return std::get<1>(GetParam()); }
};

inline std::string name_of(const testing::TestParamInfo<std::tuple<Node, int>>& info) {
  return std::string(std::get<0>(info.param).name) + "_" + std::to_string(std::get<1>(info.param));
}

}  // namespace ranks

// Replaces the function of the C library.
extern "C" int sched_getaffinity(pid_t, size_t bytes, cpu_set_t* set) noexcept {
  CPU_ZERO_S(bytes, set);
  for (int cpu = 0; cpu < ranks::processors; cpu++) CPU_SET_S(cpu, bytes, set);
  return 0;
}
