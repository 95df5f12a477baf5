/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All-pairs shortest paths (Floyd-Warshall) on a ring of cities with some chords: every rank keeps a block of rows, and
 * in step k the rank that has row k broadcasts it.
 *
 *   cc -O2 -o shortest_paths shortest_paths.c $(pkg-config --cflags --libs libcoll)
 *   collctl run -n 4 ./shortest_paths 512
 *
 * The row comes from coll_mem_alloc(), so the others read it where it is.
 */
#include <coll/coll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(coll_status status) {
  if (status == COLL_OK) return;
  fprintf(stderr, "%s: %s\n", coll_strerror(status), coll_last_error());
  exit(1);
}

/* Kilometres of the road from a to b, or a large number. */
static int road(int a, int b, int cities) {
  int apart = a < b ? b - a : a - b;
  if (apart > cities - apart) apart = cities - apart;
  if (apart == 0) return 0;
  if (apart == 1) return 10 + (a + b) % 7;
  return (a * b) % 97 == 5 ? 40 : 1 << 20;
}

int main(int argc, char **argv) {
  int cities = argc > 1 ? atoi(argv[1]) : 512;
  if (cities < 3 || cities > 20000) {
    fprintf(stderr, "usage: shortest_paths [CITIES from 3 to 20000]\n");
    return 2;
  }
  coll_comm *comm;
  check(coll_comm_create_from_launcher(&comm));
  int rank = coll_comm_rank(comm), ranks = coll_comm_size(comm);
  int first = (int)((long)cities * rank / ranks), end = (int)((long)cities * (rank + 1) / ranks);
  size_t row_bytes = (size_t)cities * sizeof(int);
  int *rows = malloc((size_t)(end - first) * row_bytes + 1), *row;
  if (!rows) return 1;
  check(coll_mem_alloc(row_bytes, (void **)&row));
  for (int a = first; a < end; a++)
    for (int b = 0; b < cities; b++) rows[(size_t)(a - first) * (size_t)cities + (size_t)b] = road(a, b, cities);

  for (int k = 0, owner = 0; k < cities; k++) {
    while (k >= (int)((long)cities * (owner + 1) / ranks)) owner++;
    if (owner == rank) memcpy(row, rows + (size_t)(k - first) * (size_t)cities, row_bytes);
    check(coll_bcast(row, (size_t)cities, COLL_INT, owner, comm));
    for (int a = first; a < end; a++) {
      int *mine = rows + (size_t)(a - first) * (size_t)cities, to_k = mine[k];
      for (int b = 0; b < cities; b++) mine[b] = to_k + row[b] < mine[b] ? to_k + row[b] : mine[b];
    }
  }

  /* The two cities that are farthest apart. */
  struct {
    long value;
    int index;
  } mine = {-1, 0}, farthest;
  for (int a = first; a < end; a++)
    for (int b = 0; b < cities; b++)
      if (rows[(size_t)(a - first) * (size_t)cities + (size_t)b] > mine.value) {
        mine.value = rows[(size_t)(a - first) * (size_t)cities + (size_t)b];
        mine.index = a;
      }
  check(coll_allreduce(&mine, &farthest, 1, COLL_LONG_INT, COLL_MAXLOC, comm));
  if (rank == 0)
    printf("farthest from another of %d cities: city %d, %ld km\n", cities, farthest.index, farthest.value);

  check(coll_mem_free(row));
  check(coll_comm_free(comm));
  free(rows);
  return 0;
}
