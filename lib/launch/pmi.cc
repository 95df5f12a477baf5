// SPDX-License-Identifier: BSD-3-Clause
// PMI: hydra, the mpiexec of MPICH and Intel MPI, and similar launchers. Rank and size are variables. PMI_FD is a
// socket to the launcher, through which MPI requests the name of the job. libcoll sends nothing there: after a first
// request, hydra ends all ranks when one exits without `finalize`; after `finalize`, hydra answers neither MPI_Init()
// nor any other program that the rank executes. The sockets themselves identify the job: for all ranks of a node, their
// other end is one process, hydra's proxy.
//
// A task of srun --mpi=pmi2 or of Flux has a PMI_FD, too; the variables of Slurm and Flux have precedence there.
#include <sys/socket.h>
#include <sys/stat.h>

#include "launch/job_rank.h"
#include "launch/variables.h"

namespace coll::launch {

namespace {

// Device and inode of the socket whose descriptor a variable contains; "" if there is none.
std::string socket_of(const char* variable) {
  struct stat file {};
  const std::optional<int> descriptor = number_of(variable);
  if (!descriptor || fstat(*descriptor, &file) != 0 || !S_ISSOCK(file.st_mode)) return "";
  return std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino);
}

// Identifies the process that has created the socket; "" if its pid namespace is not visible here.
std::string maker_of(int descriptor) {
  ucred maker{};
  socklen_t bytes = sizeof maker;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &maker, &bytes) != 0 || maker.pid <= 0) return "";
  return "by " + std::to_string(maker.pid);
}

bool find_rank(JobRank& job_rank) {
  if (!number_of("PMI_FD") || !read_rank("PMI_RANK", "PMI_SIZE", job_rank)) return false;
  job_rank.launcher = "mpiexec (PMI)";
  // Each rank has its own socket, which its children inherit.
  const std::string own = socket_of("PMI_FD");
  job_rank.id = "pmi/" + own;
  job_rank.is_cut_off = own.empty();
  // hydra passes a second socket, the same one to all ranks, which also works across pid namespaces.
  std::string job = socket_of("HYDI_CONTROL_FD");
  if (job.empty() && !own.empty()) job = maker_of(*number_of("PMI_FD"));
  job_rank.job = "pmi/" + job;
  // A variable of hydra. Without it, libcoll notices ranks on other nodes only because they never connect.
  const int here = number_of("MPI_LOCALNRANKS").value_or(job_rank.ranks);
  if (job_rank.ranks == 1) return true;
  if (own.empty())
    job_rank.problem = "descriptor " + text_of("PMI_FD") +
                       ", which PMI_FD names and the launcher passes to its ranks, is closed or another file; keep it "
                       "open in what starts this program, or " +
                       explicit_hint;
  else if (here < job_rank.ranks) note_several_nodes(job_rank, here);
  else if (job.empty())
    job_rank.problem = started(job_rank) +
                       ", but it is in another pid namespace, and HYDI_CONTROL_FD, which would name the "
                       "job, is not set; start all ranks in one pid namespace, or " +
                       explicit_hint;
  return true;
}

}  // namespace

const Launcher pmi{{"PMI_RANK", "PMI_FD"}, find_rank, nullptr};

}  // namespace coll::launch
