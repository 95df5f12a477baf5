/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong arguments under MPI_ERRORS_RETURN and under a handler of the program. Prints the returned errors; the
   runner compares the lines with those of a run without the shim. */
#include "check.h"

/* Lines of several ranks would be interleaved: rank 0 prints all of them at the end. */
static char text[1 << 14];
static size_t length;

static void note(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  length += (size_t)vsnprintf(text + length, sizeof text - length, format, arguments);
  va_end(arguments);
  CHECK(length < sizeof text, "too much to say");
}

static void print_notes(void) {
  if (world_rank != 0) {
    MPI_Send(text, (int)sizeof text, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    return;
  }
  printf("%s", text);
  for (int rank = 1; rank < world_size; rank++) {
    MPI_Recv(text, (int)sizeof text, MPI_CHAR, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%s", text);
  }
}

static int handled;

static void handler(MPI_Comm *comm, int *code, ...) {
  (void)comm, (void)code;
  handled++;
}

static MPI_Comm comm;

static void report(const char *what, int code) {
  int error_class;
  MPI_Error_class(code, &error_class);
  note("rank %d: %s: class %d, handler called %d times\n", world_rank, what, error_class, handled);
}

static void nothing(void *in, void *inout, int *length, MPI_Datatype *type) {
  (void)in, (void)inout, (void)length, (void)type;
}

/* Returns 0 for other libraries. */
static int release_of_mpich(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length, release = 0;
  MPI_Get_library_version(version, &length);
  return sscanf(version, "MPICH Version: %d", &release) == 1 ? release : 0;
}

/* Reductions of MPICH 5 crash by themselves without one. */
static int needs_datatypes(void) { return release_of_mpich() == 5; }

/* MPICH reports them at the root before it communicates, so the peers' call belongs to the root's next one. Open MPI takes
   them to mean in place. */
static void equal_buffers(void) {
  int in = world_rank + 1, out = 0;
  if (release_of_mpich() == 0) return;
  if (world_rank == 0) report("reduce, equal buffers", MPI_Reduce(&in, &in, 1, MPI_INT, MPI_SUM, 0, comm));
  report("reduce", MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, 0, comm));
  if (world_rank == 0) CHECK(out == world_size * (world_size + 1) / 2, "sum %d", out);
}

static void wrong_arguments(void) {
  int in[4] = {1, 2, 3, 4}, out[4];
  MPI_Datatype uncommitted;
  MPI_Type_contiguous(2, MPI_INT, &uncommitted);
  report("bcast, root too large", MPI_Bcast(in, 4, MPI_INT, world_size, comm));
  report("bcast, root negative", MPI_Bcast(in, 4, MPI_INT, -5, comm));
  report("bcast, count negative", MPI_Bcast(in, -1, MPI_INT, 0, comm));
  report("bcast, no datatype", MPI_Bcast(in, 4, MPI_DATATYPE_NULL, 0, comm));
  report("bcast, datatype not committed", MPI_Bcast(in, 2, uncommitted, 0, comm));
  report("reduce, root too large", MPI_Reduce(in, out, 4, MPI_INT, MPI_SUM, world_size + 3, comm));
  if (!needs_datatypes()) report("reduce, no datatype", MPI_Reduce(in, out, 4, MPI_DATATYPE_NULL, MPI_SUM, 0, comm));
  report("reduce, no operation", MPI_Reduce(in, out, 4, MPI_INT, MPI_OP_NULL, 0, comm));
  if (!needs_datatypes()) report("allreduce, no datatype", MPI_Allreduce(in, out, 4, MPI_DATATYPE_NULL, MPI_SUM, comm));
  report("allreduce, no operation", MPI_Allreduce(in, out, 4, MPI_INT, MPI_OP_NULL, comm));
  report("allreduce, bits of doubles", MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_BAND, comm));
  report("allreduce, least complex", MPI_Allreduce(in, out, 1, MPI_C_FLOAT_COMPLEX, MPI_MIN, comm));
  report("allreduce, place of an int", MPI_Allreduce(in, out, 4, MPI_INT, MPI_MAXLOC, comm));
  report("allreduce, into MPI_IN_PLACE", MPI_Allreduce(in, MPI_IN_PLACE, 4, MPI_INT, MPI_SUM, comm));
#ifdef OPEN_MPI /* MPICH 4.0 crashes in these by itself */
  report("reduce, count negative", MPI_Reduce(in, out, -4, MPI_INT, MPI_SUM, 0, comm));
  report("allreduce, count negative", MPI_Allreduce(in, out, -4, MPI_INT, MPI_SUM, comm));
#endif
  MPI_Type_free(&uncommitted);
}

