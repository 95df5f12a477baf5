/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libcoll: collectives between the processes of one node.
 *
 * Conventions of this header
 *  - Every call returns a coll_status; 0 is COLL_OK. coll_strerror() names a status, coll_last_error()
 *    tells the calling thread what was wrong and what mends it.
 *  - Shapes are written [count] of datatype; sizes and offsets are in bytes and end in _bytes.
 *  - A communicator is used by one thread at a time, as in MPI. Different communicators are independent.
 *  - Every rank of a communicator calls the same collectives in the same order with matching arguments.
 *  - COLL_IN_PLACE as the send buffer takes the input from the receive buffer.
 *  - A block is what one rank has for one other, or gets from it. Of [ranks][count] block r is the [count] elements
 *    from r * count on. The v-forms give each block its count and its displacement, both in elements: block r is the
 *    [counts[r]] elements from displs[r] on; displs NULL means that blocks follow each other without gaps. Blocks that
 *    are written must not overlap. Both arrays are read before the call returns, also by the non-blocking and the
 *    persistent forms, and may then be changed.
 *  - Operands combine in rank order, so a result depends only on the inputs, not on placement or timing.
 *  - A call that waits returns COLL_ERR_PEER_DIED when a rank it waits for has ended. The communicator can
 *    then only be freed.
 */
#ifndef COLL_COLL_H
#define COLL_COLL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COLL_VERSION_MAJOR 0
#define COLL_VERSION_MINOR 2
#define COLL_VERSION_PATCH 0
#define COLL_VERSION_STRING "0.2.0"

/* ---- status ------------------------------------------------------------------------------------------ */

typedef enum coll_status {
  COLL_OK = 0,
  COLL_ERR_ARG,         /* an argument is out of range; coll_last_error() names it */
  COLL_ERR_COUNT,       /* count too large, or counts differ between ranks */
  COLL_ERR_ROOT,        /* root is not a rank of the communicator, or roots differ */
  COLL_ERR_TYPE,        /* unknown datatype */
  COLL_ERR_OP,          /* unknown operation, or not defined for the datatype */
  COLL_ERR_BUFFER,      /* null buffer with a non-zero count, or buffers that overlap where they may not */
  COLL_ERR_MISMATCH,    /* ranks called different collectives (found in debug mode) */
  COLL_ERR_PEER_DIED,   /* a rank that was waited for has ended */
  COLL_ERR_NO_MEMORY,   /* memory or a descriptor could not be had */
  COLL_ERR_UNAVAILABLE, /* a transport or algorithm was forced that cannot work here */
  COLL_ERR_TOPOLOGY,    /* a topology description could not be read */
  COLL_ERR_BOOTSTRAP,   /* the bootstrap callback failed, or ranks are on different nodes */
  COLL_ERR_STATE,       /* the call does not fit the object's state: an inactive request waited for ... */
  COLL_ERR_SYSTEM,      /* a system call failed; errno is in coll_last_error() */
  COLL_ERR_TRUNCATE     /* a rank sent more than this one takes: short messages of blocking calls are checked */
} coll_status;

/* A short sentence for a status. Never NULL, never freed. Thread safe. */
const char *coll_strerror(coll_status status);

/* What the calling thread's last failing call found wrong, with the remedy; "" when none failed. */
const char *coll_last_error(void);

/* "MAJOR.MINOR.PATCH" of the library that is loaded. */
const char *coll_version(void);

/* ---- datatypes ---------------------------------------------------------------------------------------- */

/*
 * A datatype is a number: one of the names below, or COLL_TYPE_BYTES(n) for an element of n bytes that only
 * user-defined operations can combine.
 */
typedef uint32_t coll_datatype;

enum {
  COLL_INT8 = 1, COLL_INT16, COLL_INT32, COLL_INT64,
  COLL_UINT8, COLL_UINT16, COLL_UINT32, COLL_UINT64,
  COLL_FLOAT16, COLL_BFLOAT16,               /* 2 bytes each, accumulated in float */
  COLL_FLOAT, COLL_DOUBLE, COLL_LONG_DOUBLE,
  COLL_COMPLEX_FLOAT, COLL_COMPLEX_DOUBLE, COLL_COMPLEX_LONG_DOUBLE,
  COLL_BOOL,                                  /* C _Bool, 1 byte */
  COLL_BYTE,                                  /* 1 byte, bitwise operations only */
  /* pairs for COLL_MINLOC and COLL_MAXLOC: struct { value; int index; } laid out by C */
  COLL_FLOAT_INT, COLL_DOUBLE_INT, COLL_LONG_INT, COLL_INT_INT, COLL_SHORT_INT, COLL_LONG_DOUBLE_INT
};

