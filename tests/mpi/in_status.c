/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_ERR_IN_STATUS: one of several requests, a receive, fails; collectives are among the others. Each function that
   completes several requests reports that error for this request only, and completes the collectives. */
#include "check.h"

enum { sum, truncated, word, empty, sent, requests_in_all };
enum { waitall, testall, waitsome, testsome, functions };
static const char *const names[functions] = {"MPI_Waitall", "MPI_Testall", "MPI_Waitsome", "MPI_Testsome"};

static const int pair[2] = {1, 2};
static int mine, total, number, first;

/* A message goes around to the previous rank. (Open MPI 4.1 does not report that a message of a rank to itself is cut.) */
static void start_all(MPI_Request requests[requests_in_all], int round) {
  const int next = (world_rank + 1) % world_size, previous = (world_rank + world_size - 1) % world_size;
  mine = world_rank + round, total = -1, number = world_rank == 0 ? round : -1;
  MPI_Iallreduce(&mine, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[sum]);
  MPI_Irecv(&first, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[truncated]);
  MPI_Ibcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[word]);
  requests[empty] = MPI_REQUEST_NULL;
  MPI_Isend(pair, 2, MPI_INT, previous, 0, MPI_COMM_WORLD, &requests[sent]);
}

static int class_of(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/* Statuses have an error each only if the function returns MPI_ERR_IN_STATUS. */
static void mark(MPI_Status statuses[requests_in_all]) {
  for (int i = 0; i < requests_in_all; i++) statuses[i].MPI_ERROR = MPI_ERR_OTHER;
}

/* The error of request `i` in the status of a function that returned MPI_ERR_IN_STATUS; completes the request if the function
   did not. */
static void check_status(int function, int i, int code, MPI_Request *request) {
  const int found = class_of(code);
  if (found == MPI_ERR_PENDING) {
    CHECK(i != truncated && *request != MPI_REQUEST_NULL, "%s: request %d is pending", names[function], i);
    CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "%s: request %d fails later", names[function], i);
    return;
  }
  const int expected = i == truncated ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  CHECK(found == expected, "%s: the error of request %d has class %d, not %d", names[function], i, found, expected);
}

static void complete_all(int function, MPI_Request requests[requests_in_all]) {
  MPI_Status statuses[requests_in_all];
  int code = MPI_SUCCESS, done = 0;
  mark(statuses);
  if (function == waitall) code = MPI_Waitall(requests_in_all, requests, statuses);
  while (function == testall && code == MPI_SUCCESS && !done)
    code = MPI_Testall(requests_in_all, requests, &done, statuses);
  CHECK(class_of(code) == MPI_ERR_IN_STATUS, "%s returns an error of class %d", names[function], class_of(code));
  for (int i = 0; i < requests_in_all; i++) check_status(function, i, statuses[i].MPI_ERROR, &requests[i]);
}

static void complete_some(int function, MPI_Request requests[requests_in_all]) {
  MPI_Status statuses[requests_in_all];
  int left = requests_in_all - 1, places[requests_in_all], some = 0, failures = 0;
  while (left > 0) {
    mark(statuses);
    const int code = function == waitsome ? MPI_Waitsome(requests_in_all, requests, &some, places, statuses)
                                          : MPI_Testsome(requests_in_all, requests, &some, places, statuses);
    CHECK(some >= 0 && some <= left, "%s: %d requests of %d are complete", names[function], some, left);
    int has_failed = 0;
    for (int i = 0; i < some; i++) has_failed |= places[i] == truncated;
    CHECK(class_of(code) == (has_failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS), "%s returns an error of class %d",
          names[function], class_of(code));
    for (int i = 0; i < some && has_failed; i++)
      check_status(function, places[i], statuses[i].MPI_ERROR, &requests[places[i]]);
    failures += has_failed;
    left -= some;
  }
  CHECK(failures == 1, "%s reports %d failures", names[function], failures);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD); /* from then on non-blocking ones are served */
  for (int round = 0; round < 20 * functions; round++) {
    const int function = round % functions;
    MPI_Request requests[requests_in_all];
    start_all(requests, round);
    if (function == waitall || function == testall) complete_all(function, requests);
    else complete_some(function, requests);
    for (int i = 0; i < requests_in_all; i++)
      CHECK(requests[i] == MPI_REQUEST_NULL, "%s: request %d is left", names[function], i);
    const int expected = world_size * round + world_size * (world_size - 1) / 2;
    CHECK(total == expected, "%s: the sum is %d, not %d", names[function], total, expected);
    CHECK(number == round, "%s: the word is %d, not %d", names[function], number, round);
  }
  return done();
}
