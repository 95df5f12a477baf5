// SPDX-License-Identifier: BSD-3-Clause
// What a launcher says of this process, and what libcoll knows of launchers.
#pragma once

#include <array>
#include <string>

namespace coll::launch {

struct Place {
  std::string launcher;  // as messages name it; "": no launcher has started this process
  int rank = 0, ranks = 1;
  std::string job;   // equal on all ranks of the job, and on no other job that runs on this node at the same time
  std::string path;  // of the socket at which the ranks meet, if the user names one; "": its name follows from `job`
  std::string id;    // of this rank: a process that inherits the rank's variables has it, too, and no other
  bool is_cut_off = false;  // the launcher passes a descriptor to its ranks, and this process does not have it
  bool several_nodes = false;
  std::string problem;  // why the ranks cannot find each other, with the remedy; "": no reason is known

  bool found() const { return !launcher.empty(); }
};

struct Launcher {
  // Two of its variables that together differ between the ranks of a job, and between jobs that start each other.
  std::array<const char*, 2> variables;
  // False when its variables are not there, or are not those of a step: then the launcher has not started this process.
  // Looks at the environment only.
  bool (*find)(Place& place);
  // Asks the launcher for what its variables leave open. Null: nothing.
  void (*ask)(Place& place);
};

extern const Launcher collctl_run, variables_of_libcoll, slurm, flux, pals, torchrun, pmix, pmi, incomplete;

// The innermost launcher that has started this process; null when none has. Place::problem may be set. The launcher is not
// asked yet.
Place find(const Launcher** by);

}  // namespace coll::launch