#define COLL_TYPE_BYTES(n) ((coll_datatype)(0x80000000u | (uint32_t)(n)))

/* Aliases for C's own names (LP64). */
#define COLL_CHAR COLL_INT8
#define COLL_SHORT COLL_INT16
#define COLL_INT COLL_INT32
#define COLL_LONG COLL_INT64
#define COLL_UNSIGNED COLL_UINT32
#define COLL_UNSIGNED_LONG COLL_UINT64

/* Bytes of one element, 0 for an unknown datatype. Thread safe. */
size_t coll_datatype_size(coll_datatype type);
/* "float", "int32", ...; "bytes" for COLL_TYPE_BYTES; NULL for an unknown one. Thread safe. */
const char *coll_datatype_name(coll_datatype type);

/* ---- operations ---------------------------------------------------------------------------------------- */

typedef uint32_t coll_op;

enum {
  COLL_SUM = 1, COLL_PROD, COLL_MIN, COLL_MAX,
  COLL_LAND, COLL_LOR, COLL_LXOR,
  COLL_BAND, COLL_BOR, COLL_BXOR,
  COLL_MINLOC, COLL_MAXLOC
};

/*
 * inout[i] = in[i] op inout[i] for i in [0, count): `in` holds the operand of the lower ranks. May be called
 * with any part of a vector, from the thread that drives the collective. Must not call libcoll.
 */
typedef void (*coll_op_function)(const void *in, void *inout, size_t count, coll_datatype type, void *context);

/*
 * Makes an operation of the caller's own. It must be associative; when `commutative` is 0 operands are
 * combined in rank order and algorithms that reorder are not used. Valid in every communicator of the process.
 * Errors: ARG, NO_MEMORY. Thread safe.
 */
coll_status coll_op_create(coll_op_function function, int commutative, void *context, coll_op *op);
/* Frees it; collectives that use it must have completed. Errors: OP. Thread safe. */
coll_status coll_op_free(coll_op op);
/* "sum", "min", ...; "user" for one made by coll_op_create; NULL for an unknown one. Thread safe. */
const char *coll_op_name(coll_op op);
/* Non-zero when `op` is defined for `type`. Thread safe. */
int coll_op_defined(coll_op op, coll_datatype type);

/* ---- communicators -------------------------------------------------------------------------------------- */

typedef struct coll_comm coll_comm;

/*
 * How ranks find each other: an allgather of bytes, such as any launcher or MPI library has.
 * recv is [ranks * bytes]; rank i's contribution lands at recv + i * bytes. Returns 0 on success. It is called
 * a few times inside coll_comm_create() only, by every rank in the same order.
 */
typedef struct coll_bootstrap {
  size_t size_bytes; /* sizeof(coll_bootstrap) */
  int rank;          /* 0 .. ranks-1 */
  int ranks;         /* >= 1 */
  int (*allgather)(const void *send, void *recv, size_t bytes, void *context);
  void *context;
} coll_bootstrap;

/*
 * Makes a communicator of all ranks of the bootstrap, which must run on one node. Collective.
 * Environment variables that it reads: see libcoll(7).
 * Errors: ARG, BOOTSTRAP, NO_MEMORY, UNAVAILABLE (forced transport), TOPOLOGY, SYSTEM.
 */
coll_status coll_comm_create(const coll_bootstrap *bootstrap, coll_comm **comm);

/*
 * The built-in bootstrap for programs started by `collctl run -n N program`. A program started without it
 * becomes the only rank of its communicator. Errors as coll_comm_create(). Collective.
 */
coll_status coll_comm_create_from_launcher(coll_comm **comm);

/*
 * Ranks that give the same colour form a new communicator, ordered by key, then by rank. A negative colour
 * takes no part and gets NULL. Collective over `comm`. Errors: ARG, NO_MEMORY, PEER_DIED, SYSTEM.
 */
coll_status coll_comm_split(coll_comm *comm, int colour, int key, coll_comm **out);

/*
 * Frees a communicator; local, no other rank is waited for. Requests of it must be complete. NULL is allowed.
 * Errors: STATE when a request is active.
 */
coll_status coll_comm_free(coll_comm *comm);

