/* SPDX-License-Identifier: BSD-3-Clause */
/* User-defined operations: commutative and not, on predefined and derived datatypes, created and freed often. */
#include "check.h"

#include <stddef.h>
#include <sys/mman.h>

/* ---- products of matrices modulo a prime: associative, not commutative ------------------------------------------------ */

enum { prime = 10007 };

struct matrix {
  int a, b, c, d;
};

static MPI_Datatype matrix_type;
static long long multiplied;

static struct matrix product(struct matrix x, struct matrix y) {
  const struct matrix z = {(x.a * y.a + x.b * y.c) % prime, (x.a * y.b + x.b * y.d) % prime,
                           (x.c * y.a + x.d * y.c) % prime, (x.c * y.b + x.d * y.d) % prime};
  return z;
}

static void multiply(void *in, void *inout, int *length, MPI_Datatype *type) {
  CHECK(*type == matrix_type, "the operation was given another datatype");
  const struct matrix *left = in;
  struct matrix *right = inout;
  for (int i = 0; i < *length; i++) right[i] = product(left[i], right[i]);
  multiplied += *length;
}

static struct matrix matrix_of(int rank, int i) {
  const struct matrix m = {rank + 1, i % 7, 3, (i + rank) % 5 + 1};
  return m;
}

static int differ(struct matrix x, struct matrix y) { return memcmp(&x, &y, sizeof x) != 0; }

static void check_matrices(MPI_Op op) {
  const int counts[] = {1, 2, 33, 5000, 60000};
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
    const int count = counts[c];
    struct matrix *mine = allocate((size_t)count * sizeof *mine), *got = allocate((size_t)count * sizeof *got);
    struct matrix *expected = allocate((size_t)count * sizeof *expected);
    for (int i = 0; i < count; i++) {
      mine[i] = matrix_of(world_rank, i);
      expected[i] = matrix_of(0, i);
      for (int rank = 1; rank < world_size; rank++) expected[i] = product(expected[i], matrix_of(rank, i));
    }
    MPI_Allreduce(mine, got, count, matrix_type, op, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) CHECK(!differ(got[i], expected[i]), "allreduce of %d matrices: [%d]", count, i);
    memcpy(got, mine, (size_t)count * sizeof *got);
    MPI_Allreduce(MPI_IN_PLACE, got, count, matrix_type, op, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) CHECK(!differ(got[i], expected[i]), "in place, %d matrices: [%d]", count, i);
    for (int root = 0; root < world_size; root++) {
      memset(got, 0, (size_t)count * sizeof *got);
      MPI_Reduce(mine, got, count, matrix_type, op, root, MPI_COMM_WORLD);
      for (int i = 0; i < count && world_rank == root; i++)
        CHECK(!differ(got[i], expected[i]), "reduce of %d matrices to %d: [%d]", count, root, i);
    }
    free(mine);
    free(got);
    free(expected);
  }
}

static void check_non_commutative(void) {
  MPI_Op op;
  MPI_Op_create(multiply, 0, &op);
  MPI_Type_contiguous(4, MPI_INT, &matrix_type);
  MPI_Type_commit(&matrix_type);
  check_matrices(op);
  MPI_Type_free(&matrix_type);
  /* The same elements, described in another way. */
  MPI_Type_create_struct(2, (int[]){1, 3}, (MPI_Aint[]){0, 4}, (MPI_Datatype[]){MPI_INT, MPI_INT}, &matrix_type);
  MPI_Type_commit(&matrix_type);
  check_matrices(op);
  MPI_Type_free(&matrix_type);
  MPI_Op_free(&op);
  long long sum;
  MPI_Allreduce(&multiplied, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum > 0, "the operation was never called");
}

/* ---- elements with a gap: it belongs to the program and must survive ---------------------------------------------------- */

struct gapped {
  double value;
  int index;
  int gap;
};

static void add_gapped(void *in, void *inout, int *length, MPI_Datatype *type) {
  (void)type;
  const struct gapped *x = in;
  struct gapped *y = inout;
  for (int i = 0; i < *length; i++) y[i].value += x[i].value, y[i].index += x[i].index;
}

