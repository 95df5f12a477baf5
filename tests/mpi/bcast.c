/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Bcast and MPI_Barrier: predefined and derived datatypes, different ones at different ranks, every root. */
#include "check.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char pattern(int root, size_t i) { return (unsigned char)(i * 131 + i / 251 + (size_t)root * 17 + 1); }

/* ---- predefined datatypes ---------------------------------------------------------------------------------------- */

static void check_predefined(void) {
  const MPI_Datatype types[] = {MPI_CHAR,
                                MPI_SIGNED_CHAR,
                                MPI_UNSIGNED_CHAR,
                                MPI_BYTE,
                                MPI_PACKED,
                                MPI_WCHAR,
                                MPI_SHORT,
                                MPI_UNSIGNED_SHORT,
                                MPI_INT,
                                MPI_UNSIGNED,
                                MPI_LONG,
                                MPI_UNSIGNED_LONG,
                                MPI_LONG_LONG,
                                MPI_UNSIGNED_LONG_LONG,
                                MPI_FLOAT,
                                MPI_DOUBLE,
                                MPI_LONG_DOUBLE,
                                MPI_INT8_T,
                                MPI_INT16_T,
                                MPI_INT32_T,
                                MPI_INT64_T,
                                MPI_UINT8_T,
                                MPI_UINT16_T,
                                MPI_UINT32_T,
                                MPI_UINT64_T,
                                MPI_C_BOOL,
                                MPI_C_FLOAT_COMPLEX,
                                MPI_C_DOUBLE_COMPLEX,
                                MPI_C_LONG_DOUBLE_COMPLEX,
                                MPI_AINT,
                                MPI_OFFSET,
                                MPI_COUNT,
                                MPI_2INT,
                                MPI_FLOAT_INT,
                                MPI_CHARACTER,
                                MPI_LOGICAL,
                                MPI_INTEGER,
                                MPI_REAL,
                                MPI_DOUBLE_PRECISION,
                                MPI_COMPLEX,
                                MPI_DOUBLE_COMPLEX};
  const int counts[] = {0, 1, 5, 4096, 30000};
  for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
    int size;
    MPI_Type_size(types[t], &size);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
      const size_t bytes = (size_t)size * (size_t)counts[c];
      for (int root = 0; root < world_size; root++) {
        unsigned char *data = allocate(bytes + 1);
        for (size_t i = 0; i <= bytes; i++) data[i] = world_rank == root ? pattern(root, i) : 0xee;
        MPI_Bcast(data, counts[c], types[t], root, MPI_COMM_WORLD);
        for (size_t i = 0; i < bytes; i++)
          CHECK(data[i] == pattern(root, i), "type %zu count %d root %d: byte %zu", t, counts[c], root, i);
        CHECK(world_rank == root || data[bytes] == 0xee, "type %zu count %d: wrote past the end", t, counts[c]);
        free(data);
        if (counts[c] > 4096) break;
      }
    }
  }
}

/* Pairs with a gap between their parts, received into a structure without one. */
static void check_pair_with_gap(void) {
  struct {
    double value;
    int index;
  } pairs[3];
  memset(pairs, 0, sizeof pairs);
  if (world_rank == 0) {
    for (int i = 0; i < 3; i++) pairs[i].value = i + 0.5, pairs[i].index = 10 * i;
    MPI_Bcast(pairs, 3, MPI_DOUBLE_INT, 0, MPI_COMM_WORLD);
  } else {
    unsigned char dense[36];
    const int lengths[] = {1, 1};
    const MPI_Aint at[] = {0, 8};
    const MPI_Datatype parts[] = {MPI_DOUBLE, MPI_INT};
    MPI_Datatype whole, element;
    MPI_Type_create_struct(2, lengths, at, parts, &whole);
    MPI_Type_create_resized(whole, 0, 12, &element);
    MPI_Type_commit(&element);
    MPI_Bcast(dense, 3, element, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
      memcpy(&pairs[i].value, dense + 12 * i, 8);
      memcpy(&pairs[i].index, dense + 12 * i + 8, 4);
    }
    MPI_Type_free(&whole);
    MPI_Type_free(&element);
  }
  for (int i = 0; i < 3; i++) CHECK(pairs[i].value == i + 0.5 && pairs[i].index == 10 * i, "pair %d", i);
}

