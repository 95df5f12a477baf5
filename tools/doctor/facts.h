// SPDX-License-Identifier: BSD-3-Clause
// The facts that collctl doctor checks: what this process may do on this machine, by trying it where possible.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/common/kernel_settings.h"
#include "transport/kcoll_status.h"

namespace coll::tools {

struct Facts : KernelSettings {
  std::string user;
  bool root = false;

  transport::KcollStatus kcoll = transport::KcollStatus::absent;  // of opening the device
  bool module_installed = false;                                  // for the running kernel
  std::string device_group;                                       // its members may open the device; "": only root may

  // errno of a CMA copy from a sibling process, as between ranks, and from this process itself.
  int cma_error = 0, cma_self_error = 0;
  bool seccomp_filter = false;
  bool own_pid_namespace = false, own_user_namespace = false;

  std::string memfd_problem;  // "": shared memory works
  int memfd_error = 0;        // its errno
  uint64_t shm_bytes = 0;     // size of /dev/shm; 0: there is none

  std::vector<std::string> settings;  // "NAME (source)" of each variable of libcoll that is set
  std::string settings_problem;       // the error about one of them; "": none
  std::vector<std::string> misspelt;  // "NAME (did you mean OTHER?)" of each variable that libcoll does not know

  std::string launcher;         // that started this process; "": none
  int rank = 0, launched = 0;   // as reported by the launcher; 0 ranks: it does not report them
  bool several_nodes = false;   // the ranks of that launcher are on several nodes
  std::string meeting_problem;  // why the ranks could not meet; "": they did

  int processors = 1, ranks = 1;
  std::string table;         // built-in table of the model for this machine
  std::string measured;      // table from which communicators choose; "": none
  std::string table_remark;  // why an existing table is not used, or that it is another machine's
};

// ranks 0: one per processor. Forks two short-lived processes. Under a launcher, it creates a communicator with the
// other ranks, which must call this function, too.
Facts gather_facts(int ranks);

}  // namespace coll::tools
