/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements of more than 2 GiB with gaps, whose size MPI_Pack of older libraries cannot count. Rank 0 has rows with
   gaps, by a vector and by a subarray; rank 1 has the same data without gaps. */
#include "check.h"

enum { rows = 2, row = (1 << 28) + 4, apart = row + 1 };

static long long available_kib(void) {
  long long kib = 0;
  char line[256];
  FILE *file = fopen("/proc/meminfo", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) sscanf(line, "MemAvailable: %lld", &kib);
  if (file != NULL) fclose(file);
  return kib;
}

/* One element from one rank to the other; the collective that gives each peer its own type. */
static void move(int from, void *buffer, MPI_Datatype type) {
  const int one = world_rank == from ? 1 : 0;
  int sent[2] = {0, 0}, received[2] = {0, 0}, places[2] = {0, 0};
  MPI_Datatype types[2] = {type, type};
  sent[1 - world_rank] = one;
  received[1 - world_rank] = 1 - one;
  char unused[2];
  CHECK(MPI_Alltoallw(one ? buffer : unused, sent, places, types, one ? (void *)unused : buffer, received, places,
                      types, MPI_COMM_WORLD) == MPI_SUCCESS,
        "alltoallw of an element of more than 2 GiB");
}

static int value(size_t i) { return (int)(i * 2654435761u >> 7); }

int main(int argc, char **argv) {
  MPI_Datatype vector, subarray, contiguous;
  start(&argc, &argv);
  int enough = available_kib() > 10ll << 20;
  MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (!enough) {
    if (world_rank == 0) printf("skipped: it needs 10 GiB of memory\n");
    fflush(stdout);
    MPI_Finalize();
    return 0;
  }
  MPI_Type_vector(rows, row, apart, MPI_INT, &vector);
  MPI_Type_create_subarray(2, (int[]){rows, apart}, (int[]){rows, row}, (int[]){0, 0}, MPI_ORDER_C, MPI_INT, &subarray);
  MPI_Type_contiguous(rows * row, MPI_INT, &contiguous);
  MPI_Type_commit(&vector);
  MPI_Type_commit(&subarray);
  MPI_Type_commit(&contiguous);
  const size_t length = world_rank == 0 ? (size_t)rows * apart : (size_t)rows * row;
  int *data = allocate(length * sizeof(int));
  if (world_rank == 0) {
    for (size_t i = 0; i < length; i++) data[i] = i % apart < row ? value(i / apart * row + i % apart) : -1;
  }
  move(0, data, world_rank == 0 ? vector : contiguous);
  if (world_rank == 1) {
    for (size_t i = 0; i < length; i++) {
      CHECK(data[i] == value(i), "[%zu] is %d, not %d", i, data[i], value(i));
      data[i] = ~data[i];
    }
  }
  move(1, data, world_rank == 0 ? subarray : contiguous);
  if (world_rank == 0) {
    for (size_t i = 0; i < length; i++) {
      const int expected = i % apart < row ? ~value(i / apart * row + i % apart) : -1;
      CHECK(data[i] == expected, "back: [%zu] is %d, not %d", i, data[i], expected);
    }
  }
  free(data);
  MPI_Type_free(&vector);
  MPI_Type_free(&subarray);
  MPI_Type_free(&contiguous);
  return done();
}