/* ---- derived datatypes: all of them hold `ints` integers in the order 0, 1, 2 ... ---------------------------------- */

enum { ints = 240, room = 4 * ints };

struct layout {
  MPI_Datatype type;
  int count;
  int place[ints]; /* index in the buffer of the i-th integer of the message */
};

enum { layouts = 12 };

static void make_layout(int which, struct layout *layout) {
  int lengths[ints], places[ints];
  MPI_Aint displacements[ints];
  MPI_Datatype part;
  layout->count = 1;
  for (int i = 0; i < ints; i++) layout->place[i] = i;
  switch (which) {
    case 0: /* plain */
      layout->count = ints;
      MPI_Type_dup(MPI_INT, &layout->type);
      break;
    case 1: /* contiguous, several */
      layout->count = 8;
      MPI_Type_contiguous(ints / 8, MPI_INT, &layout->type);
      break;
    case 2: /* a vector with gaps */
      MPI_Type_vector(ints / 4, 4, 7, MPI_INT, &layout->type);
      for (int i = 0; i < ints; i++) layout->place[i] = i / 4 * 7 + i % 4;
      break;
    case 3: /* a vector without */ MPI_Type_vector(ints / 4, 4, 4, MPI_INT, &layout->type); break;
    case 4: /* no gap, but reversed: its sizes look contiguous */
      for (int i = 0; i < ints; i++) lengths[i] = 1, places[i] = ints - 1 - i, layout->place[i] = ints - 1 - i;
      MPI_Type_indexed(ints, lengths, places, MPI_INT, &layout->type);
      break;
    case 5: /* two halves swapped */
      displacements[0] = ints / 2 * 4, displacements[1] = 0;
      MPI_Type_create_hindexed_block(2, ints / 2, displacements, MPI_INT, &layout->type);
      for (int i = 0; i < ints; i++) layout->place[i] = (i + ints / 2) % ints;
      break;
    case 6: /* elements apart by their extent */
      layout->count = ints;
      MPI_Type_create_resized(MPI_INT, 0, 12, &layout->type);
      for (int i = 0; i < ints; i++) layout->place[i] = 3 * i;
      break;
    case 7: /* starts behind the buffer's address */
      displacements[0] = 20, lengths[0] = ints;
      MPI_Type_create_hindexed(1, lengths, displacements, MPI_INT, &layout->type);
      for (int i = 0; i < ints; i++) layout->place[i] = 5 + i;
      break;
    case 8: /* a struct of structs, contiguous */
      MPI_Type_contiguous(2, MPI_INT, &part);
      for (int i = 0; i < 3; i++) lengths[i] = ints / 6, displacements[i] = i * (ints / 3) * 4;
      MPI_Type_create_struct(3, lengths, displacements, (MPI_Datatype[]){part, part, part}, &layout->type);
      MPI_Type_free(&part);
      break;
    case 9: /* a part of a matrix */
      MPI_Type_create_subarray(2, (int[]){ints / 4 + 2, 10}, (int[]){ints / 4, 4}, (int[]){1, 3}, MPI_ORDER_C, MPI_INT,
                               &layout->type);
      for (int i = 0; i < ints; i++) layout->place[i] = (i / 4 + 1) * 10 + 3 + i % 4;
      break;
    case 10: /* blocks that follow each other */
      for (int i = 0; i < 4; i++) places[i] = i * (ints / 4);
      MPI_Type_create_indexed_block(4, ints / 4, places, MPI_INT, &layout->type);
      break;
    default: /* by strides in bytes */
      MPI_Type_create_hvector(ints / 2, 2, 16, MPI_INT, &layout->type);
      for (int i = 0; i < ints; i++) layout->place[i] = i / 2 * 4 + i % 2;
      break;
  }
  MPI_Type_commit(&layout->type);
}

