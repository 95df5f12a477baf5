/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives among neighbours, and MPI_Alltoallw: each call is made twice, once as MPI_x and once as PMPI_x, which the
   shim does not see, and the whole receive buffers are compared, gaps too. On Cartesian topologies, with dimensions of one and
   two processes, graphs, and random distributed graphs with several edges between two ranks and edges to oneself. */
#include "check.h"

#include <stddef.h>

/* MPI_Neighbor_alltoallw, where the counts of neighbours differ. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
#define LOSES_DATA
#endif

static unsigned common_state, own_state;

static int draw(unsigned *state, int below) {
  *state = *state * 1103515245u + 12345u;
  return (int)((*state >> 8) % (unsigned)below);
}
static int common(int below) { return draw(&common_state, below); }
static int own(int below) { return draw(&own_state, below); }

/* ---- datatypes that all hold two integers an element ----------------------------------------------------------------- */

enum { kinds = 5, span = 6 /* the largest extent, in integers */, most_edges = 64 };
static MPI_Datatype types[kinds];

static void make_types(void) {
  MPI_Datatype part;
  MPI_Type_contiguous(2, MPI_INT, &types[0]);                            /* in order */
  MPI_Type_vector(2, 1, 2, MPI_INT, &types[1]);                          /* a gap inside, none behind */
  MPI_Type_create_resized(types[0], 0, 4 * sizeof(int), &types[2]);      /* a gap behind */
  MPI_Type_indexed(2, (int[]){1, 1}, (int[]){1, 0}, MPI_INT, &types[3]); /* backwards */
  MPI_Type_create_resized(types[1], 0, span * sizeof(int), &part);       /* both gaps */
  MPI_Type_dup(part, &types[4]);
  MPI_Type_free(&part);
  for (int i = 0; i < kinds; i++) MPI_Type_commit(&types[i]);
}

/* ---- the current communicator ------------------------------------------------------------------------------------------ */

static MPI_Comm comm;
static int rank, size;
static int sources[most_edges], destinations[most_edges], in, out;

/* Messages from one rank to another have the same length on all edges between them. */
static int length(int from, int to, int most) {
  return (from * 7 + to * 5) % 4 == 0 ? 0 : (from * 31 + to * 17) % most;
}

/* ---- buffers ------------------------------------------------------------------------------------------------------------ */

enum { longest = 20000 };
static int *send_buffer, *got, *expected;
static size_t room; /* integers in each */

static void fill(void) {
  for (size_t i = 0; i < room; i++) {
    send_buffer[i] = rank * 1000003 + (int)i * 7 + 1;
    got[i] = expected[i] = -(rank * 1000 + (int)(i % 1000)) - 1;
  }
}

static void compare(const char *what, int round) {
  for (size_t i = 0; i < room; i++)
    CHECK(got[i] == expected[i], "%s, round %d: [%zu] is %d, without the shim %d", what, round, i, got[i], expected[i]);
}

