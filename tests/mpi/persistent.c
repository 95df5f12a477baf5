/* SPDX-License-Identifier: BSD-3-Clause */
/* Persistent collectives beyond what as_persistent.h does: started again and again, with other data and in other orders at each
   rank; arrays with MPI's own requests; communicator, datatype and operation freed while a request lives; requests that
   are freed without a start, or while they are active. */
#include "persistent.h"

#include "check.h"

enum { rounds = 50, several = 5, length = 3000 };

static MPI_Request make_sum(const int *in, int *out, int count, MPI_Comm comm) {
  MPI_Request request;
  INIT(Allreduce)(in, out, count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
  CHECK(request != MPI_REQUEST_NULL, "the request is null");
  return request;
}

static void check_sum(const int *out, int count, int base, const char *what) {
  const int ranks = world_size * (world_size - 1) / 2;
  for (int i = 0; i < count; i++)
    CHECK(out[i] == world_size * (base + i) + ranks, "%s: element %d is %d, not %d", what, i, out[i],
          world_size * (base + i) + ranks);
}

static void check_again(MPI_Comm comm) {
  static int in[length], out[length];
  MPI_Request request = make_sum(in, out, length, comm);
  const MPI_Request made = request;
  for (int round = 0; round < rounds; round++) {
    MPI_Status status;
    int done = 0, count = -1;
    /* An inactive request is complete. */
    MPI_Test(&request, &done, &status);
    CHECK(done && request == made, "round %d: the inactive request is not complete", round);
    for (int i = 0; i < length; i++) in[i] = world_rank + round + i, out[i] = -1;
    MPI_Start(&request);
    if (round % 3 == 0)
      for (done = 0; !done;) MPI_Request_get_status(request, &done, &status);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(request == made && count == 0, "round %d: the handle has changed, or the status holds %d B", round, count);
    check_sum(out, length, round, "again");
  }
  MPI_Request_free(&request);
  CHECK(request == MPI_REQUEST_NULL, "the request has not been freed");
}

/* Each rank starts them in an order of its own, which MPI allows, among other collectives. */
static void check_orders(MPI_Comm comm) {
  static int in[several][4], out[several][4];
  int all = 0, one = 1;
  MPI_Request requests[several], other;
  for (int i = 0; i < several; i++) requests[i] = make_sum(in[i], out[i], 4, comm);
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < several; i++)
      for (int j = 0; j < 4; j++) in[i][j] = world_rank + round + 10 * i + j, out[i][j] = -1;
    for (int i = 0; i < several; i++) {
      MPI_Start(&requests[(i * (world_rank % 2 == 0 ? 1 : several - 1) + world_rank + round) % several]);
      if (i == 1) MPI_Iallreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm, &other);
      if (i == 2) MPI_Barrier(comm);
    }
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    CHECK(all == world_size, "the sum beside them is %d", all);
    for (int i = 0; i < several; i++) MPI_Wait(&requests[(i + world_rank) % several], MPI_STATUS_IGNORE);
    for (int i = 0; i < several; i++) check_sum(out[i], 4, round + 10 * i, "orders");
  }
  for (int i = 0; i < several; i++) MPI_Request_free(&requests[i]);
}

/* With persistent messages to this rank itself; and Startall of those alone. */
static void check_mixed(MPI_Comm comm) {
  static int sent, received, in[2][8], out[2][8];
  MPI_Request requests[4];
  MPI_Status statuses[4];
  requests[0] = make_sum(in[0], out[0], 8, comm);
  MPI_Recv_init(&received, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &requests[1]);
  MPI_Send_init(&sent, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &requests[2]);
  requests[3] = make_sum(in[1], out[1], 8, comm);
  for (int round = 0; round < rounds; round++) {
    int left = 4, done = 0, which, some, places[4];
    sent = round;
    for (int i = 0; i < 8; i++) in[0][i] = world_rank + round + i, in[1][i] = world_rank + 3 * round + i;
    MPI_Startall(4, requests);
    switch (round % 5) {
      case 0: MPI_Waitall(4, requests, statuses); break;
      case 1:
        while (!done) MPI_Testall(4, requests, &done, statuses);
        break;
      case 2:
        while (left-- > 0) MPI_Waitany(4, requests, &which, statuses);
        MPI_Waitany(4, requests, &which, statuses);
        CHECK(which == MPI_UNDEFINED, "MPI_Waitany says %d of inactive requests", which);
        break;
      case 3:
        for (; left > 0; left -= some) MPI_Waitsome(4, requests, &some, places, statuses);
        break;
      default:
        for (; left > 0; left -= done) MPI_Testany(4, requests, &which, &done, statuses);
    }
    CHECK(received == round, "round %d: received %d", round, received);
    check_sum(out[0], 8, round, "mixed");
    check_sum(out[1], 8, 3 * round, "mixed, second");
    sent = -round;
    MPI_Startall(2, &requests[1]);
    MPI_Waitall(2, &requests[1], statuses);
    CHECK(received == -round, "round %d: received %d alone", round, received);
    /* One that is freed while it is active completes. */
    if (round == rounds - 1) MPI_Startall(2, &requests[1]), MPI_Request_free(&requests[2]);
  }
  MPI_Wait(&requests[1], statuses);
  for (int i = 0; i < 4; i++)
    if (requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&requests[i]);
}

