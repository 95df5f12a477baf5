/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_THREAD_MULTIPLE: each thread has a communicator of its own, frees it and makes another. */
#include "check.h"

#include <pthread.h>

enum { threads = 3, rounds = 8, calls = 40 };

static void add(void *in, void *inout, int *length, MPI_Datatype *type) {
  CHECK(*type == MPI_INT || *type == MPI_LONG, "the operation was given another thread's datatype");
  for (int i = 0; i < *length; i++)
    if (*type == MPI_INT) ((int *)inout)[i] += ((int *)in)[i];
    else ((long *)inout)[i] += ((long *)in)[i];
}

static MPI_Comm parents[threads];
static MPI_Op shared_op;

static void *work(void *argument) {
  const int me = (int)(size_t)argument;
  for (int round = 0; round < rounds; round++) {
    MPI_Comm comm;
    MPI_Comm_dup(parents[me], &comm);
    for (int call = 0; call < calls; call++) {
      const int root = call % world_size, expected = world_size * (world_size - 1) / 2 + world_size * me;
      int word = world_rank == root ? me * 1000 + call : -1;
      MPI_Bcast(&word, 1, MPI_INT, root, comm);
      CHECK(word == me * 1000 + call, "thread %d: broadcast of another thread: %d", me, word);
      if (me % 2) {
        int mine[9], sum[9];
        for (int i = 0; i < 9; i++) mine[i] = world_rank + me;
        MPI_Allreduce(mine, sum, 9, MPI_INT, call % 2 ? shared_op : MPI_SUM, comm);
        CHECK(sum[8] == expected, "thread %d: sum %d, not %d", me, sum[8], expected);
      } else {
        long mine[9], sum[9];
        for (int i = 0; i < 9; i++) mine[i] = world_rank + me;
        MPI_Allreduce(mine, sum, 9, MPI_LONG, call % 2 ? shared_op : MPI_SUM, comm);
        CHECK(sum[8] == expected, "thread %d: sum %ld, not %d", me, sum[8], expected);
      }
      MPI_Barrier(comm);
    }
    MPI_Comm_free(&comm);
  }
  return NULL;
}

int main(int argc, char **argv) {
  int provided;
  pthread_t handles[threads];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  if (provided < MPI_THREAD_MULTIPLE) {
    if (world_rank == 0) printf("skipped: this MPI library offers no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return 0;
  }
  MPI_Op_create(add, 1, &shared_op);
  for (int i = 0; i < threads; i++) MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]);
  for (int i = 0; i < threads; i++) CHECK(pthread_create(&handles[i], NULL, work, (void *)(size_t)i) == 0, "no thread");
  for (int i = 0; i < threads; i++) pthread_join(handles[i], NULL);
  for (int i = 0; i < threads; i++) MPI_Comm_free(&parents[i]);
  MPI_Op_free(&shared_op);
  return done();
}
