/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator whose error handler was never set follows the present one of MPI_COMM_WORLD in MPICH. It does so with
   the shim, too, which looks at communicators and datatypes that may be invalid. */
#include "check.h"

static int handled;

static void handler(MPI_Comm *comm, int *code, ...) {
  (void)comm, (void)code;
  handled++;
}

/* The shim examines the communicator and the datatype. */
static void broadcast_column(void) {
  int matrix[4][4];
  MPI_Comm half;
  MPI_Datatype column;
  for (int i = 0; i < 16; i++) matrix[i / 4][i % 4] = world_rank == 0 ? i : -1;
  MPI_Comm_split(MPI_COMM_WORLD, 0, world_rank, &half);
  MPI_Type_vector(4, 1, 4, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Bcast(matrix, 1, column, 0, half);
  for (int i = 0; i < 4; i++) CHECK(matrix[i][0] == 4 * i, "row %d: %d", i, matrix[i][0]);
  MPI_Type_free(&column);
  MPI_Comm_free(&half);
}

static int class_of_error(MPI_Comm comm) {
  int error_class;
  MPI_Error_class(MPI_Comm_size(comm, NULL), &error_class);
  return error_class;
}

int main(int argc, char **argv) {
  MPI_Comm before, after;
  MPI_Errhandler own;
  start(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &before);
  broadcast_column();
  MPI_Comm_dup(MPI_COMM_WORLD, &after);

  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(class_of_error(before) == MPI_ERR_ARG, "class %d", class_of_error(before));
  CHECK(class_of_error(after) == MPI_ERR_ARG, "class %d", class_of_error(after));

  MPI_Comm_create_errhandler(handler, &own);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
  MPI_Comm_size(before, NULL);
  MPI_Comm_size(after, NULL);
  CHECK(handled == 2, "the handler was called %d times", handled);

  MPI_Errhandler_free(&own);
  MPI_Comm_free(&before);
  MPI_Comm_free(&after);
  return done();
}