#define BOTH(what, ...)                             \
  do {                                              \
    fill();                                         \
    int *into = got;                                \
    CHECK(MPI_##__VA_ARGS__ == MPI_SUCCESS, what);  \
    into = expected;                                \
    CHECK(PMPI_##__VA_ARGS__ == MPI_SUCCESS, what); \
    compare(what, round);                           \
  } while (0)

/* Blocks at places in another order than their own, with gaps; in elements, or in bytes where each has its type. */
static void place(int blocks, const int *counts, int *displs) {
  int at = 1;
  for (int i = blocks - 1; i >= 0; i--) {
    displs[i] = at;
    at += counts[i] + i % 2;
  }
}
static void place_bytes(int blocks, const int *counts, const MPI_Datatype *of, MPI_Aint *displs) {
  MPI_Aint at = sizeof(int);
  for (int i = blocks - 1; i >= 0; i--) {
    MPI_Aint lower, extent;
    MPI_Type_get_extent(of[i], &lower, &extent);
    displs[i] = at;
    at += counts[i] * extent + (MPI_Aint)sizeof(int);
  }
}

#if defined(TESTS_MPI_AS_NONBLOCKING_H) || defined(TESTS_MPI_AS_PERSISTENT_H)
/* Of several edges between two ranks, others may meet in non-blocking calls than in blocking ones: Open MPI 4.1. */
#define BY_REQUEST(name, ...)                                               \
  __extension__({                                                           \
    MPI_Request request_;                                                   \
    const int code_ = PMPI_##name(__VA_ARGS__, &request_);                  \
    code_ == MPI_SUCCESS ? PMPI_Wait(&request_, MPI_STATUS_IGNORE) : code_; \
  })
#define PMPI_Neighbor_alltoall(...) BY_REQUEST(Ineighbor_alltoall, __VA_ARGS__)
#define PMPI_Neighbor_alltoallv(...) BY_REQUEST(Ineighbor_alltoallv, __VA_ARGS__)
#ifndef LOSES_DATA
#define PMPI_Neighbor_alltoallw(...) BY_REQUEST(Ineighbor_alltoallw, __VA_ARGS__)
#endif
#endif

#ifdef LOSES_DATA
/* Computes the result by its definition: MPI_Neighbor_alltoallw of MPICH 4.0 loses data if the counts of neighbours differ. */
static int by_messages(const void *send, const int *send_counts, const MPI_Aint *send_places,
                       const MPI_Datatype *send_types, void *recv, const int *recv_counts, const MPI_Aint *recv_places,
                       const MPI_Datatype *recv_types, MPI_Comm on) {
  MPI_Request requests[2 * most_edges];
  MPI_Status statuses[2 * most_edges];
  for (int i = 0; i < in; i++)
    MPI_Irecv((char *)recv + recv_places[i], recv_counts[i], recv_types[i], sources[i], 0, on, &requests[i]);
  for (int i = 0; i < out; i++)
    MPI_Isend((const char *)send + send_places[i], send_counts[i], send_types[i], destinations[i], 0, on,
              &requests[in + i]);
  return MPI_Waitall(in + out, requests, statuses);
}
#define PMPI_Neighbor_alltoallw by_messages

static int by_messages_c(const void *send, const MPI_Count *send_counts, const MPI_Aint *send_places,
                         const MPI_Datatype *send_types, void *recv, const MPI_Count *recv_counts,
                         const MPI_Aint *recv_places, const MPI_Datatype *recv_types, MPI_Comm on) {
  int sent[most_edges] = {0}, received[most_edges] = {0};
  for (int i = 0; i < in; i++) received[i] = (int)recv_counts[i];
  for (int i = 0; i < out; i++) sent[i] = (int)send_counts[i];
  return by_messages(send, sent, send_places, send_types, recv, received, recv_places, recv_types, on);
}
#define PMPI_Neighbor_alltoallw_c by_messages_c
/* On several nodes the shim forwards it, so there is no right result to compare with. */
static int loses_data(void) { return getenv("COLL_NODE_SIZE") != NULL; }
#else
static int loses_data(void) { return 0; }
#endif

static void check_neighbors(const char *name, int round, int most) {
  int count = common(most), send_counts[most_edges], recv_counts[most_edges], send_displs[most_edges],
      recv_displs[most_edges];
  MPI_Aint send_places[most_edges], recv_places[most_edges];
  MPI_Datatype send_types[most_edges], recv_types[most_edges];
  const MPI_Datatype from = types[own(kinds)], to = types[own(kinds)];
  char what[128];
  snprintf(what, sizeof what, "neighbor_allgather on %s", name);
  BOTH(what, Neighbor_allgather(send_buffer, count, from, into, count, to, comm));
  snprintf(what, sizeof what, "neighbor_alltoall on %s", name);
  BOTH(what, Neighbor_alltoall(send_buffer, count, from, into, count, to, comm));

  for (int i = 0; i < in; i++) recv_counts[i] = sources[i] < 0 ? 3 : length(sources[i], 0, most);
  place(in, recv_counts, recv_displs);
  snprintf(what, sizeof what, "neighbor_allgatherv on %s", name);
  BOTH(what, Neighbor_allgatherv(send_buffer, length(rank, 0, most), from, into, recv_counts, recv_displs, to, comm));

  for (int i = 0; i < in; i++) recv_counts[i] = sources[i] < 0 ? 3 : length(sources[i], rank, most);
  for (int i = 0; i < out; i++) send_counts[i] = destinations[i] < 0 ? 3 : length(rank, destinations[i], most);
  place(in, recv_counts, recv_displs);
  place(out, send_counts, send_displs);
  snprintf(what, sizeof what, "neighbor_alltoallv on %s", name);
  BOTH(what, Neighbor_alltoallv(send_buffer, send_counts, send_displs, from, into, recv_counts, recv_displs, to, comm));

  for (int i = 0; i < in; i++) recv_types[i] = types[own(kinds)];
  for (int i = 0; i < out; i++) send_types[i] = types[own(kinds)];
  place_bytes(in, recv_counts, recv_types, recv_places);
  place_bytes(out, send_counts, send_types, send_places);
  snprintf(what, sizeof what, "neighbor_alltoallw on %s", name);
  if (loses_data()) return;
  BOTH(what, Neighbor_alltoallw(send_buffer, send_counts, send_places, send_types, into, recv_counts, recv_places,
                                recv_types, comm));
}

#if MPI_VERSION >= 4
/* The forms with large counts; a rank may call them while its peers call the others. */
static void check_large_counts(const char *name, int round, int most) {
  MPI_Count send_counts[most_edges], recv_counts[most_edges];
  MPI_Aint send_displs[most_edges], recv_displs[most_edges];
  MPI_Datatype send_types[most_edges], recv_types[most_edges];
  int counts[most_edges] = {0}, displs[most_edges];
  const MPI_Datatype from = types[own(kinds)], to = types[own(kinds)];
  const MPI_Count count = common(most);
  char what[128];
  snprintf(what, sizeof what, "large counts on %s", name);
  BOTH(what, Neighbor_allgather_c(send_buffer, count, from, into, count, to, comm));
  BOTH(what, Neighbor_alltoall_c(send_buffer, count, from, into, count, to, comm));
  for (int i = 0; i < in; i++) recv_counts[i] = counts[i] = sources[i] < 0 ? 3 : length(sources[i], 0, most);
  place(in, counts, displs);
  for (int i = 0; i < in; i++) recv_displs[i] = displs[i];
  BOTH(what, Neighbor_allgatherv_c(send_buffer, length(rank, 0, most), from, into, recv_counts, recv_displs, to, comm));
  for (int i = 0; i < in; i++) recv_counts[i] = counts[i] = sources[i] < 0 ? 3 : length(sources[i], rank, most);
  place(in, counts, displs);
  for (int i = 0; i < in; i++) recv_displs[i] = displs[i], recv_types[i] = types[own(kinds)];
  for (int i = 0; i < out; i++)
    send_counts[i] = counts[i] = destinations[i] < 0 ? 3 : length(rank, destinations[i], most);
  place(out, counts, displs);
  for (int i = 0; i < out; i++) send_displs[i] = displs[i], send_types[i] = types[own(kinds)];
  BOTH(what,
       Neighbor_alltoallv_c(send_buffer, send_counts, send_displs, from, into, recv_counts, recv_displs, to, comm));
  place_bytes(out, counts, send_types, send_displs);
  for (int i = 0; i < in; i++) counts[i] = (int)recv_counts[i];
  place_bytes(in, counts, recv_types, recv_displs);
  if (!loses_data())
    BOTH(what, Neighbor_alltoallw_c(send_buffer, send_counts, send_displs, send_types, into, recv_counts, recv_displs,
                                    recv_types, comm));
  if (size > most_edges) return;
  for (int r = 0; r < size; r++) {
    send_counts[r] = counts[r] = length(rank, r, most);
    send_types[r] = types[own(kinds)], recv_types[r] = types[own(kinds)];
  }
  place_bytes(size, counts, send_types, send_displs);
  for (int r = 0; r < size; r++) recv_counts[r] = counts[r] = length(r, rank, most);
  place_bytes(size, counts, recv_types, recv_displs);
  BOTH(what, Alltoallw_c(send_buffer, send_counts, send_displs, send_types, into, recv_counts, recv_displs, recv_types,
                         comm));
}
#endif

static void check_alltoallw(int round, int most) {
  int send_counts[most_edges], recv_counts[most_edges], send_displs[most_edges], recv_displs[most_edges];
  MPI_Aint places[most_edges];
  MPI_Datatype send_types[most_edges], recv_types[most_edges];
  for (int r = 0; r < size; r++) {
    recv_types[r] = types[own(kinds)], send_types[r] = types[own(kinds)];
    recv_counts[r] = length(r, rank, most), send_counts[r] = length(rank, r, most);
  }
  place_bytes(size, recv_counts, recv_types, places);
  for (int r = 0; r < size; r++) recv_displs[r] = (int)places[r];
  place_bytes(size, send_counts, send_types, places);
  for (int r = 0; r < size; r++) send_displs[r] = (int)places[r];
  BOTH("alltoallw",
       Alltoallw(send_buffer, send_counts, send_displs, send_types, into, recv_counts, recv_displs, recv_types, comm));
  /* In place the lengths are alike in both directions, and the types are the same. */
  for (int r = 0; r < size; r++) {
    recv_counts[r] = length(r < rank ? r : rank, r < rank ? rank : r, most);
    recv_types[r] = types[round % kinds];
  }
  place_bytes(size, recv_counts, recv_types, places);
  for (int r = 0; r < size; r++) recv_displs[r] = (int)places[r];
  /* Both receive buffers have the same contents before the call. */
  fill();
  memcpy(got, send_buffer, room * sizeof(int));
  memcpy(expected, send_buffer, room * sizeof(int));
  CHECK(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, got, recv_counts, recv_displs, recv_types, comm) == MPI_SUCCESS,
        "alltoallw in place");
  CHECK(PMPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, expected, recv_counts, recv_displs, recv_types, comm) ==
            MPI_SUCCESS,
        "alltoallw in place");
  compare("alltoallw in place", round);
}

