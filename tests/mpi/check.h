/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the test programs. These are plain MPI programs without libcoll. */
#ifndef TESTS_MPI_CHECK_H
#define TESTS_MPI_CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Handles of Fortran in the standard ABI. */
#if defined(MPI_ABI_VERSION) && !defined(OPEN_MPI) && !defined(MPICH_VERSION)
#define MPI_Fint int
#define MPI_Request_c2f MPI_Request_toint
#define MPI_Request_f2c MPI_Request_fromint
#endif

static int world_rank, world_size;

static inline void fail_at(const char *file, int line, const char *format, ...) {
  char what[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  fprintf(stderr, "%s:%d: rank %d of %d: %s\n", file, line, world_rank, world_size, what);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

#define CHECK(condition, ...)                                   \
  do {                                                          \
    if (!(condition)) fail_at(__FILE__, __LINE__, __VA_ARGS__); \
  } while (0)

/* A virtual machine of tests/kmod, where everything takes many times as long. */
static inline int emulated(void) { return getenv("KCOLL_VM") != NULL; }

/* Whether qemu-user runs this program. Says then what is not checked, and why. */
static inline int unchecked_in_qemu(const char *what) {
  if (getenv("COLL_TEST_EMULATED") == NULL) return 0;
  if (world_rank == 0) printf("not checked: %s\n", what);
  return 1;
}

/* The seed of random numbers, which run_shim.py sets for all ranks and prints. */
static inline unsigned test_seed(void) {
  const char *text = getenv("COLL_TEST_SEED");
  return text != NULL ? (unsigned)strtoul(text, NULL, 0) : 20u;
}

static inline void start(int *argc, char ***argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
#ifdef TESTS_MPI_AS_NONBLOCKING_H
  /* The ranks agree on a communicator; without it a short program could end before a call is served. What happens
     meanwhile is tested by nonblocking.c and pending.c. */
  MPI_Barrier(MPI_COMM_WORLD);
#endif
}

/* The runner looks for this line: a program that ends early without it has not passed. */
static inline int done(void) {
  const int rank = world_rank;
  MPI_Finalize();
  if (rank == 0) printf("passed\n");
  return 0;
}

static inline void *allocate(size_t bytes) {
  void *memory = malloc(bytes > 0 ? bytes : 1);
  CHECK(memory != NULL, "no memory");
  return memory;
}

#endif
