/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers in the memory of a device, whose library (argument 2) is loaded before or after MPI_Init (argument 1). as_device.h
   tests all collectives; this program, what they do not: neighbours, gaps that the program writes meanwhile, managed
   memory, wrong lengths, and copies that fail. Argument 1 may also be "off": then the shim must not ask the library. */
#include "check.h"

#include "gpu.h"

enum { numbers = 600 };

/* A vector on the device, and what it should contain. */
static int *device, expected[numbers];

static void fill(int first) {
  for (int i = 0; i < numbers; i++) expected[i] = first + i;
  gpu.copy(device, expected, sizeof expected);
}

static void check(const char *what) {
  int got[numbers];
  gpu.copy(got, device, sizeof got);
  for (int i = 0; i < numbers; i++)
    CHECK(got[i] == expected[i], "%s: %d at %d, expected %d", what, got[i], i, expected[i]);
}

/* A column of a matrix arrives, while the rest of the matrix changes on the device. */
static void test_gaps(void) {
  MPI_Datatype column;
  MPI_Request request;
  MPI_Type_vector(numbers / 10, 1, 10, MPI_INT, &column);
  MPI_Type_commit(&column);
  fill(1000 * world_rank);
  MPI_Ibcast(device + 3, 1, column, 0, MPI_COMM_WORLD, &request);
  MPI_Type_free(&column);
  for (int i = 0; i < numbers; i++)
    if (i % 10 != 3) expected[i] = -i, gpu.copy(&device[i], &expected[i], sizeof(int));
    else expected[i] = i;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check("gaps");
}

static void test_neighbors(void) {
  MPI_Comm ring;
  const int left = (world_rank + world_size - 1) % world_size, right = (world_rank + 1) % world_size;
  int sends[2] = {100, 50}, receives[2] = {50, 100};
  int send_displs[2] = {0, 200}, receive_displs[2] = {400, 500};
  int peers[2] = {left, right}, weights[2] = {1, 1};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, peers, weights, 2, peers, weights, MPI_INFO_NULL, 0, &ring);
  /* What goes to the left arrives from the right. */
  fill(1000 * world_rank);
  MPI_Neighbor_alltoallv(device, sends, send_displs, MPI_INT, device, receives, receive_displs, MPI_INT, ring);
  for (int i = 0; i < 50; i++) expected[400 + i] = 1000 * left + 200 + i;
  for (int i = 0; i < 100; i++) expected[500 + i] = 1000 * right + i;
  check("neighbours");
  MPI_Comm_free(&ring);
}

/* Memory that device and processor can access is used where it is; also when the kernel reads it for a peer. */
static void test_shared(double *shared, const char *kind) {
  const int count = (int)(GPU_MANAGED_BYTES / sizeof *shared) / world_size;
  const unsigned long before = gpu.copies != NULL ? gpu.copies() : 0;
  shared[0] = world_rank + 1;
  MPI_Allreduce(MPI_IN_PLACE, shared, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  CHECK(shared[0] == world_size * (world_size + 1) / 2, "%s memory: %g", kind, shared[0]);
  for (int i = 0; i < count; i++) shared[(size_t)world_rank * count + i] = 1000 * world_rank + i;
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, shared, count, MPI_DOUBLE, MPI_COMM_WORLD);
  for (int i = 0; i < count * world_size; i++)
    CHECK(shared[i] == 1000 * (i / count) + i % count, "%s memory: %g at %d", kind, shared[i], i);
  CHECK(gpu.copies == NULL || gpu.copies() == before, "%s memory was copied", kind);
}

/* The root receives less than is sent: the data that fits, and an error. */
static void test_lengths(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  fill(1000 * world_rank);
  int sent[2] = {world_rank, world_rank + 1};
  const int code = MPI_Gather(sent, 2, MPI_INT, device, world_rank == 0 ? 1 : 0, MPI_INT, 0, MPI_COMM_WORLD);
  CHECK((code != MPI_SUCCESS) == (world_rank == 0), "lengths: %d", code);
  if (world_rank == 0)
    for (int i = 0; i < world_size; i++) expected[i] = i;
  check("lengths");
}

static void test_failing(void) {
  fill(0);
  setenv("STANDIN_FAILS", "1", 1);
  CHECK(MPI_Allreduce(MPI_IN_PLACE, device, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS, "no error");
  unsetenv("STANDIN_FAILS");
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_Allreduce(MPI_IN_PLACE, device, 5, MPI_INT, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS, "an error remains");
  check("after a failure");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void load(const char *path) {
  const char *fault = gpu_load(path);
  CHECK(fault == NULL, "%s", fault);
}

int main(int argc, char **argv) {
  int one = 1, sum;
  CHECK(argc == 3, "usage: devices before|after|off LIBRARY");
  if (strcmp(argv[1], "after") != 0) load(argv[2]);
  start(&argc, &argv);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == world_size, "sum %d", sum);
  if (strcmp(argv[1], "after") == 0) load(argv[2]);
  else if (gpu.queries != NULL)
    CHECK((gpu.queries() == 0) == (strcmp(argv[1], "off") == 0), "%lu queries", gpu.queries());
  if (strcmp(argv[1], "off") == 0) return done();

  device = gpu.allocate(sizeof expected);
  CHECK(device != NULL, "no device memory");
  test_gaps();
  test_neighbors();
  if (gpu.managed() != NULL) test_shared(gpu.managed(), "managed");
  double *pinned = gpu.pinned(GPU_MANAGED_BYTES);
  test_shared(pinned, "pinned");
  gpu.unpin(pinned);
  test_lengths();
  if (gpu.copies != NULL) test_failing();
  gpu.free(device);
  return done();
}
