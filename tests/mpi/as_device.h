/* SPDX-License-Identifier: BSD-3-Clause */
/* Included before a test program, and behind as_nonblocking.h or as_persistent.h, moves the buffers of its collectives
   into the memory of a GPU, or of a device that stands in for one: GPU_LIBRARY is the path of the library that allocates
   it. Ranks differ in what they move: two of three buffers. PMPI_ calls, the reference, keep their buffers. */
#ifndef TESTS_MPI_AS_DEVICE_H
#define TESTS_MPI_AS_DEVICE_H

#include "gpu.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void load_gpu(void) {
  const char *path = getenv("GPU_LIBRARY");
  const char *fault = path == NULL ? "GPU_LIBRARY is not set" : gpu_load(path);
  if (fault == NULL) return;
  fprintf(stderr, "%s\n", fault);
  exit(1);
}

/* Part of a buffer, from its first to its last byte of data, and where it is on the device. */
struct moved {
  char *host, *device;
  MPI_Aint begin, end;
  const void *argument; /* for the call */
};

static inline void moved_start(struct moved *moved, const void *buffer) {
  *moved = (struct moved){(char *)(size_t)buffer, NULL, 0, 0, buffer};
}

static inline void moved_add(struct moved *moved, MPI_Aint at, MPI_Count count, MPI_Datatype type) {
  MPI_Aint lower, extent, true_lower, true_extent;
  if (count <= 0) return;
  if (PMPI_Type_get_extent(type, &lower, &extent) != MPI_SUCCESS) return;
  if (PMPI_Type_get_true_extent(type, &true_lower, &true_extent) != MPI_SUCCESS || true_extent <= 0) return;
  const MPI_Aint last = (MPI_Aint)(count - 1) * extent;
  const MPI_Aint begin = at + true_lower + (last < 0 ? last : 0),
                 end = at + true_lower + true_extent + (last > 0 ? last : 0);
  if (moved->begin == moved->end) moved->begin = begin, moved->end = end;
  if (begin < moved->begin) moved->begin = begin;
  if (end > moved->end) moved->end = end;
}

static inline void moved_to_device(struct moved *moved) {
  static unsigned turn;
  static int rank = -1;
  if (rank < 0) PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (moved->begin == moved->end || moved->host == NULL || moved->argument == MPI_IN_PLACE) return;
  if ((turn++ + (unsigned)rank) % 3 == 0) return;
  moved->device = gpu.allocate((size_t)(moved->end - moved->begin));
  if (moved->device == NULL) return;
  gpu.copy(moved->device, moved->host + moved->begin, (size_t)(moved->end - moved->begin));
  moved->argument = moved->device - moved->begin;
}

static inline void moved_back(struct moved *moved, int is_output) {
  if (moved->device == NULL) return;
  if (is_output) gpu.copy(moved->host + moved->begin, moved->device, (size_t)(moved->end - moved->begin));
  gpu.free(moved->device);
  moved->device = NULL;
}

static inline int device_rank(MPI_Comm comm) {
  int rank = -1;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}
static inline int device_size(MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  return size;
}
static inline MPI_Aint device_extent(MPI_Datatype type) {
  MPI_Aint lower, extent = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  return extent;
}

/* Open MPI takes equal buffers to mean in place. */
#define DEVICE_CALL(call)                                               \
  do {                                                                  \
    moved_to_device(&to);                                               \
    if (send == recv) from.argument = to.argument;                      \
    else moved_to_device(&from);                                        \
    const int code = call;                                              \
    moved_back(&from, 0);                                               \
    moved_back(&to, 1);                                                 \
    if (gpu.left_open != NULL && gpu.left_open() != 0) {                \
      fprintf(stderr, "a stream, context or device was left in use\n"); \
      abort();                                                          \
    }                                                                   \
    return code;                                                        \
  } while (0)

static inline int device_Bcast(void *recv, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const void *send = recv;
  struct moved from, to;
  moved_start(&from, recv), moved_start(&to, recv);
  moved_add(&to, 0, count, type);
  DEVICE_CALL(MPI_Bcast((void *)(size_t)to.argument, count, type, root, comm));
}

/* The sides of a call: `regular` blocks of one count, or blocks with counts and displacements in elements. */
static inline void device_regular(struct moved *moved, const void *buffer, int count, MPI_Datatype type, int blocks) {
  moved_start(moved, buffer);
  if (buffer == MPI_IN_PLACE || buffer == NULL) return;
  moved_add(moved, 0, (MPI_Count)count * blocks, type);
}
static inline void device_irregular(struct moved *moved, const void *buffer, const int *counts, const int *displs,
                                    MPI_Datatype type, int blocks) {
  moved_start(moved, buffer);
  if (buffer == MPI_IN_PLACE || buffer == NULL || counts == NULL) return;
  for (int i = 0; i < blocks; i++) moved_add(moved, displs[i] * device_extent(type), counts[i], type);
}

