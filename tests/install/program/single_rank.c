/* SPDX-License-Identifier: BSD-3-Clause */
/* A C11 program as a user would write it: one rank, its own bootstrap, an allreduce. */
#include <coll/coll.h>
#include <stdio.h>
#include <string.h>

static int allgather_of_one(const void *send, void *recv, size_t bytes, void *context) {
  (void)context;
  memcpy(recv, send, bytes);
  return 0;
}

static int check(coll_status status, const char *what) {
  if (status != COLL_OK) { fprintf(stderr, "%s: %s: %s\n", what, coll_strerror(status), coll_last_error()); }
  return status != COLL_OK;
}

int main(void) {
  const coll_bootstrap bootstrap = {sizeof bootstrap, 0, 1, allgather_of_one, NULL};
  const double send[3] = {1.5, -2.0, 4.25};
  double recv[3] = {0.0, 0.0, 0.0};
  coll_comm *comm = NULL;

  if (strcmp(coll_version(), COLL_VERSION_STRING) != 0) {
    fprintf(stderr, "header of %s, library of %s\n", COLL_VERSION_STRING, coll_version());
    return 1;
  }
  if (check(coll_comm_create(&bootstrap, &comm), "coll_comm_create") ||
      check(coll_allreduce(send, recv, 3, COLL_DOUBLE, COLL_SUM, comm), "coll_allreduce") ||
      check(coll_comm_free(comm), "coll_comm_free")) {
    return 1;
  }
  if (memcmp(send, recv, sizeof send) != 0) {
    fprintf(stderr, "allreduce of one rank changed the vector\n");
    return 1;
  }
  puts("C program: ok");
  return 0;
}
