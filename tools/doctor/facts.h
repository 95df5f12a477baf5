// SPDX-License-Identifier: BSD-3-Clause
// What collctl doctor looks at: what this process may do on this machine, each tried where trying is possible.
#pragma once

#include <cstdint>
#include <string>

#include "transport/kcoll_status.h"

namespace coll::tools {

inline constexpr uint64_t unlimited = UINT64_MAX;

struct Facts {
  std::string user, release;  // of the kernel
  bool root = false;

  transport::KcollStatus kcoll = transport::KcollStatus::absent;       // of opening the device
  bool module_installed = false;                                       // for the running kernel
  std::string device_group;                                            // whose members may open it; "": none but root
  uint64_t memlock_bytes = unlimited, memlock_most_bytes = unlimited;  // now, and what the user may ask for

  // errno of kernel copies from a sibling, as ranks are to each other, and from this process itself.
  int cma_error = 0, cma_self_error = 0;
  int ptrace_scope = -1;  // -1: the kernel has none
  bool seccomp_filter = false;
  bool own_pid_namespace = false, own_user_namespace = false;

  std::string memfd_problem;                  // "": shared memory can be made
  uint64_t shm_bytes = 0;                     // size of /dev/shm; 0: there is none
  std::string huge_pages, shared_huge_pages;  // the chosen words of transparent_hugepage; "": the kernel has none
  int reserved_huge_pages = 0;

  std::string launcher;         // that has started this process; "": none
  int rank = 0, launched = 0;   // as that launcher says; 0 ranks: it does not say
  bool several_nodes = false;   // that launcher's ranks are on
  std::string meeting_problem;  // why its ranks do not meet, tried; "": they do

  int processors = 1, ranks = 1;
  std::string table;         // of the model: the built-in machine that stands in for this one
  std::string measured;      // where the table is that communicators choose by; "": none
  std::string table_remark;  // why a table that is there is not used, or that it is another machine's
};

// ranks 0: one per processor. Forks two processes for a moment. Under a launcher it creates a communicator with the other
// ranks, which gather their facts, too.
Facts gather_facts(int ranks);

}  // namespace coll::tools
