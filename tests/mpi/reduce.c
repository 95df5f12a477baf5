/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Reduce and MPI_Allreduce: every C datatype with every operation that MPI defines for it, in place and not, several
   counts, every root for up to 1000 elements. Values are small integers, so that every order of combination gives the
   same bits. */
#include "check.h"

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- one operation on one datatype, given what to send and what to expect ------------------------------------- */

typedef bool equal_function(const void *a, const void *b, int count);

enum { guard_bytes = 64, guard = 0x5a };

struct reduction {
  const char *what;
  MPI_Datatype type;
  MPI_Op op;
  size_t element_bytes;
  equal_function *equal; /* padding does not count */
};

/* `call` is printed. For a wrong result, prints the number of wrong elements, their range, and the bytes of the first
   one. */
static void check_result(const struct reduction *reduction, const char *call, const char *got, const char *expected,
                         int count) {
  const size_t size = reduction->element_bytes;
  if (!reduction->equal(got, expected, count)) {
    int wrong = 0, first = 0, last = 0;
    for (int i = 0; i < count; i++)
      if (!reduction->equal(got + (size_t)i * size, expected + (size_t)i * size, 1)) {
        if (wrong++ == 0) first = i;
        last = i;
      }
    enum { largest = 32 }; /* bytes of a long double complex */
    char bytes[2][2 * largest + 1] = {"", ""};
    for (size_t i = 0; i < size && i < largest; i++) {
      snprintf(bytes[0] + 2 * i, 3, "%02x", (unsigned char)got[(size_t)first * size + i]);
      snprintf(bytes[1] + 2 * i, 3, "%02x", (unsigned char)expected[(size_t)first * size + i]);
    }
    CHECK(false, "%s of %s, count %d: wrong result in %d elements from %d to %d: %s, not %s", call, reduction->what,
          count, wrong, first, last, bytes[0], bytes[1]);
  }
  for (int i = 0; i < guard_bytes; i++)
    CHECK(got[(size_t)count * size + (size_t)i] == guard, "%s of %s, count %d: wrote past the end", call,
          reduction->what, count);
}

static void check_reductions(const struct reduction *reduction, const void *mine, const void *expected, int count) {
  const size_t bytes = (size_t)count * reduction->element_bytes;
  char *got = allocate(bytes + guard_bytes);
  char *sent = allocate(bytes);
  memcpy(sent, mine, bytes);

  memset(got, guard, bytes + guard_bytes);
  MPI_Allreduce(sent, got, count, reduction->type, reduction->op, MPI_COMM_WORLD);
  check_result(reduction, "allreduce", got, expected, count);

  memset(got, guard, bytes + guard_bytes);
  memcpy(got, mine, bytes);
  MPI_Allreduce(MPI_IN_PLACE, got, count, reduction->type, reduction->op, MPI_COMM_WORLD);
  check_result(reduction, "allreduce in place", got, expected, count);

  for (int root = 0; root < world_size; root++) {
    memset(got, guard, bytes + guard_bytes);
    MPI_Reduce(sent, got, count, reduction->type, reduction->op, root, MPI_COMM_WORLD);
    if (world_rank == root) {
      check_result(reduction, "reduce", got, expected, count);
    } else {
      for (size_t i = 0; i < bytes; i++)
        CHECK(got[i] == guard, "reduce of %s, count %d: wrote to a rank that is not the root", reduction->what, count);
    }

    if (world_rank == root) {
      memset(got, guard, bytes + guard_bytes);
      memcpy(got, mine, bytes);
      MPI_Reduce(MPI_IN_PLACE, got, count, reduction->type, reduction->op, root, MPI_COMM_WORLD);
      check_result(reduction, "reduce in place", got, expected, count);
    } else {
      MPI_Reduce(sent, NULL, count, reduction->type, reduction->op, root, MPI_COMM_WORLD);
    }
    if (count > 1000) break; /* one root is enough to test how a vector is cut */
  }
  CHECK(memcmp(sent, mine, bytes) == 0, "%s, count %d: the send buffer was changed", reduction->what, count);
  free(sent);
  free(got);
}

static const int counts[] = {1, 7, 1000, 40000};
enum { number_of_counts = sizeof counts / sizeof counts[0] };

/* ---- numbers --------------------------------------------------------------------------------------------------- */

#define SUM(a, b) ((a) + (b))
#define PROD(a, b) ((a) * (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define LAND(a, b) ((a) && (b))
#define LOR(a, b) ((a) || (b))
#define LXOR(a, b) (!(a) != !(b))
#define BAND(a, b) ((a) & (b))
#define BOR(a, b) ((a) | (b))
#define BXOR(a, b) ((a) ^ (b))

