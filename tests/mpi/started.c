/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that waits in another MPI call advances the collectives that it has started: the argument names the call. Rank 0
   starts a collective and waits in that call for its peers, which reach the call only after the collective is complete.
   With "first" the collective is the first on the communicator, and its start must not wait for the peers either. */
#include <unistd.h>

#include "check.h"

enum { length = 200000, message = 300000 };

static int *in, *out;
static MPI_Win window;

static MPI_Request begin(MPI_Comm comm) {
  MPI_Request request;
  for (int i = 0; i < length; i++) in[i] = world_rank + i, out[i] = -1;
  MPI_Iallreduce(in, out, length, MPI_INT, MPI_SUM, comm, &request);
  return request;
}

static void end(MPI_Request *request) {
  MPI_Wait(request, MPI_STATUS_IGNORE);
  for (int i = 0; i < length; i++) {
    const int expected = world_size * i + world_size * (world_size - 1) / 2;
    CHECK(out[i] == expected, "element %d is %d, not %d", i, out[i], expected);
  }
}

/* Rank 0 waits for the others. */
static void call(const char *name, MPI_Comm comm) {
  static char text[message];
  const int last = world_size - 1;
  if (strcmp(name, "recv") == 0) {
    if (world_rank == last) MPI_Send(text, message, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    if (world_rank == 0) MPI_Recv(text, message, MPI_CHAR, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (strcmp(name, "ssend") == 0) {
    if (world_rank == last) MPI_Recv(text, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (world_rank == 0) MPI_Ssend(text, 1, MPI_CHAR, last, 1, MPI_COMM_WORLD);
  } else if (strcmp(name, "send") == 0) {
    if (world_rank == last) MPI_Recv(text, message, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (world_rank == 0) MPI_Send(text, message, MPI_CHAR, last, 1, MPI_COMM_WORLD);
  } else if (strcmp(name, "probe") == 0) {
    if (world_rank == last) MPI_Send(text, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    if (world_rank == 0) {
      MPI_Probe(last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(text, 1, MPI_CHAR, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  } else if (strcmp(name, "iprobe") == 0) {
    if (world_rank == last) MPI_Send(text, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    for (int there = 0; world_rank == 0 && !there;) MPI_Iprobe(last, 1, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    if (world_rank == 0) MPI_Recv(text, 1, MPI_CHAR, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (strcmp(name, "wait") == 0) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (world_rank == last) MPI_Send(text, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    if (world_rank == 0) MPI_Irecv(text, 1, MPI_CHAR, last, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (strcmp(name, "comm_dup") == 0) {
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_free(&other);
  } else if (strcmp(name, "alltoallw") == 0) {
    int *ones = allocate((size_t)world_size * sizeof *ones), *places = allocate((size_t)world_size * sizeof *places);
    MPI_Datatype *types = allocate((size_t)world_size * sizeof *types);
    for (int i = 0; i < world_size; i++) ones[i] = 1, places[i] = i, types[i] = MPI_CHAR;
    MPI_Alltoallw(text, ones, places, types, text + world_size, ones, places, types, MPI_COMM_WORLD);
    free(ones);
    free(places);
    free(types);
  } else if (strcmp(name, "barrier") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (strcmp(name, "same") == 0) {
    MPI_Barrier(comm);
  } else if (strcmp(name, "win_fence") == 0) {
    MPI_Win_fence(0, window);
  } else {
    CHECK(strcmp(name, "finalize") == 0 || strcmp(name, "comm_free") == 0, "there is no call '%s'", name);
  }
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  CHECK(argc > 1, "the name of a call is missing");
  const char *name = argv[1];
  const int first = argc > 2;
  in = allocate(length * sizeof *in);
  out = allocate(length * sizeof *out);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Win_create(in, sizeof *in, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  /* The blocking one in between may wait until the shim is ready for the others. */
  for (int i = 0; i < 20 && !first; i++) {
    MPI_Request request;
    MPI_Ibarrier(comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (i == 0) MPI_Barrier(comm);
  }
  if (strcmp(name, "finalize") == 0 || strcmp(name, "comm_free") == 0) {
    /* Some rank is done with it, and leaves, while others are not. */
    MPI_Request request = begin(comm);
    if (world_rank == 0) usleep(20000);
    end(&request);
    if (strcmp(name, "comm_free") == 0) MPI_Comm_free(&comm);
    MPI_Win_free(&window);
    return done();
  }
  for (int round = 0; round < 3; round++) {
    MPI_Request request;
    if (first && world_rank != 0 && strcmp(name, "ssend") == 0) {
      /* Before they have started it. */
      call(name, comm);
      request = begin(comm);
      end(&request);
    } else if (world_rank == 0) {
      request = begin(comm);
      call(name, comm);
      end(&request);
    } else {
      usleep(20000);
      request = begin(comm);
      end(&request);
      call(name, comm);
    }
  }
  MPI_Win_free(&window);
  return done();
}