/*
 * `progress` is called every few microseconds while a blocking call on `comm` waits, so that another library of the
 * process (an MPI, say) can advance meanwhile. It must not use `comm`. NULL takes it back. Such a wait yields the
 * processor after a while but does not sleep. Errors: ARG. Local.
 */
coll_status coll_comm_set_progress(coll_comm *comm, void (*progress)(void *context), void *context);

int coll_comm_rank(const coll_comm *comm);
int coll_comm_size(const coll_comm *comm);
/* One line: ranks, hierarchy, transport, model table. Lives as long as the communicator. */
const char *coll_comm_describe(const coll_comm *comm);

/* ---- memory that peers can map ------------------------------------------------------------------------------ */

/*
 * Memory backed by an anonymous file that every peer of every communicator of this process can map, so that
 * collectives on it copy once and reductions read operands in place. Aligned to a cache line, to a page from
 * one page on. A child after fork() has a private copy of it, which is made when fork() is called. Errors: ARG,
 * NO_MEMORY. Thread safe.
 */
coll_status coll_mem_alloc(size_t bytes, void **memory);
/* Frees it. NULL is allowed. No collective may still use it. Errors: ARG when it was not allocated so. */
coll_status coll_mem_free(void *memory);

/* ---- collectives ---------------------------------------------------------------------------------------------- */

#define COLL_IN_PLACE ((const void *)(intptr_t)-1)
/* The same for the receive buffer of a scatter's root. */
#define COLL_RECV_IN_PLACE ((void *)(intptr_t)-1)

/* Nobody leaves before everybody has entered. Errors: PEER_DIED. */
coll_status coll_barrier(coll_comm *comm);

/*
 * buffer: [count] of type, sent by root, received by the others.
 * Errors: ARG, COUNT, ROOT, TYPE, BUFFER, PEER_DIED, SYSTEM.
 */
coll_status coll_bcast(void *buffer, size_t count, coll_datatype type, int root, coll_comm *comm);

/*
 * recv[i] = send_0[i] op send_1[i] op ... at the root; recv is ignored elsewhere. COLL_IN_PLACE at the root only.
 * Errors: ARG, COUNT, ROOT, TYPE, OP, BUFFER, PEER_DIED, SYSTEM.
 */
coll_status coll_reduce(const void *send, void *recv, size_t count, coll_datatype type, coll_op op, int root,
                        coll_comm *comm);

/*
 * As coll_reduce(), with the result at every rank, the same bits at each.
 * Errors: ARG, COUNT, TYPE, OP, BUFFER, PEER_DIED, SYSTEM.
 */
coll_status coll_allreduce(const void *send, void *recv, size_t count, coll_datatype type, coll_op op,
                           coll_comm *comm);

/*
 * send: [ranks][count] of type at the root, ignored elsewhere; recv: [count], gets the root's block of this rank.
 * COLL_RECV_IN_PLACE as recv at the root leaves the root's own block where it is.
 * Errors: ARG, COUNT, ROOT, TYPE, BUFFER, PEER_DIED, SYSTEM.
 */
coll_status coll_scatter(const void *send, void *recv, size_t count, coll_datatype type, int root, coll_comm *comm);

/*
 * As coll_scatter(), with [counts[r]] at send + displs[r] for rank r, whose own count is that. counts and displs:
 * [ranks], ignored but at the root. Errors: as coll_scatter().
 */
coll_status coll_scatterv(const void *send, const size_t *counts, const size_t *displs, void *recv, size_t count,
                          coll_datatype type, int root, coll_comm *comm);

/*
 * send: [count] of type; recv: [ranks][count] at the root, ignored elsewhere; its block r is what rank r sent.
 * COLL_IN_PLACE as send at the root: its own block lies in recv already.
 * Errors: ARG, COUNT, ROOT, TYPE, BUFFER, PEER_DIED, SYSTEM.
 */
coll_status coll_gather(const void *send, void *recv, size_t count, coll_datatype type, int root, coll_comm *comm);

/*
 * As coll_gather(), with [counts[r]] at recv + displs[r] from rank r, whose own count is that. counts and displs:
 * [ranks], ignored but at the root. Errors: as coll_gather().
 */
coll_status coll_gatherv(const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs,
                         coll_datatype type, int root, coll_comm *comm);

/*
 * send: [count] of type; recv: [ranks][count], of which block r is what rank r sent. COLL_IN_PLACE as send: each rank's
 * own block lies in recv already, on all ranks alike. Errors: ARG, COUNT, TYPE, BUFFER, PEER_DIED, SYSTEM.
 */