/* 0, 1 or 2. No two ranks have the same vector, so that a rank that is combined twice in place of another one is found. */
static int value(int rank, int i) {
  return (int)((((unsigned)(i + 1) * 2654435761u) ^ ((unsigned)(rank + 1) * 2246822519u)) >> 13) % 3;
}

/* Long vectors with two operations only: they test how a vector is cut, not how elements are combined. Emulated machines
   are slow, so they test two counts. */
static bool is_worthwhile(int count, MPI_Op op) {
  if (emulated() && (count == 1 || count == 1000)) return false;
  return count <= 1000 || op == MPI_SUM || op == MPI_BXOR;
}

#define CHECK_OP(ctype, mpi_type, name)                                                                   \
  for (int c = 0; c < number_of_counts; c++) {                                                            \
    const int count = counts[c];                                                                          \
    if (!is_worthwhile(count, MPI_##name)) continue;                                                      \
    ctype *mine = calloc((size_t)count, sizeof(ctype)), *expected = calloc((size_t)count, sizeof(ctype)); \
    CHECK(mine != NULL && expected != NULL, "no memory");                                                 \
    for (int i = 0; i < count; i++) {                                                                     \
      mine[i] = (ctype)value(world_rank, i);                                                              \
      ctype all = (ctype)value(0, i);                                                                     \
      for (int rank = 1; rank < world_size; rank++) all = (ctype)name(all, (ctype)value(rank, i));        \
      expected[i] = all;                                                                                  \
    }                                                                                                     \
    const struct reduction reduction = {#mpi_type " " #name, mpi_type, MPI_##name, sizeof(ctype), equal}; \
    check_reductions(&reduction, mine, expected, count);                                                  \
    free(mine);                                                                                           \
    free(expected);                                                                                       \
  }

#define ARITHMETIC(C, M) CHECK_OP(C, M, SUM) CHECK_OP(C, M, PROD)
#define ORDER(C, M) CHECK_OP(C, M, MIN) CHECK_OP(C, M, MAX)
#define LOGICAL(C, M) CHECK_OP(C, M, LAND) CHECK_OP(C, M, LOR) CHECK_OP(C, M, LXOR)
#define BITWISE(C, M) CHECK_OP(C, M, BAND) CHECK_OP(C, M, BOR) CHECK_OP(C, M, BXOR)

#define C_INTEGER(C, M) ARITHMETIC(C, M) ORDER(C, M) LOGICAL(C, M) BITWISE(C, M)
#define OTHER_INTEGER(C, M) ARITHMETIC(C, M) ORDER(C, M) BITWISE(C, M)
#define REAL(C, M) ARITHMETIC(C, M) ORDER(C, M)

/* Two functions for each datatype: equal_NAME(), which CHECK_OP uses as `equal`, and check_NAME(). */
#define DATATYPE(name, C, OPS)                                        \
  static bool equal_##name(const void *a, const void *b, int count) { \
    const C *x = a, *y = b;                                           \
    for (int i = 0; i < count; i++)                                   \
      if (x[i] != y[i]) return false;                                 \
    return true;                                                      \
  }                                                                   \
  static void check_##name(void) {                                    \
    equal_function *const equal = equal_##name;                       \
    OPS(C, MPI_##name)                                                \
  }

DATATYPE(SIGNED_CHAR, signed char, C_INTEGER)
DATATYPE(SHORT, short, C_INTEGER)
DATATYPE(INT, int, C_INTEGER)
DATATYPE(LONG, long, C_INTEGER)
DATATYPE(LONG_LONG, long long, C_INTEGER)
DATATYPE(UNSIGNED_CHAR, unsigned char, C_INTEGER)
DATATYPE(UNSIGNED_SHORT, unsigned short, C_INTEGER)
DATATYPE(UNSIGNED, unsigned, C_INTEGER)
DATATYPE(UNSIGNED_LONG, unsigned long, C_INTEGER)
DATATYPE(UNSIGNED_LONG_LONG, unsigned long long, C_INTEGER)
DATATYPE(INT8_T, int8_t, C_INTEGER)
DATATYPE(INT16_T, int16_t, C_INTEGER)
DATATYPE(INT32_T, int32_t, C_INTEGER)
DATATYPE(INT64_T, int64_t, C_INTEGER)
DATATYPE(UINT8_T, uint8_t, C_INTEGER)
DATATYPE(UINT16_T, uint16_t, C_INTEGER)
DATATYPE(UINT32_T, uint32_t, C_INTEGER)
DATATYPE(UINT64_T, uint64_t, C_INTEGER)
DATATYPE(INTEGER, int, OTHER_INTEGER)
DATATYPE(AINT, MPI_Aint, OTHER_INTEGER)
DATATYPE(OFFSET, MPI_Offset, OTHER_INTEGER)
DATATYPE(COUNT, MPI_Count, OTHER_INTEGER)
DATATYPE(FLOAT, float, REAL)
DATATYPE(DOUBLE, double, REAL)
DATATYPE(LONG_DOUBLE, long double, REAL)
DATATYPE(DOUBLE_PRECISION, double, REAL)
DATATYPE(C_FLOAT_COMPLEX, float complex, ARITHMETIC)
DATATYPE(C_DOUBLE_COMPLEX, double complex, ARITHMETIC)
DATATYPE(C_LONG_DOUBLE_COMPLEX, long double complex, ARITHMETIC)
DATATYPE(C_BOOL, bool, LOGICAL)
DATATYPE(BYTE, unsigned char, BITWISE)

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

#define PAIR(name, C)                                                                                           \
  typedef struct {                                                                                              \
    C value;                                                                                                    \
    int index;                                                                                                  \
  } pair_##name;                                                                                                \
  static bool equal_##name(const void *a, const void *b, int count) {                                           \
    const pair_##name *x = a, *y = b;                                                                           \
    for (int i = 0; i < count; i++)                                                                             \
      if (x[i].value != y[i].value || x[i].index != y[i].index) return false;                                   \
    return true;                                                                                                \
  }                                                                                                             \
  static void check_pair_##name(bool largest) {                                                                 \
    for (int c = 0; c < number_of_counts; c++) {                                                                \
      const int count = counts[c];                                                                              \
      pair_##name *mine = calloc((size_t)count, sizeof *mine), *best = calloc((size_t)count, sizeof *best);     \
      CHECK(mine != NULL && best != NULL, "no memory");                                                         \
      for (int i = 0; i < count; i++) {                                                                         \
        mine[i].value = (C)value(world_rank, i);                                                                \
        mine[i].index = 100 - world_rank; /* ties: the smallest index wins, not the first rank */               \
        for (int rank = 0; rank < world_size; rank++) {                                                         \
          const C other = (C)value(rank, i);                                                                    \
          if (rank == 0 || (largest ? other > best[i].value : other < best[i].value) || other == best[i].value) \
            best[i].index = 100 - rank, best[i].value = other;                                                  \
        }                                                                                                       \
      }                                                                                                         \
      const struct reduction reduction = {"MPI_" #name, MPI_##name, largest ? MPI_MAXLOC : MPI_MINLOC,          \
                                          sizeof(pair_##name), equal_##name};                                   \
      check_reductions(&reduction, mine, best, count);                                                          \
      free(mine);                                                                                               \
      free(best);                                                                                               \
    }                                                                                                           \
  }                                                                                                             \
  static void check_##name(void) {                                                                              \
    check_pair_##name(false);                                                                                   \
    check_pair_##name(true);                                                                                    \
  }

PAIR(FLOAT_INT, float)
PAIR(DOUBLE_INT, double)
PAIR(LONG_INT, long)
PAIR(2INT, int)
PAIR(SHORT_INT, short)
PAIR(LONG_DOUBLE_INT, long double)

/* ---- special counts ---------------------------------------------------------------------------------------------- */

static void check_zero_counts(void) {
  int sent = 1, got = 7;
  MPI_Allreduce(&sent, &got, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce(&sent, &got, 0, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  CHECK(got == 7, "a count of zero wrote something");
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  check_SIGNED_CHAR();
  check_SHORT();
  check_INT();
  check_LONG();
  check_LONG_LONG();
  check_UNSIGNED_CHAR();
  check_UNSIGNED_SHORT();
  check_UNSIGNED();
  check_UNSIGNED_LONG();
  check_UNSIGNED_LONG_LONG();
  check_INT8_T();
  check_INT16_T();
  check_INT32_T();
  check_INT64_T();
  check_UINT8_T();
  check_UINT16_T();
  check_UINT32_T();
  check_UINT64_T();
  check_INTEGER();
  check_AINT();
  check_OFFSET();
  check_COUNT();
  check_FLOAT();
  check_DOUBLE();
  check_LONG_DOUBLE();
  check_DOUBLE_PRECISION();
  check_C_FLOAT_COMPLEX();
  check_C_DOUBLE_COMPLEX();
  check_C_LONG_DOUBLE_COMPLEX();
  check_C_BOOL();
  check_BYTE();
  check_FLOAT_INT();
  check_DOUBLE_INT();
  check_LONG_INT();
  check_2INT();
  check_SHORT_INT();
  check_LONG_DOUBLE_INT();
  check_zero_counts();
  return done();
}