static void check_gaps(void) {
  MPI_Datatype whole, type;
  MPI_Op op;
  MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, &whole);
  MPI_Type_create_resized(whole, 0, sizeof(struct gapped), &type);
  MPI_Type_commit(&type);
  MPI_Op_create(add_gapped, 1, &op);
  struct gapped mine[100], got[100];
  for (int i = 0; i < 100; i++) {
    mine[i].value = world_rank + i, mine[i].index = world_rank, mine[i].gap = -1;
    got[i].value = 0, got[i].index = 0, got[i].gap = 4711;
  }
  MPI_Allreduce(mine, got, 100, type, op, MPI_COMM_WORLD);
  const int ranks_sum = world_size * (world_size - 1) / 2;
  for (int i = 0; i < 100; i++)
    CHECK(got[i].value == ranks_sum + i * world_size && got[i].index == ranks_sum && got[i].gap == 4711,
          "gapped [%d]: %g %d %d", i, got[i].value, got[i].index, got[i].gap);
  MPI_Op_free(&op);
  MPI_Type_free(&type);
  MPI_Type_free(&whole);
}

/* Few of them, as BLACS has them, in every reduction. The last element ends with its data: bytes after it are not
   part of the vector, and at the end of the buffer they are not mapped. */
enum { gap_value = 4711, most_gapped = 64 };

static void fill_gapped(char *at, int count, int add) {
  for (int i = 0; i < count; i++) {
    const struct gapped element = {add + i, add, gap_value};
    memcpy(at + i * sizeof element, &element, i + 1 < count ? sizeof element : offsetof(struct gapped, gap));
  }
}

/* Element i is the sum over `ranks` ranks, from the lowest, of what fill_gapped() has given them at `first` + i. */
static void expect_gapped(const char *at, int count, int first, int ranks, const char *what) {
  const int sum = ranks * (ranks - 1) / 2;
  for (int i = 0; i < count; i++) {
    struct gapped got = {0, 0, gap_value};
    memcpy(&got, at + i * sizeof got, i + 1 < count ? sizeof got : offsetof(struct gapped, gap));
    CHECK(got.value == sum + ranks * (first + i) && got.index == sum && got.gap == gap_value, "%s of %d: [%d] %g %d %d",
          what, count, i, got.value, got.index, got.gap);
  }
}

/* Returns the beginning of a vector of `count` elements whose last data end at the end of the page. */
static char *before_end(char *page, int count) {
  return page + 4096 - count * (int)sizeof(struct gapped) + (int)(sizeof(struct gapped) - offsetof(struct gapped, gap));
}

static void check_padding(void) {
  MPI_Datatype whole, type;
  MPI_Op op;
  const MPI_Comm comm = MPI_COMM_WORLD;
  char *pages = mmap(NULL, 4 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(pages != MAP_FAILED && mprotect(pages, 4096, PROT_READ | PROT_WRITE) == 0 &&
            mprotect(pages + 8192, 4096, PROT_READ | PROT_WRITE) == 0,
        "no pages");
  MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, &whole);
  MPI_Type_create_resized(whole, 0, sizeof(struct gapped), &type);
  MPI_Type_commit(&type);
  MPI_Op_create(add_gapped, 1, &op);
  for (int count = 1; count <= 5; count += 2) {
    char *in = before_end(pages, count), *out = before_end(pages + 8192, count);
    fill_gapped(in, count, world_rank);
    fill_gapped(out, count, 0);
    MPI_Allreduce(in, out, count, type, op, comm);
    expect_gapped(out, count, 0, world_size, "allreduce");
    fill_gapped(out, count, world_rank);
    MPI_Allreduce(MPI_IN_PLACE, out, count, type, op, comm);
    expect_gapped(out, count, 0, world_size, "allreduce in place");
    for (int root = 0; root < world_size; root++) {
      MPI_Reduce(in, world_rank == root ? out : NULL, count, type, op, root, comm);
      if (world_rank == root) expect_gapped(out, count, 0, world_size, "reduce");
    }
    MPI_Scan(in, out, count, type, op, comm);
    expect_gapped(out, count, 0, world_rank + 1, "scan");
    MPI_Exscan(in, out, count, type, op, comm);
    if (world_rank > 0) expect_gapped(out, count, 0, world_rank, "exscan");
    const int all = count * world_size;
    int counts[most_gapped];
    CHECK(all <= most_gapped, "too many ranks");
    for (int r = 0; r < world_size; r++) counts[r] = count;
    in = before_end(pages, all);
    fill_gapped(in, all, world_rank);
    MPI_Reduce_scatter_block(in, out, count, type, op, comm);
    expect_gapped(out, count, world_rank * count, world_size, "reduce_scatter_block");
    fill_gapped(out, count, 0);
    MPI_Reduce_scatter(in, out, counts, type, op, comm);
    expect_gapped(out, count, world_rank * count, world_size, "reduce_scatter");
  }
  MPI_Op_free(&op);
  MPI_Type_free(&type);
  MPI_Type_free(&whole);
  munmap(pages, 4 * 4096);
}