/* Blocks of 4 integers for each rank. */
static void wrong_blocks(void) {
  int in[64] = {1, 2, 3, 4}, out[64];
  int counts[16], displs[16], negative[16];
  for (int r = 0; r < world_size; r++) counts[r] = 4, displs[r] = 4 * r, negative[r] = -1;
  const MPI_Datatype none = MPI_DATATYPE_NULL, type = MPI_INT;
  report("gather, root too large", MPI_Gather(in, 4, type, out, 4, type, world_size, comm));
  report("gather, no datatype", MPI_Gather(in, 4, none, out, 4, none, 0, comm));
  report("gather, count negative", MPI_Gather(in, -4, type, out, -4, type, 0, comm));
  report("gatherv, root negative", MPI_Gatherv(in, 4, type, out, counts, displs, type, -7, comm));
  report("scatter, root too large", MPI_Scatter(in, 4, type, out, 4, type, world_size, comm));
  report("scatter, count negative", MPI_Scatter(in, -4, type, out, -4, type, 0, comm));
  report("scatterv, root too large", MPI_Scatterv(in, counts, displs, type, out, 4, type, world_size, comm));
  report("allgather, no datatype", MPI_Allgather(in, 4, none, out, 4, none, comm));
  report("allgather, count negative", MPI_Allgather(in, -4, type, out, -4, type, comm));
  report("allgatherv, counts negative", MPI_Allgatherv(in, -1, type, out, negative, displs, type, comm));
  report("alltoall, count negative", MPI_Alltoall(in, -4, type, out, -4, type, comm));
  report("alltoall, no datatype", MPI_Alltoall(in, 4, none, out, 4, none, comm));
  report("alltoallv, counts negative", MPI_Alltoallv(in, negative, displs, type, out, negative, displs, type, comm));
  report("scan, no operation", MPI_Scan(in, out, 4, type, MPI_OP_NULL, comm));
  report("exscan, bits of doubles", MPI_Exscan(in, out, 1, MPI_DOUBLE, MPI_BAND, comm));
  if (!needs_datatypes())
    report("reduce_scatter, no datatype", MPI_Reduce_scatter(in, out, counts, none, MPI_SUM, comm));
  report("reduce_scatter, no operation", MPI_Reduce_scatter(in, out, counts, type, MPI_OP_NULL, comm));
  report("reduce_scatter_block, no operation", MPI_Reduce_scatter_block(in, out, 4, type, MPI_OP_NULL, comm));
}

/* Rank 0 sends more or less than the others take, or takes less than they send. */
static void wrong_lengths(void) {
  int in[64] = {0}, out[64];
  const int more = world_rank == 0 ? 8 : 2, less = world_rank == 0 ? 2 : 8;
  report("bcast, too long", MPI_Bcast(in, more, MPI_INT, 0, comm));
  report("bcast, short", MPI_Bcast(in, less, MPI_INT, 0, comm));
  report("reduce, too long", MPI_Reduce(in, out, less, MPI_INT, MPI_SUM, 0, comm));
  report("gather, too long", MPI_Gather(in, less, MPI_INT, out, less, MPI_INT, 0, comm));
  report("scatter, too long", MPI_Scatter(in, more, MPI_INT, out, more, MPI_INT, 0, comm));
}

static void no_communicator(void) {
  int in = 1, out;
  report("no communicator: barrier", MPI_Barrier(MPI_COMM_NULL));
  report("no communicator: bcast", MPI_Bcast(&in, 1, MPI_INT, 0, MPI_COMM_NULL));
  report("no communicator: reduce", MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_NULL));
  report("no communicator: allreduce", MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL));
}

static void wrong_operations(void) {
  MPI_Op op = MPI_OP_NULL;
  report("free no operation", MPI_Op_free(&op));
  op = MPI_SUM;
  report("free a predefined operation", MPI_Op_free(&op));
  report("make an operation", MPI_Op_create(nothing, 1, &op));
  report("free it", MPI_Op_free(&op));
}

static void right_calls(void) {
  int in = world_rank, out = -1;
  report("right: allreduce", MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm));
  note("rank %d: sum %d\n", world_rank, out);
  report("right: barrier", MPI_Barrier(comm));
}

/* The freed communicator is used in the first collective, when the shim creates its own communicators: none of them may
   get this handle. Open MPI reads the freed object. */
static void freed_communicator(void) {
#ifdef MPICH
  MPI_Comm freed, copy;
  MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &freed);
  copy = freed;
  MPI_Comm_free(&freed);
  report("barrier on a freed communicator", MPI_Barrier(copy));
#endif
}

int main(int argc, char **argv) {
  MPI_Errhandler own;
  start(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  freed_communicator();
  no_communicator();
  wrong_operations();

  /* Wrong calls first: they must not cause any collective communication. */
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  wrong_arguments();
  equal_buffers();
  right_calls();
  wrong_arguments();
  equal_buffers();
  wrong_blocks();
  right_calls();
  /* Over several nodes ranks would wait without end for data that the rank with the error no longer sends. */
  if (argc > 1 && strcmp(argv[1], "lengths") == 0) wrong_lengths();
  right_calls();
  MPI_Comm_free(&comm);

  MPI_Comm_create_errhandler(handler, &own);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, own);
  right_calls();
  wrong_arguments();
  equal_buffers();
  right_calls();
  MPI_Comm_free(&comm);
  MPI_Errhandler_free(&own);
  print_notes();
  return done();
}
