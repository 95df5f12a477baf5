/* SPDX-License-Identifier: BSD-3-Clause */
/* dies HOW: the last rank ends while the others wait for it in a collective.
   kill, exit: the launcher ends the job, as it does without the shim.
   handler: the launcher does not end the others; the collective returns an error on them, after calling the communicator's
   error handler.
   fatal: the same with the handler that ends the process. */
#include "check.h"

#include <signal.h>
#include <unistd.h>

static int handled, handled_class;

static void handler(MPI_Comm *comm, int *code, ...) {
  (void)comm;
  MPI_Error_class(*code, &handled_class);
  handled++;
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  const char *how = argc > 1 ? argv[1] : "";
  const int survives = strcmp(how, "handler") == 0;
  if (survives) {
    MPI_Errhandler own;
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
  }
  MPI_Barrier(MPI_COMM_WORLD); /* then non-blocking collectives are served from the first one on */
  int in = 1, out = 0;
  MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(out == world_size, "sum %d", out);
  if (world_rank == world_size - 1) {
    if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
    _exit(strcmp(how, "exit") == 0 ? 3 : 0);
  }
  const int code = MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  int error_class;
  MPI_Error_class(code, &error_class);
  CHECK(survives && code != MPI_SUCCESS, "returned %d", code);
  CHECK(handled == 1 && handled_class == error_class, "handler called %d times, class %d", handled, handled_class);
  printf("passed\n");
  fflush(stdout);
  sleep(1); /* the launcher signals the others when one leaves, and they have to print first */
  _exit(0);
}
