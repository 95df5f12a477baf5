/* SPDX-License-Identifier: BSD-3-Clause */
/* Non-blocking collectives: every function that completes a request, also with requests of MPI, any number in flight,
   communicator, datatype and operation freed while requests are pending. With an argument at MPI_THREAD_MULTIPLE, where the
   shim completes requests differently. */
#include <unistd.h>

#include "check.h"

enum { rounds = 40, in_flight = 300, longest = 50000 };

/* MPICH's header makes the compiler warn of the constant. */
static MPI_Status *ignored(void) {
  static MPI_Status *volatile statuses = MPI_STATUSES_IGNORE;
  return statuses;
}

/* ---- every function that completes a request ------------------------------------------------------------------------------- */

static void complete_by_test(MPI_Request *request) {
  int done = 0;
  while (!done) MPI_Test(request, &done, MPI_STATUS_IGNORE);
}

static void complete_by_get_status(MPI_Request *request) {
  MPI_Status status;
  int done = 0, cancelled = 1;
  while (!done) MPI_Request_get_status(*request, &done, &status);
  CHECK(*request != MPI_REQUEST_NULL, "MPI_Request_get_status has freed the request");
  MPI_Wait(request, &status);
  MPI_Test_cancelled(&status, &cancelled);
  CHECK(!cancelled, "the status says cancelled");
}

static void complete_through_fortran(MPI_Request *request) {
  MPI_Fint number = MPI_Request_c2f(*request);
  MPI_Request again = MPI_Request_f2c(number);
  MPI_Wait(&again, MPI_STATUS_IGNORE);
  CHECK(again == MPI_REQUEST_NULL, "the request is not null");
  *request = MPI_REQUEST_NULL;
}

/* Among messages to this rank itself, and null requests. */
static void complete_in_array(MPI_Request *request, int how) {
  int in[2] = {-1, -1}, out[2] = {3, 4};
  MPI_Request all[6] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, *request,
                        MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[6];
  MPI_Irecv(&in[0], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &all[0]);
  MPI_Irecv(&in[1], 1, MPI_INT, 0, 2, MPI_COMM_SELF, &all[4]);
  MPI_Isend(&out[0], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &all[1]);
  MPI_Isend(&out[1], 1, MPI_INT, 0, 2, MPI_COMM_SELF, &all[5]);
  int left = 5, done = 0, which = -1, some = 0, places[6];
  switch (how) {
    case 0: MPI_Waitall(6, all, statuses); break;
    case 1: MPI_Waitall(6, all, ignored()); break;
    case 2:
      while (!done) MPI_Testall(6, all, &done, statuses);
      break;
    case 3:
      for (; left > 0; left--) {
        MPI_Waitany(6, all, &which, statuses);
        CHECK(which >= 0 && which != 3 && all[which] == MPI_REQUEST_NULL, "MPI_Waitany says %d", which);
      }
      break;
    case 4:
      while (left > 0) {
        MPI_Testany(6, all, &which, &done, statuses);
        if (done) left--;
      }
      break;
    case 5:
      while (left > 0) {
        MPI_Waitsome(6, all, &some, places, statuses);
        CHECK(some > 0, "MPI_Waitsome says %d", some);
        left -= some;
      }
      break;
    default:
      while (left > 0) {
        MPI_Testsome(6, all, &some, places, statuses);
        left -= some;
      }
  }
  for (int i = 0; i < 6; i++) CHECK(all[i] == MPI_REQUEST_NULL, "way %d: request %d is not null", how, i);
  CHECK(in[0] == 3 && in[1] == 4, "way %d: the messages hold %d and %d", how, in[0], in[1]);
  *request = MPI_REQUEST_NULL;
}

static void complete(MPI_Request *request, int how) {
  switch (how % 11) {
    case 0: MPI_Wait(request, MPI_STATUS_IGNORE); break;
    case 1: complete_by_test(request); break;
    case 2: complete_by_get_status(request); break;
    case 3: complete_through_fortran(request); break;
    default: complete_in_array(request, how % 11 - 4);
  }
}

