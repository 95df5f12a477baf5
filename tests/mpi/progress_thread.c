/* SPDX-License-Identifier: BSD-3-Clause */
/* COLL_PROGRESS=thread: each collective is complete on rank 1 while rank 0 has called no MPI function since it started
   its part. Rank 0 waits for that with the file descriptor of a pipe that both ranks have open by a name. */
#include "check.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum { elements = 1 << 20, rounds = 20, timeout_ms = 20000 };

static int open_pipe(void) {
  char name[PATH_MAX] = "";
  if (world_rank == 0) {
    const char *directory = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/coll-progress-thread-%ld", directory != NULL ? directory : "/tmp", (long)getpid());
    CHECK(mkfifo(name, 0600) == 0, "mkfifo %s", name);
  }
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  const int descriptor = open(name, O_RDWR);
  CHECK(descriptor >= 0, "open %s", name);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0) unlink(name);
  return descriptor;
}

/* Rank 1 waits for its request, then releases rank 0, which meanwhile stays outside of MPI. */
static void check_that_the_peer_gets_on(int pipe_of_both, MPI_Request *request, const char *what) {
  if (world_rank == 1) {
    MPI_Wait(request, MPI_STATUS_IGNORE);
    CHECK(write(pipe_of_both, "", 1) == 1, "write");
  } else if (world_rank == 0) {
    struct pollfd readable = {.fd = pipe_of_both, .events = POLLIN};
    CHECK(poll(&readable, 1, timeout_ms) == 1, "rank 1 still waits for %s", what);
    char byte;
    CHECK(read(pipe_of_both, &byte, 1) == 1, "read");
  }
  if (world_rank != 1) MPI_Wait(request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "multiple") == 0) {
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    CHECK(level == MPI_THREAD_MULTIPLE, "no MPI_THREAD_MULTIPLE");
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  } else {
    start(&argc, &argv);
  }
  const int pipe_of_both = open_pipe();
  int *in = allocate(elements * sizeof *in), *out = allocate(elements * sizeof *out);
  MPI_Request request;

  /* Until the ranks have agreed about the communicator, starts are forwarded. */
  MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < elements; i++) in[i] = world_rank + i + round, out[i] = 0;
    MPI_Iallreduce(in, out, elements, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    check_that_the_peer_gets_on(pipe_of_both, &request, "MPI_Iallreduce");
    for (int i = 0; i < elements; i++)
      CHECK(out[i] == world_size * (i + round) + world_size * (world_size - 1) / 2, "allreduce: element %d is %d", i,
            out[i]);

    /* Packed by the shim, so a thread of the program has to unpack it. */
    MPI_Datatype every_other;
    MPI_Type_vector(elements / 2, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    const int root = round % 2;
    for (int i = 0; i < elements; i++) out[i] = world_rank == root ? i + round : -1;
    MPI_Ibcast(out, 1, every_other, root, MPI_COMM_WORLD, &request);
    check_that_the_peer_gets_on(pipe_of_both, &request, "MPI_Ibcast");
    for (int i = 0; i < elements; i++)
      CHECK(out[i] == (world_rank == root || i % 2 == 0 ? i + round : -1), "bcast: element %d is %d", i, out[i]);
    MPI_Type_free(&every_other);
  }
  /* The thread sleeps by now, and the end of MPI must end it. */
  MPI_Iallreduce(in, out, elements, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  close(pipe_of_both);
  free(out);
  free(in);
  return done();
}