/* ---- predefined datatypes ----------------------------------------------------------------------------------------------- */

static void keep_left(void *in, void *inout, int *length, MPI_Datatype *type) {
  int size;
  MPI_Type_size(*type, &size);
  memcpy(inout, in, (size_t)*length * (size_t)size);
}

static void keep_right(void *in, void *inout, int *length, MPI_Datatype *type) {
  (void)in, (void)inout, (void)length, (void)type;
}

static void add_absolute(void *in, void *inout, int *length, MPI_Datatype *type) {
  CHECK(*type == MPI_DOUBLE, "the operation was given another datatype");
  const double *x = in;
  double *y = inout;
  for (int i = 0; i < *length; i++) y[i] = (x[i] < 0 ? -x[i] : x[i]) + (y[i] < 0 ? -y[i] : y[i]);
}

static void check_predefined(void) {
  MPI_Op left, right, absolute;
  int mine[300], got[300];
  double reals[50], sums[50];
  MPI_Op_create(keep_left, 0, &left);
  MPI_Op_create(keep_right, 0, &right);
  MPI_Op_create(add_absolute, 1, &absolute);
  for (int i = 0; i < 300; i++) mine[i] = world_rank * 1000 + i;
  MPI_Allreduce(mine, got, 300, MPI_INT, left, MPI_COMM_WORLD);
  for (int i = 0; i < 300; i++) CHECK(got[i] == i, "left: [%d] is %d", i, got[i]);
  MPI_Allreduce(mine, got, 300, MPI_INT, right, MPI_COMM_WORLD);
  for (int i = 0; i < 300; i++) CHECK(got[i] == (world_size - 1) * 1000 + i, "right: [%d] is %d", i, got[i]);
  MPI_Reduce(mine, got, 300, MPI_INT, left, world_size - 1, MPI_COMM_WORLD);
  for (int i = 0; i < 300 && world_rank == world_size - 1; i++) CHECK(got[i] == i, "left to the last: [%d]", i);
  for (int i = 0; i < 50; i++) reals[i] = world_rank % 2 ? -i : i;
  MPI_Allreduce(reals, sums, 50, MPI_DOUBLE, absolute, MPI_COMM_WORLD);
  for (int i = 0; i < 50; i++) CHECK(sums[i] == i * world_size, "absolute: [%d] is %g", i, sums[i]);
  MPI_Op_free(&left);
  MPI_Op_free(&right);
  MPI_Op_free(&absolute);
  CHECK(left == MPI_OP_NULL, "the freed handle was kept");
}

/* A handle that MPI reuses for another function. */
static void check_reused_handles(void) {
  for (int round = 0; round < 300; round++) {
    MPI_Op op;
    int mine = world_rank, got = -1;
    MPI_Op_create(round % 2 ? keep_right : keep_left, 0, &op);
    MPI_Allreduce(&mine, &got, 1, MPI_INT, op, MPI_COMM_WORLD);
    CHECK(got == (round % 2 ? world_size - 1 : 0), "round %d: rank %d's operand", round, got);
    MPI_Op_free(&op);
  }
}

/* Elements as large as pages, and larger. */
static int element_ints;

static void add_elements(void *in, void *inout, int *length, MPI_Datatype *type) {
  (void)type;
  const int *x = in;
  int *y = inout;
  for (int i = 0; i < *length * element_ints; i++) y[i] += x[i];
}

static void check_large_elements(void) {
  MPI_Op op;
  MPI_Op_create(add_elements, 1, &op);
  for (element_ints = 256; element_ints <= 4096; element_ints *= 2) {
    const int count = 37, all = count * element_ints;
    MPI_Datatype type;
    int *mine = allocate((size_t)all * sizeof *mine), *got = allocate((size_t)all * sizeof *got);
    MPI_Type_contiguous(element_ints, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < all; i++) mine[i] = world_rank + i;
    MPI_Allreduce(mine, got, count, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < all; i++)
      CHECK(got[i] == world_size * i + world_size * (world_size - 1) / 2, "%d ints: [%d]", element_ints, i);
    MPI_Type_free(&type);
    free(mine);
    free(got);
  }
  MPI_Op_free(&op);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  check_non_commutative();
  check_gaps();
  check_padding();
  check_predefined();
  check_reused_handles();
  check_large_elements();
  return done();
}