static void check_derived(void) {
  for (int at_root = 0; at_root < layouts; at_root++) {
    for (int elsewhere = 0; elsewhere < layouts; elsewhere++) {
      const int root = (at_root + elsewhere) % world_size;
      const int which = world_rank == root ? at_root : (elsewhere + world_rank) % layouts;
      struct layout layout;
      int data[room], expected[room];
      make_layout(which, &layout);
      for (int i = 0; i < room; i++) data[i] = expected[i] = -1;
      for (int i = 0; i < ints; i++) expected[layout.place[i]] = 1000 * at_root + i;
      if (world_rank == root) memcpy(data, expected, sizeof data);
      MPI_Bcast(data, layout.count, layout.type, root, MPI_COMM_WORLD);
      for (int i = 0; i < room; i++)
        CHECK(data[i] == expected[i], "layout %d from %d: [%d] is %d, not %d", which, at_root, i, data[i], expected[i]);
      MPI_Type_free(&layout.type);
    }
  }
}

/* Absolute addresses and MPI_BOTTOM. */
static void check_bottom(void) {
  int first = world_rank == 0 ? 11 : 0;
  double second = world_rank == 0 ? 2.5 : 0;
  MPI_Aint at[2];
  MPI_Datatype both;
  MPI_Get_address(&first, &at[0]);
  MPI_Get_address(&second, &at[1]);
  MPI_Type_create_struct(2, (int[]){1, 1}, at, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &both);
  MPI_Type_commit(&both);
  MPI_Bcast(MPI_BOTTOM, 1, both, 0, MPI_COMM_WORLD);
  CHECK(first == 11 && second == 2.5, "through MPI_BOTTOM: %d %g", first, second);
  MPI_Type_free(&both);
}

/* A handle that MPI reuses for another layout. */
static void check_reused_handles(void) {
  for (int round = 0; round < 200; round++) {
    MPI_Datatype type;
    int data[64];
    const int stride = 1 + round % 3;
    MPI_Type_vector(16, 1, stride, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 64; i++) data[i] = world_rank == 0 ? i + round : -1;
    MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 16; i++) CHECK(data[i * stride] == i * stride + round, "round %d, element %d", round, i);
    MPI_Type_free(&type);
  }
}

/* Memory that all ranks share: [ranks] integers. Not allocated by MPI: MPICH 5.0.0 to 5.0.2 believe that ranks of one node are on several. */
static int *shared_integers(int ranks) {
  char path[] = "/dev/shm/libcoll-bcast-test-XXXXXX";
  int file = world_rank == 0 ? mkstemp(path) : -1;
  if (world_rank == 0 && (file < 0 || ftruncate(file, ranks * (off_t)sizeof(int)) != 0)) MPI_Abort(MPI_COMM_WORLD, 1);
  PMPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (world_rank != 0) file = open(path, O_RDWR);
  void *memory = mmap(NULL, (size_t)ranks * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file < 0 || memory == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  close(file);
  PMPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0) unlink(path);
  return memory;
}

/* No rank leaves before all have entered. */
static void check_barrier(void) {
  int *entered = shared_integers(world_size);
  for (int round = 1; round <= 100; round++) {
    __atomic_store_n(&entered[world_rank], round, __ATOMIC_RELEASE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int rank = 0; rank < world_size; rank++) {
      const int seen = __atomic_load_n(&entered[rank], __ATOMIC_ACQUIRE);
      CHECK(seen >= round, "left barrier %d while rank %d was in %d", round, rank, seen);
    }
  }
  munmap(entered, (size_t)world_size * sizeof(int));
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  check_predefined();
  check_pair_with_gap();
  check_derived();
  check_bottom();
  check_reused_handles();
  check_barrier();
  return done();
}