coll_status coll_allgather(const void *send, void *recv, size_t count, coll_datatype type, coll_comm *comm);

/*
 * As coll_allgather(), with [counts[r]] at recv + displs[r] from rank r. counts: [ranks], the same on every rank;
 * displs: [ranks], each rank's own. count is counts[rank], and ignored in place. Errors: as coll_allgather().
 */
coll_status coll_allgatherv(const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs,
                            coll_datatype type, coll_comm *comm);

/*
 * send, recv: [ranks][count] of type. Block r of send goes to rank r, block r of recv comes from it. COLL_IN_PLACE as
 * send: recv holds what is sent. Errors: ARG, COUNT, TYPE, BUFFER, NO_MEMORY, PEER_DIED, SYSTEM.
 */
coll_status coll_alltoall(const void *send, void *recv, size_t count, coll_datatype type, coll_comm *comm);

/*
 * As coll_alltoall(), with [send_counts[r]] at send + send_displs[r] for rank r and [recv_counts[r]] at
 * recv + recv_displs[r] from it; what a rank sends to another is what that one receives. All: [ranks]. In place
 * send_counts and send_displs are ignored. Errors: as coll_alltoall().
 */
coll_status coll_alltoallv(const void *send, const size_t *send_counts, const size_t *send_displs, void *recv,
                           const size_t *recv_counts, const size_t *recv_displs, coll_datatype type, coll_comm *comm);

/*
 * send: [counts[0] + counts[1] + ...] of type. All send vectors are reduced, and block r of the result, [counts[r]],
 * goes to recv at rank r. counts: [ranks], the same on every rank. COLL_IN_PLACE as send: recv holds the whole input
 * and gets the result at its beginning; what follows is left as it is.
 * Errors: ARG, COUNT, TYPE, OP, BUFFER, NO_MEMORY, PEER_DIED, SYSTEM.
 */
coll_status coll_reduce_scatter(const void *send, void *recv, const size_t *counts, coll_datatype type, coll_op op,
                                coll_comm *comm);

/* As coll_reduce_scatter() with the same count for every rank: send [ranks][count], recv [count]. */
coll_status coll_reduce_scatter_block(const void *send, void *recv, size_t count, coll_datatype type, coll_op op,
                                      coll_comm *comm);

/*
 * recv[i] = send_0[i] op send_1[i] op ... op send_rank[i]: of all ranks up to the caller. send, recv: [count] of type.
 * Errors: ARG, COUNT, TYPE, OP, BUFFER, PEER_DIED, SYSTEM.
 */
coll_status coll_scan(const void *send, void *recv, size_t count, coll_datatype type, coll_op op, coll_comm *comm);

/* As coll_scan() without the caller's own operand. recv of rank 0 is not touched and may be NULL unless in place. */
coll_status coll_exscan(const void *send, void *recv, size_t count, coll_datatype type, coll_op op, coll_comm *comm);

/* ---- requests --------------------------------------------------------------------------------------------------- */

typedef struct coll_request coll_request;

/*
 * The non-blocking forms start the collective and return; buffers must not be touched until it completes.
 * Progress is made inside any libcoll call on the same communicator. Errors as the blocking forms.
 */
coll_status coll_ibarrier(coll_comm *comm, coll_request **request);
coll_status coll_ibcast(void *buffer, size_t count, coll_datatype type, int root, coll_comm *comm,
                        coll_request **request);
coll_status coll_ireduce(const void *send, void *recv, size_t count, coll_datatype type, coll_op op, int root,
                         coll_comm *comm, coll_request **request);
coll_status coll_iallreduce(const void *send, void *recv, size_t count, coll_datatype type, coll_op op,
                            coll_comm *comm, coll_request **request);
coll_status coll_iscatter(const void *send, void *recv, size_t count, coll_datatype type, int root, coll_comm *comm,
                          coll_request **request);
coll_status coll_iscatterv(const void *send, const size_t *counts, const size_t *displs, void *recv, size_t count,
                           coll_datatype type, int root, coll_comm *comm, coll_request **request);
coll_status coll_igather(const void *send, void *recv, size_t count, coll_datatype type, int root, coll_comm *comm,
                         coll_request **request);
coll_status coll_igatherv(const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs,
                          coll_datatype type, int root, coll_comm *comm, coll_request **request);