/* Also those that are not in the communicator go on with the same numbers. */
static void begin_topology(void) {
  static unsigned topologies = 0;
  common_state = test_seed() + 104729u * ++topologies;
}

/* ---- topologies ---------------------------------------------------------------------------------------------------------- */

/* The shim is ready for the communicator behind the barrier, for non-blocking collectives too. */
static void check_topology(const char *name, int rounds) {
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Barrier(comm);
  for (int round = 0; round < rounds; round++) {
    check_neighbors(name, round, round % 4 == 3 ? longest / 20 : 12);
#if MPI_VERSION >= 4
    check_large_counts(name, round, 12);
#endif
  }
  MPI_Comm_free(&comm);
}

static void check_cartesian(const char *name, int dimensions, const int *sizes, const int *periodic) {
  begin_topology();
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, sizes, periodic, 0, &comm);
  if (comm == MPI_COMM_NULL) return;
  in = out = 2 * dimensions;
  for (int d = 0; d < dimensions; d++) {
    MPI_Cart_shift(comm, d, 1, &sources[2 * d], &sources[2 * d + 1]);
    /* Open MPI 4.1 knows no neighbour along one process, but exchanges with it. */
    if (sizes[d] == 1 && periodic[d]) MPI_Comm_rank(comm, &sources[2 * d]), sources[2 * d + 1] = sources[2 * d];
  }
  memcpy(destinations, sources, sizeof sources);
  check_topology(name, 4);
}