/* A side of a reduction. What the shim forwards to the MPI library, which needs no support for devices here, stays where it
   is: elements of more than 4 KiB or outside their extent, and long vectors of elements with gaps. */
static inline void device_elements(struct moved *moved, const void *buffer, int count, MPI_Datatype type, int vectors) {
  MPI_Aint lower, extent, true_lower = 0, true_extent = 0;
  int size = 0;
  PMPI_Type_size(type, &size);
  PMPI_Type_get_extent(type, &lower, &extent);
  PMPI_Type_get_true_extent(type, &true_lower, &true_extent);
  const int is_forwarded = extent > 4096 || lower != 0 || true_lower < 0 || true_lower + true_extent > extent ||
                           (size < extent && extent * count > 65536);
  device_regular(moved, buffer, is_forwarded ? 0 : count, type, vectors);
}

#define FROM from.argument
#define TO ((void *)(size_t)to.argument)

static inline int device_Reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root,
                                MPI_Comm comm) {
  struct moved from, to;
  device_elements(&from, send, count, type, 1);
  device_elements(&to, recv, device_rank(comm) == root ? count : 0, type, 1);
  DEVICE_CALL(MPI_Reduce(FROM, TO, count, type, op, root, comm));
}

#define DEVICE_REDUCTION(name, inputs)                                                                   \
  static inline int device_##name(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, \
                                  MPI_Comm comm) {                                                       \
    struct moved from, to;                                                                               \
    device_elements(&from, send, count, type, inputs);                                                   \
    device_elements(&to, recv, count, type, send == MPI_IN_PLACE || send == recv ? inputs : 1);          \
    DEVICE_CALL(MPI_##name(FROM, TO, count, type, op, comm));                                            \
  }
DEVICE_REDUCTION(Allreduce, 1)
DEVICE_REDUCTION(Scan, 1)
DEVICE_REDUCTION(Exscan, 1)
DEVICE_REDUCTION(Reduce_scatter_block, device_size(comm))

static inline int device_Reduce_scatter(const void *send, void *recv, const int *counts, MPI_Datatype type, MPI_Op op,
                                        MPI_Comm comm) {
  struct moved from, to;
  int all = 0;
  for (int i = 0; i < device_size(comm); i++) all += counts[i];
  device_regular(&from, send, all, type, 1);
  device_regular(&to, recv, send == MPI_IN_PLACE || send == recv ? all : counts[device_rank(comm)], type, 1);
  DEVICE_CALL(MPI_Reduce_scatter(FROM, TO, counts, type, op, comm));
}

static inline int device_Gather(const void *send, int sends, MPI_Datatype send_type, void *recv, int recvs,
                                MPI_Datatype recv_type, int root, MPI_Comm comm) {
  struct moved from, to;
  device_regular(&from, send, sends, send_type, 1);
  if (device_rank(comm) == root) device_regular(&to, recv, recvs, recv_type, device_size(comm));
  else moved_start(&to, recv);
  DEVICE_CALL(MPI_Gather(FROM, sends, send_type, TO, recvs, recv_type, root, comm));
}

static inline int device_Gatherv(const void *send, int sends, MPI_Datatype send_type, void *recv, const int *recvs,
                                 const int *displs, MPI_Datatype recv_type, int root, MPI_Comm comm) {
  struct moved from, to;
  device_regular(&from, send, sends, send_type, 1);
  if (device_rank(comm) == root) device_irregular(&to, recv, recvs, displs, recv_type, device_size(comm));
  else moved_start(&to, recv);
  DEVICE_CALL(MPI_Gatherv(FROM, sends, send_type, TO, recvs, displs, recv_type, root, comm));
}

static inline int device_Scatter(const void *send, int sends, MPI_Datatype send_type, void *recv, int recvs,
                                 MPI_Datatype recv_type, int root, MPI_Comm comm) {
  struct moved from, to;
  if (device_rank(comm) == root) device_regular(&from, send, sends, send_type, device_size(comm));
  else moved_start(&from, send);
  device_regular(&to, recv, recvs, recv_type, 1);
  DEVICE_CALL(MPI_Scatter(FROM, sends, send_type, TO, recvs, recv_type, root, comm));
}

static inline int device_Scatterv(const void *send, const int *sends, const int *displs, MPI_Datatype send_type,
                                  void *recv, int recvs, MPI_Datatype recv_type, int root, MPI_Comm comm) {
  struct moved from, to;
  if (device_rank(comm) == root) device_irregular(&from, send, sends, displs, send_type, device_size(comm));
  else moved_start(&from, send);
  device_regular(&to, recv, recvs, recv_type, 1);
  DEVICE_CALL(MPI_Scatterv(FROM, sends, displs, send_type, TO, recvs, recv_type, root, comm));
}

static inline int device_Allgather(const void *send, int sends, MPI_Datatype send_type, void *recv, int recvs,
                                   MPI_Datatype recv_type, MPI_Comm comm) {
  struct moved from, to;
  device_regular(&from, send, sends, send_type, 1);
  device_regular(&to, recv, recvs, recv_type, device_size(comm));
  DEVICE_CALL(MPI_Allgather(FROM, sends, send_type, TO, recvs, recv_type, comm));
}

static inline int device_Allgatherv(const void *send, int sends, MPI_Datatype send_type, void *recv, const int *recvs,
                                    const int *displs, MPI_Datatype recv_type, MPI_Comm comm) {
  struct moved from, to;
  device_regular(&from, send, sends, send_type, 1);
  device_irregular(&to, recv, recvs, displs, recv_type, device_size(comm));
  DEVICE_CALL(MPI_Allgatherv(FROM, sends, send_type, TO, recvs, displs, recv_type, comm));
}

static inline int device_Alltoall(const void *send, int sends, MPI_Datatype send_type, void *recv, int recvs,
                                  MPI_Datatype recv_type, MPI_Comm comm) {
  struct moved from, to;
  device_regular(&from, send, sends, send_type, device_size(comm));
  device_regular(&to, recv, recvs, recv_type, device_size(comm));
  DEVICE_CALL(MPI_Alltoall(FROM, sends, send_type, TO, recvs, recv_type, comm));
}

static inline int device_Alltoallv(const void *send, const int *sends, const int *send_displs, MPI_Datatype send_type,
                                   void *recv, const int *recvs, const int *recv_displs, MPI_Datatype recv_type,
                                   MPI_Comm comm) {
  struct moved from, to;
  device_irregular(&from, send, sends, send_displs, send_type, device_size(comm));
  device_irregular(&to, recv, recvs, recv_displs, recv_type, device_size(comm));
  DEVICE_CALL(MPI_Alltoallv(FROM, sends, send_displs, send_type, TO, recvs, recv_displs, recv_type, comm));
}

static inline int device_Alltoallw(const void *send, const int *sends, const int *send_displs,
                                   const MPI_Datatype *send_types, void *recv, const int *recvs, const int *recv_displs,
                                   const MPI_Datatype *recv_types, MPI_Comm comm) {
  struct moved from, to;
  moved_start(&from, send), moved_start(&to, recv);
  for (int i = 0; i < device_size(comm); i++) {
    if (send != MPI_IN_PLACE) moved_add(&from, send_displs[i], sends[i], send_types[i]);
    moved_add(&to, recv_displs[i], recvs[i], recv_types[i]);
  }
  DEVICE_CALL(MPI_Alltoallw(FROM, sends, send_displs, send_types, TO, recvs, recv_displs, recv_types, comm));
}

#undef MPI_Bcast
#undef MPI_Reduce
#undef MPI_Allreduce
#undef MPI_Scan
#undef MPI_Exscan
#undef MPI_Reduce_scatter
#undef MPI_Reduce_scatter_block
#undef MPI_Gather
#undef MPI_Gatherv
#undef MPI_Scatter
#undef MPI_Scatterv
#undef MPI_Allgather
#undef MPI_Allgatherv
#undef MPI_Alltoall
#undef MPI_Alltoallv
#undef MPI_Alltoallw
#define MPI_Bcast device_Bcast
#define MPI_Reduce device_Reduce
#define MPI_Allreduce device_Allreduce
#define MPI_Scan device_Scan
#define MPI_Exscan device_Exscan
#define MPI_Reduce_scatter device_Reduce_scatter
#define MPI_Reduce_scatter_block device_Reduce_scatter_block
#define MPI_Gather device_Gather
#define MPI_Gatherv device_Gatherv
#define MPI_Scatter device_Scatter
#define MPI_Scatterv device_Scatterv
#define MPI_Allgather device_Allgather
#define MPI_Allgatherv device_Allgatherv
#define MPI_Alltoall device_Alltoall
#define MPI_Alltoallv device_Alltoallv
#define MPI_Alltoallw device_Alltoallw

#endif