static void add_squares(void *in, void *inout, int *count, MPI_Datatype *type) {
  CHECK(*type == MPI_LONG, "the operation is called with another datatype");
  for (int i = 0; i < *count; i++) ((long *)inout)[i] += ((long *)in)[i];
}

/* Data with gaps, packed anew at each start; its arguments are freed before. */
static void check_freed(void) {
  MPI_Comm comm;
  MPI_Op op;
  MPI_Datatype second;
  MPI_Request squares, sent, unused;
  static long in, out;
  static int buffer[2 * 100];
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Op_create(add_squares, 1, &op);
  MPI_Type_vector(100, 1, 2, MPI_INT, &second);
  MPI_Type_commit(&second);
  INIT(Allreduce)(&in, &out, 1, MPI_LONG, op, comm, MPI_INFO_NULL, &squares);
  INIT(Bcast)(buffer, 1, second, world_size - 1, comm, MPI_INFO_NULL, &sent);
  INIT(Barrier)(comm, MPI_INFO_NULL, &unused);
  MPI_Op_free(&op);
  MPI_Type_free(&second);
  MPI_Comm_free(&comm);
  MPI_Request_free(&unused);
  for (int round = 0; round < rounds; round++) {
    in = world_rank + round, out = -1;
    for (int i = 0; i < 200; i++) buffer[i] = world_rank == world_size - 1 ? round + i : -1;
    MPI_Start(&sent);
    MPI_Start(&squares);
    MPI_Wait(&squares, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    CHECK(out == world_size * round + world_size * (world_size - 1) / 2, "the sum is %ld", out);
    for (int i = 0; i < 200; i++) {
      const int expected = i % 2 == 0 || world_rank == world_size - 1 ? round + i : -1;
      CHECK(buffer[i] == expected, "round %d: element %d is %d, not %d", round, i, buffer[i], expected);
    }
  }
  MPI_Request_free(&sent);
  MPI_Request_free(&squares);
}

/* A rank that waits in another call of MPI advances what it has started. */
static void check_progress(MPI_Comm comm) {
  static int in[1 << 18], out[1 << 18];
  int word = 0;
  MPI_Request request = make_sum(in, out, 1 << 18, comm);
  for (int i = 0; i < 1 << 18; i++) in[i] = world_rank + i, out[i] = -1;
  MPI_Start(&request);
  if (world_rank > 0) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(&word, 1, MPI_INT, 0, 5, comm);
  } else {
    for (int rank = 1; rank < world_size; rank++) MPI_Recv(&word, 1, MPI_INT, rank, 5, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  check_sum(out, 1 << 18, 0, "progress");
  MPI_Request_free(&request);
}

/* MPI forbids it; the collective completes nevertheless. */
static void check_cancelled(MPI_Comm comm) {
  int in = 1, out = 0;
  MPI_Request request = make_sum(&in, &out, 1, comm);
  MPI_Errhandler saved;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &saved);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Start(&request);
  CHECK(MPI_Cancel(&request) != MPI_SUCCESS, "a collective was cancelled");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, saved);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(out == world_size, "the sum is %d", out);
  MPI_Request_free(&request);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  MPI_Comm comm;
  check_again(MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  check_orders(comm);
  check_mixed(comm);
  check_freed();
  check_progress(comm);
  check_cancelled(comm);
  MPI_Comm_free(&comm);
  return done();
}