static void check_completions(MPI_Comm comm) {
  for (int round = 0; round < 11 * 4; round++) {
    const int length = round % 3 == 0 ? 1 : round % 3 == 1 ? 700 : longest;
    int *in = allocate((size_t)length * sizeof *in), *out = allocate((size_t)length * sizeof *out);
    for (int i = 0; i < length; i++) in[i] = world_rank + i + round, out[i] = -1;
    MPI_Request request;
    MPI_Iallreduce(in, out, length, MPI_INT, MPI_SUM, comm, &request);
    complete(&request, round);
    for (int i = 0; i < length; i++) {
      const int expected = world_size * (i + round) + world_size * (world_size - 1) / 2;
      CHECK(out[i] == expected, "way %d: element %d of %d is %d, not %d", round % 11, i, length, out[i], expected);
    }
    free(in);
    free(out);
  }
}

/* ---- many, in another order at each rank ---------------------------------------------------------------------------- */

static void check_many(MPI_Comm comm) {
  static int in[in_flight][8], out[in_flight][8];
  MPI_Request requests[in_flight];
  for (int i = 0; i < in_flight; i++) {
    for (int j = 0; j < 8; j++) in[i][j] = i + j + world_rank, out[i][j] = -1;
    switch (i % 3) {
      case 0: MPI_Iallreduce(in[i], out[i], 8, MPI_INT, MPI_MAX, comm, &requests[i]); break;
      case 1:
        memcpy(out[i], in[i], sizeof in[i]);
        MPI_Ibcast(out[i], 8, MPI_INT, world_size - 1, comm, &requests[i]);
        break;
      default: MPI_Ibarrier(comm, &requests[i]);
    }
    /* A blocking one in between. */
    if (i % 100 == 50) MPI_Barrier(comm);
  }
  for (int i = 0; i < in_flight; i++)
    MPI_Wait(&requests[world_rank % 2 == 0 ? i : in_flight - 1 - i], MPI_STATUS_IGNORE);
  for (int i = 0; i < in_flight; i++)
    for (int j = 0; j < 8 && i % 3 != 2; j++)
      CHECK(out[i][j] == i + j + world_size - 1, "request %d: element %d is %d", i, j, out[i][j]);
}

/* ---- objects that are freed while requests are pending ------------------------------------------------------------------------ */

static void add_squares(void *in, void *inout, int *length, MPI_Datatype *type) {
  CHECK(*type == MPI_LONG, "the operation is called with another datatype");
  for (int i = 0; i < *length; i++) ((long *)inout)[i] += ((long *)in)[i];
}

static void check_freed(void) {
  for (int round = 0; round < rounds; round++) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    /* Open MPI 4.1 crashes when a communicator is freed before its own non-blocking collectives are complete: the shim has
       to be ready for it, either because the first collective is blocking, or by then. */
    for (int warm = 0; warm < 8; warm++) {
      int one = 1, sum = 0;
      MPI_Request request;
      if (warm % 2 == round % 2) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
      else MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(sum == world_size, "round %d: the sum is %d", round, sum);
    }
    enum { length = 300 };
    int *columns = allocate(2 * length * sizeof *columns);
    int *gathered = allocate((size_t)world_size * 2 * length * sizeof *gathered);
    long *terms = allocate(length * sizeof *terms), *sums = allocate(length * sizeof *sums);
    for (int i = 0; i < 2 * length; i++) columns[i] = i % 2 == 0 ? world_rank * 1000 + i : -7;
    for (int i = 0; i < world_size * 2 * length; i++) gathered[i] = -9;
    for (int i = 0; i < length; i++) terms[i] = world_rank + i, sums[i] = -1;
    MPI_Datatype every_second, resized;
    MPI_Type_vector(length, 1, 2, MPI_INT, &every_second);
    MPI_Type_create_resized(every_second, 0, 2 * length * (MPI_Aint)sizeof(int), &resized);
    MPI_Type_commit(&resized);
    MPI_Type_free(&every_second);
    MPI_Op op;
    MPI_Op_create(add_squares, round % 2, &op);
    MPI_Request requests[3];
    MPI_Iallgather(columns, 1, resized, gathered, 1, resized, comm, &requests[0]);
    MPI_Iallreduce(terms, sums, length, MPI_LONG, op, comm, &requests[1]);
    MPI_Ibarrier(comm, &requests[2]);
    MPI_Type_free(&resized);
    MPI_Op_free(&op);
    MPI_Comm_free(&comm);
    MPI_Waitall(3, requests, ignored());
    for (int i = 0; i < world_size * 2 * length; i++) {
      const int expected = i % 2 == 0 ? i / (2 * length) * 1000 + i % (2 * length) : -9;
      CHECK(gathered[i] == expected, "round %d: element %d is %d, not %d", round, i, gathered[i], expected);
    }
    for (int i = 0; i < length; i++)
      CHECK(sums[i] == (long)world_size * i + world_size * (world_size - 1) / 2, "round %d: sum %d is %ld", round, i,
            sums[i]);
    free(columns);
    free(gathered);
    free(terms);
    free(sums);
  }
}

