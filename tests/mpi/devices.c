/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers in the memory of a device, whose library (argument 2) is loaded before or after MPI_Init (argument 1). as_device.h
   tests all collectives; this program, what they do not: neighbours, gaps that the program writes meanwhile, managed
   memory, wrong lengths, and copies that fail. Argument 1 may also be "off": then the shim must not ask the library. */
#include "check.h"

#include "gpu_standin.h"

#include <dlfcn.h>

enum { numbers = 600 };

static void *(*allocate_on_device)(size_t), *(*managed)(void);
static void (*free_on_device)(void *), (*move)(void *, const void *, size_t);
static unsigned long (*copies)(void), (*queries)(void);

static void load(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  CHECK(library != NULL, "%s", dlerror());
  *(void **)&allocate_on_device = dlsym(library, "standin_allocate");
  *(void **)&free_on_device = dlsym(library, "standin_free");
  *(void **)&managed = dlsym(library, "standin_managed");
  *(void **)&move = dlsym(library, "standin_copy");
  *(void **)&copies = dlsym(library, "standin_copies");
  *(void **)&queries = dlsym(library, "standin_queries");
  CHECK(allocate_on_device != NULL && queries != NULL, "functions of the library");
}

/* A vector on the device, and what it should contain. */
static int *device, expected[numbers];

static void fill(int first) {
  for (int i = 0; i < numbers; i++) expected[i] = first + i;
  move(device, expected, sizeof expected);
}

static void check(const char *what) {
  int got[numbers];
  move(got, device, sizeof got);
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
    if (i % 10 != 3) expected[i] = -i, move(&device[i], &expected[i], sizeof(int));
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

/* Managed memory is used where it is. */
static void test_managed(void) {
  double *shared = managed();
  const unsigned long before = copies();
  shared[0] = world_rank + 1;
  MPI_Allreduce(MPI_IN_PLACE, shared, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  CHECK(shared[0] == world_size * (world_size + 1) / 2, "managed memory: %g", shared[0]);
  CHECK(copies() == before, "managed memory was copied");
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

int main(int argc, char **argv) {
  int one = 1, sum;
  CHECK(argc == 3, "usage: devices before|after|off LIBRARY");
  if (strcmp(argv[1], "after") != 0) load(argv[2]);
  start(&argc, &argv);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == world_size, "sum %d", sum);
  if (strcmp(argv[1], "after") == 0) load(argv[2]);
  else CHECK((queries() == 0) == (strcmp(argv[1], "off") == 0), "%lu queries", queries());
  if (strcmp(argv[1], "off") == 0) return done();

  device = allocate_on_device(sizeof expected);
  CHECK(device != NULL, "no device memory");
  test_gaps();
  test_neighbors();
  test_managed();
  test_lengths();
  test_failing();
  free_on_device(device);
  return done();
}
