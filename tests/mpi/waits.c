/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits and tests for requests of collectives and for others. Rank 0 prints how many calls of each function COLL_STATS must
   have counted: "waits: MPI_Wait SERVED FORWARDED". */
#include <stddef.h>

#include "check.h"

enum { wait_, waitall, waitany, waitsome, test_, testall, testany, testsome, functions };
enum { served, forwarded, parts };
static const char *const names[functions] = {"MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome",
                                             "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome"};
static int counts[functions][parts];

static int in = 1, out;

/* Elements with a gap, of which non-blocking reductions are forwarded. */
struct padded {
  double number;
  int integer;
};
static MPI_Datatype padded_type;
static MPI_Op add;

static void add_padded(void *from, void *to, int *length, MPI_Datatype *type) {
  CHECK(*type == padded_type, "the operation is called with another datatype");
  for (int i = 0; i < *length; i++) {
    ((struct padded *)to)[i].number += ((struct padded *)from)[i].number;
    ((struct padded *)to)[i].integer += ((struct padded *)from)[i].integer;
  }
}

static void make_padded(void) {
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {offsetof(struct padded, number), offsetof(struct padded, integer)};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT};
  MPI_Datatype bare;
  MPI_Type_create_struct(2, lengths, places, types, &bare);
  MPI_Type_create_resized(bare, 0, sizeof(struct padded), &padded_type);
  MPI_Type_free(&bare);
  MPI_Type_commit(&padded_type);
  MPI_Op_create(add_padded, 1, &add);
}

/* Rank 0 starts before the others, so that its request is not complete at once. */
static void start_forwarded(const struct padded *from, struct padded *to, MPI_Request *request) {
  int word = 0;
  if (world_rank > 0) MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Iallreduce(from, to, 1, padded_type, add, MPI_COMM_WORLD, request);
  for (int rank = 1; rank < world_size && world_rank == 0; rank++) MPI_Send(&word, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
}

/* A message from this rank to itself. */
static void send_to_self(MPI_Request requests[2]) {
  static int sent = 1, received;
  MPI_Irecv(&received, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[0]);
  MPI_Isend(&sent, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[1]);
}

/* Completes three requests, of which the last is that of a collective; a call counts while that is not complete. */
static void complete(int function, MPI_Request requests[3], int part) {
  int flag = 0, index, some, places[3], left = 3;
  MPI_Status statuses[3];
  if (function == wait_ || function == test_) MPI_Waitall(2, requests, statuses), left = 1;
  while (left > 0) {
    if (requests[2] != MPI_REQUEST_NULL) counts[function][part]++;
    switch (function) {
      case wait_: MPI_Wait(&requests[2], statuses), left = 0; break;
      case waitall: MPI_Waitall(3, requests, statuses), left = 0; break;
      case waitany: MPI_Waitany(3, requests, &index, statuses), left--; break;
      case waitsome: MPI_Waitsome(3, requests, &some, places, statuses), left -= some; break;
      case test_: MPI_Test(&requests[2], &flag, statuses), left -= flag; break;
      case testall: MPI_Testall(3, requests, &flag, statuses), left = flag ? 0 : 3; break;
      case testany: MPI_Testany(3, requests, &index, &flag, statuses), left -= flag; break;
      default: MPI_Testsome(3, requests, &some, places, statuses), left -= some;
    }
  }
  for (int i = 0; i < 3; i++) CHECK(requests[i] == MPI_REQUEST_NULL, "%s: request %d is left", names[function], i);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  MPI_Request requests[3];
  make_padded();
  MPI_Barrier(MPI_COMM_WORLD); /* from then on non-blocking ones are served */
  for (int round = 0; round < 3; round++)
    for (int function = 0; function < functions; function++) {
      send_to_self(requests);
      MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
      complete(function, requests, served);
      CHECK(out == world_size, "%s: the sum is %d", names[function], out);
      const struct padded one = {0.5, 1};
      struct padded sum = {0, 0};
      send_to_self(requests);
      start_forwarded(&one, &sum, &requests[2]);
      complete(function, requests, forwarded);
      CHECK(sum.number == 0.5 * world_size && sum.integer == world_size, "%s: the sum is %g", names[function],
            sum.number);
    }
  /* With both kinds, the call waits for the served request. */
  send_to_self(requests);
  MPI_Status statuses[2];
  MPI_Waitall(2, requests, statuses);
  const struct padded one = {0.5, 1};
  struct padded sum;
  start_forwarded(&one, &sum, &requests[0]);
  MPI_Ibcast(&in, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, statuses);
  counts[waitall][served]++;
  for (int i = 0; i < functions && world_rank == 0; i++)
    printf("waits: %s %d %d\n", names[i], counts[i][served], counts[i][forwarded]);
  MPI_Op_free(&add);
  MPI_Type_free(&padded_type);
  return done();
}