/* Freed at once behind its only collective, which its root has completed before the others start it. */
static void check_short_lived(void) {
  for (int round = 0; round < rounds; round++) {
    MPI_Comm comm;
    int word = world_rank == 0 ? round : -1;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (world_rank != 0 && round % 4 == 0) usleep(2000);
    MPI_Ibcast(&word, 1, MPI_INT, 0, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(word == round, "round %d: the word is %d", round, word);
    MPI_Comm_free(&comm);
  }
}

/* More communicators at once than the shim prepares in the background, in another order at each rank. */
static void check_many_communicators(void) {
  enum { many = 40 };
  MPI_Comm comms[many];
  MPI_Request requests[many];
  int in = world_rank, out[many];
  for (int i = 0; i < many; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < many; i++) {
    const int which = world_rank % 2 == 0 ? i : many - 1 - i;
    MPI_Iallreduce(&in, &out[which], 1, MPI_INT, MPI_MAX, comms[which], &requests[which]);
  }
  for (int i = 0; i < many; i++) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  for (int i = 0; i < many; i++) {
    CHECK(out[i] == world_size - 1, "communicator %d: the largest rank is %d", i, out[i]);
    MPI_Allreduce(&in, &out[i], 1, MPI_INT, MPI_MIN, comms[i]);
    CHECK(out[i] == 0, "communicator %d: the smallest rank is %d", i, out[i]);
    MPI_Comm_free(&comms[i]);
  }
}

/* Rank 0 starts a collective before a barrier, the others after it. MPI forbids it, and its libraries do it. `starts`: that
   the communicator has had before, so that the ranks agree to use libcoll earlier or later. */
static void check_other_order(int starts) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < starts + rounds; i++) {
    int in = world_rank + i, out = -1;
    MPI_Request request;
    if (i >= starts && world_rank != 0) MPI_Barrier(comm);
    MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_MIN, comm, &request);
    if (i >= starts && world_rank == 0) MPI_Barrier(comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(out == i, "start %d: the smallest is %d", i, out);
  }
  MPI_Comm_free(&comm);
}

/* MPI forbids to cancel them; the request completes all the same. */
static void check_cancel(MPI_Comm comm) {
  int in = world_rank, out = -1;
  MPI_Request request;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_MAX, comm, &request);
  CHECK(MPI_Cancel(&request) != MPI_SUCCESS, "a collective was cancelled");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(out == world_size - 1, "the largest rank is %d", out);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv) {
  if (argc > 1) {
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    CHECK(level == MPI_THREAD_MULTIPLE, "no MPI_THREAD_MULTIPLE");
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  } else {
    start(&argc, &argv);
  }
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  check_completions(comm);
  check_many(comm);
  check_freed();
  check_short_lived();
  check_many_communicators();
  for (int starts = 1; starts < 10; starts++) check_other_order(starts);
  check_cancel(comm);
  /* Communicators on which the first collective is blocking, and others of one rank. */
  MPI_Barrier(MPI_COMM_WORLD);
  check_completions(MPI_COMM_WORLD);
  check_many(MPI_COMM_WORLD);
  int in = 5, out = 0;
  MPI_Request request;
  MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(out == 5, "alone the sum is %d", out);
  MPI_Comm_free(&comm);
  return done();
}
