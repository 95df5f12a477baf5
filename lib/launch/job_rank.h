// SPDX-License-Identifier: BSD-3-Clause
// The rank of this process in a job, as its launcher reports it, and the interface of a launcher.
#pragma once

#include <array>
#include <string>

namespace coll::launch {

struct JobRank {
  std::string launcher;  // its name in messages; "": no launcher has started this process
  int rank = 0, ranks = 1;
  std::string job;   // name of the job, unique among the jobs that run on this node at the same time
  std::string path;  // of the bootstrap socket, if the user names one; "": its name is derived from `job`
  std::string id;    // of this rank; a process that inherits the rank's variables has the same id, no other process has
  bool is_cut_off = false;  // the launcher passes a descriptor to its ranks, but it is not open in this process
  bool several_nodes = false;
  std::string problem;  // why the ranks cannot find each other, with a fix; "": no problem is known

  bool found() const { return !launcher.empty(); }
};

struct Launcher {
  // Two of its variables whose combination differs between the ranks of a job, and between nested jobs.
  std::array<const char*, 2> variables;
  // Fills `job_rank` from the environment only. Returns false if the launcher has not started this process: its
  // variables are missing, or are not those of a rank.
  bool (*find)(JobRank& job_rank);
  // Queries the launcher for what its variables do not contain. Null: there is nothing to query.
  void (*ask)(JobRank& job_rank);
};

extern const Launcher collctl_run, variables_of_libcoll, slurm, flux, pals, torchrun, pmix, pmi, incomplete;

// Returns the rank of this process in its job and sets *by to the innermost launcher that has started it, or to null if none has.
// JobRank::problem may be set. It does not call Launcher::ask().
JobRank find(const Launcher** by);

}  // namespace coll::launch
