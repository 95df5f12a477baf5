/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "ranks.h"

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int rank_from_environment(int *ranks) {
  static const char *const names[][2] = {{"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
                                         {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *rank = getenv(names[i][0]), *count = getenv(names[i][1]);
    if (rank && count) {
      *ranks = atoi(count);
      return atoi(rank);
    }
  }
  return -1;
}

/* The others open the memfd through /proc, so that no file is ever left in /dev/shm. */
void *open_shared_memory(int rank, size_t bytes) {
  int where[2] = {(int)getpid(), -1};
  if (rank == 0) {
    where[1] = memfd_create("lockstep", MFD_CLOEXEC);
    if (where[1] >= 0 && ftruncate(where[1], (off_t)bytes) != 0) where[1] = -1;
  }
  MPI_Bcast(where, 2, MPI_INT, 0, MPI_COMM_WORLD);
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", where[0], where[1]);
  int fd = rank == 0 ? where[1] : open(path, O_RDWR | O_CLOEXEC);
  void *at = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  int ok = at != MAP_FAILED, all_ok = 0;
  if (!ok) fprintf(stderr, "rank %d cannot share %s: all ranks must run on one node, in one container\n", rank, path);
  MPI_Allreduce(&ok, &all_ok, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (fd >= 0) close(fd);
  if (!all_ok && ok) munmap(at, bytes);
  return all_ok ? at : NULL;
}

struct lockstep *open_lockstep(int rank, int ranks, int spin) {
  void *segment = open_shared_memory(rank, lockstep_segment_bytes());
  if (segment) madvise(segment, lockstep_segment_bytes(), MADV_POPULATE_WRITE);
  struct lockstep *step = segment ? lockstep_attach(segment, rank, ranks, spin) : NULL;
  int ok = step != NULL, all_ok = 0;
  MPI_Allreduce(&ok, &all_ok, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!all_ok && step) lockstep_close(step);
  return all_ok ? step : NULL;
}