coll_status coll_iallgather(const void *send, void *recv, size_t count, coll_datatype type, coll_comm *comm,
                            coll_request **request);
coll_status coll_iallgatherv(const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs,
                             coll_datatype type, coll_comm *comm, coll_request **request);
coll_status coll_ialltoall(const void *send, void *recv, size_t count, coll_datatype type, coll_comm *comm,
                           coll_request **request);
coll_status coll_ialltoallv(const void *send, const size_t *send_counts, const size_t *send_displs, void *recv,
                            const size_t *recv_counts, const size_t *recv_displs, coll_datatype type, coll_comm *comm,
                            coll_request **request);
coll_status coll_ireduce_scatter(const void *send, void *recv, const size_t *counts, coll_datatype type, coll_op op,
                                 coll_comm *comm, coll_request **request);
coll_status coll_ireduce_scatter_block(const void *send, void *recv, size_t count, coll_datatype type, coll_op op,
                                       coll_comm *comm, coll_request **request);
coll_status coll_iscan(const void *send, void *recv, size_t count, coll_datatype type, coll_op op, coll_comm *comm,
                       coll_request **request);
coll_status coll_iexscan(const void *send, void *recv, size_t count, coll_datatype type, coll_op op, coll_comm *comm,
                         coll_request **request);

/*
 * The persistent forms bind arguments once; each coll_start() runs the collective anew. Every rank starts its
 * requests of one communicator in the same order. Free them with coll_request_free().
 */
coll_status coll_barrier_init(coll_comm *comm, coll_request **request);
coll_status coll_bcast_init(void *buffer, size_t count, coll_datatype type, int root, coll_comm *comm,
                            coll_request **request);
coll_status coll_reduce_init(const void *send, void *recv, size_t count, coll_datatype type, coll_op op, int root,
                             coll_comm *comm, coll_request **request);
coll_status coll_allreduce_init(const void *send, void *recv, size_t count, coll_datatype type, coll_op op,
                                coll_comm *comm, coll_request **request);
coll_status coll_scatter_init(const void *send, void *recv, size_t count, coll_datatype type, int root, coll_comm *comm,
                              coll_request **request);
coll_status coll_scatterv_init(const void *send, const size_t *counts, const size_t *displs, void *recv, size_t count,
                               coll_datatype type, int root, coll_comm *comm, coll_request **request);
coll_status coll_gather_init(const void *send, void *recv, size_t count, coll_datatype type, int root, coll_comm *comm,
                             coll_request **request);
coll_status coll_gatherv_init(const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs,
                              coll_datatype type, int root, coll_comm *comm, coll_request **request);
coll_status coll_allgather_init(const void *send, void *recv, size_t count, coll_datatype type, coll_comm *comm,
                                coll_request **request);
coll_status coll_allgatherv_init(const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs,
                                 coll_datatype type, coll_comm *comm, coll_request **request);
coll_status coll_alltoall_init(const void *send, void *recv, size_t count, coll_datatype type, coll_comm *comm,
                               coll_request **request);
coll_status coll_alltoallv_init(const void *send, const size_t *send_counts, const size_t *send_displs, void *recv,
                                const size_t *recv_counts, const size_t *recv_displs, coll_datatype type,
                                coll_comm *comm, coll_request **request);
coll_status coll_reduce_scatter_init(const void *send, void *recv, const size_t *counts, coll_datatype type, coll_op op,
                                     coll_comm *comm, coll_request **request);
coll_status coll_reduce_scatter_block_init(const void *send, void *recv, size_t count, coll_datatype type, coll_op op,
                                           coll_comm *comm, coll_request **request);
coll_status coll_scan_init(const void *send, void *recv, size_t count, coll_datatype type, coll_op op, coll_comm *comm,
                           coll_request **request);
coll_status coll_exscan_init(const void *send, void *recv, size_t count, coll_datatype type, coll_op op,
                             coll_comm *comm, coll_request **request);

/* Starts a persistent request. Errors: STATE when it is active already. */
coll_status coll_start(coll_request *request);
/* *done = 1 when complete. A completed non-persistent request is freed and *request becomes NULL. */
coll_status coll_test(coll_request **request, int *done);
/* Waits; frees as coll_test() does. A NULL request is complete. */
coll_status coll_wait(coll_request **request);
/* Frees a persistent request. Errors: STATE when it is active. NULL is allowed. */
coll_status coll_request_free(coll_request *request);

#ifdef __cplusplus
}
#endif
#endif /* COLL_COLL_H */