static void check_distributed(void) {
  int weights[most_edges];
  /* All ranks draw all edges. */
  begin_topology();
  const int edges = common(3 * world_size + 1);
  in = out = 0;
  for (int i = 0; i < edges && i < most_edges; i++) {
    const int from = common(world_size), to = common(world_size);
    if (from == world_rank) destinations[out++] = to;
    if (to == world_rank) sources[in++] = from;
  }
  /* Weights of their own: GCC warns of Open MPI's MPI_UNWEIGHTED, which is no array. */
  for (int i = 0; i < most_edges; i++) weights[i] = 1;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, weights, out, destinations, weights, MPI_INFO_NULL, 0,
                                 &comm);
  check_topology("a distributed graph", 2);
}

/* Every rank with the next and the one before, and rank 0 with all once more. */
static void check_graph(void) {
  int index[most_edges], edges[4 * most_edges], end = 0;
  begin_topology();
  for (int r = 0; r < world_size; r++) {
    edges[end++] = (r + 1) % world_size;
    edges[end++] = (r + world_size - 1) % world_size;
    if (r == 0)
      for (int other = 1; other < world_size; other++) edges[end++] = other;
    else edges[end++] = 0;
    index[r] = end;
  }
  MPI_Graph_create(MPI_COMM_WORLD, world_size, index, edges, 0, &comm);
  const int first = world_rank == 0 ? 0 : index[world_rank - 1];
  in = out = index[world_rank] - first;
  memcpy(sources, edges + first, (size_t)in * sizeof(int));
  memcpy(destinations, sources, sizeof sources);
  check_topology("a graph", 4);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  own_state = test_seed() + 7919u * (unsigned)(world_rank + 1);
  make_types();
  room = (size_t)(world_size * 4 + 24) * (longest / 20 + 4) * span;
  send_buffer = allocate(room * sizeof(int));
  got = allocate(room * sizeof(int));
  expected = allocate(room * sizeof(int));

  check_cartesian("a line", 1, (int[]){world_size}, (int[]){0});
  check_cartesian("a ring", 1, (int[]){world_size}, (int[]){1});
  check_cartesian("a ring of 2", 1, (int[]){2}, (int[]){1});
  check_cartesian("a torus with a dimension of 1", 2, (int[]){world_size, 1}, (int[]){1, 1});
  check_cartesian("a line of rings", 2, (int[]){1, world_size}, (int[]){0, 1});
  if (world_size % 2 == 0)
    check_cartesian("a torus with a dimension of 2", 2, (int[]){world_size / 2, 2}, (int[]){1, 1});
  check_graph();
  for (int round = 0; round < 6; round++) check_distributed();

  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Barrier(comm);
  for (int round = 0; round < 6; round++) check_alltoallw(round, round % 3 == 2 ? longest / 20 : 12);
  MPI_Comm_free(&comm);

  for (int i = 0; i < kinds; i++) MPI_Type_free(&types[i]);
  free(send_buffer);
  free(got);
  free(expected);
  return done();
}
