/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libcoll: MPI-style collectives between the processes of one Linux node, over shared memory.
 *
 * Why this file is long: it is the whole C interface, and each comment is the contract of the functions below it.
 *
 * Terms
 *  - A rank is one member of a communicator: a process, or one of several threads of a process. The ranks of a
 *    communicator are numbered from 0. A peer is another rank of the same communicator. Every rank has a coll_comm of
 *    its own.
 *  - A collective function must be called by every rank of the communicator. All ranks call the same collectives on a
 *    communicator, blocking, non-blocking and persistent ones, in the same order and with matching arguments: the same
 *    count, datatype, operation and root unless the function says otherwise. A collective may return before the peers
 *    have called it; only coll_barrier() synchronises.
 *  - A local function returns without waiting for a peer.
 *  - Shapes are written [count] of datatype. Counts and displacements are numbers of elements; names of sizes in bytes
 *    end in _bytes or are `bytes`.
 *  - A block is the part of a vector that one rank has for another rank, or gets from it. Of a [ranks][count] vector,
 *    block r is the [count] elements from element r * count on. The v-forms give every block a count and a
 *    displacement of its own: block r is the [counts[r]] elements from element displs[r] on. displs may be NULL: the
 *    blocks then follow each other without gaps. Blocks that are written must not overlap; this is not checked.
 *
 * Errors
 *  - A function that can fail returns a coll_status; COLL_OK is 0. "Errors:" lists the statuses that it can return,
 *    without the prefix COLL_ERR_. coll_strerror() describes a status, coll_last_error() the failure and its fix.
 *  - A wrong argument is found before any data is moved, by the rank that passed it. The peers do not learn of it: if
 *    they passed right arguments, they wait for this rank.
 *  - "Errors of collectives" are:
 *      ARG          comm, or an array of counts that this rank needs, is NULL
 *      NO_MEMORY    not enough memory for the algorithm's own data. Nothing was started, unless coll_last_error() says
 *                   that it happened in the middle of the operation: then the communicator is unusable
 *      UNAVAILABLE  an environment variable, such as COLL_BCAST, forces an algorithm that cannot serve the call
 *      STATE        comm belongs to the parent of this process (fork())
 *      MISMATCH     blocking forms, with COLL_DEBUG=1: the ranks called different collectives, or with different
 *                   sizes, roots or operations. Every rank returns it, before data is moved; the communicator stays
 *                   usable
 *      TRUNCATE     blocking forms but the v-forms, short messages: a peer sent more than this rank receives. The
 *                   communicator stays usable; the contents of the receive buffer are unspecified
 *      PEER_DIED    a peer that this rank waited for has exited, was killed, has freed the communicator, or failed in
 *                   a collective on it. The communicator is unusable
 *      ABORTED      a rank has called coll_comm_abort(). The communicator is unusable
 *      SYSTEM       a copy between processes failed. The communicator is unusable
 *  - Of an unusable communicator every later collective returns the same status as the one that failed, on this rank.
 *    Buffers of the failed collective have unspecified contents. All that is left to do is to wait for the active
 *    requests, which complete or fail, and to call coll_comm_free(), in any order.
 *  - A wait returns PEER_DIED within about a second of a peer's end, and ABORTED of a coll_comm_abort().
 *
 * Threads
 *  - "Thread safety: full": any thread may call the function at any time.
 *  - "Thread safety: per communicator": at most one thread at a time may be in such a function for the same
 *    communicator, and no other thread may start one of its requests meanwhile. It need not always be the same thread.
 *    Calls on different communicators may run concurrently.
 *  - "Thread safety: per request": several threads may be in such functions at the same time for different requests of
 *    one communicator, and one for the same request. Starts must still have the same order on every rank.
 *  - coll_test() and coll_wait() may also run while another thread is in a blocking collective on the communicator.
 *  - A blocking call that waits spins at first, then yields the core, then sleeps.
 *  - Progress is made in the calling thread only, by coll_start(), the non-blocking forms, coll_test() and coll_wait(),
 *    by blocking collectives on the same communicator while they wait, and on all communicators by coll_progress(). One
 *    thread at a time advances the requests of a communicator. Another thread does not wait for it, but skips them; only
 *    a start waits, until that thread has advanced what it can.
 *  - A process with a communicator of several processes gets a thread that sleeps until the process ends: by its end
 *    the kernel tells the peers that the process has ended or has called execve(). It runs no code of the program and
 *    receives no signal.
 *  - Callbacks must not throw, and must not leave by longjmp().
 *
 * Buffers
 *  - Buffers may be at any address: elements need not be aligned to their datatype.
 *  - Memory belongs to the caller. A blocking call is done with the buffers when it returns. From the start of a
 *    non-blocking or persistent collective until it completes, its send buffer must not be written or freed, and its
 *    receive buffer must not be read, written or freed.
 *  - Arrays of counts and displacements, and the coll_bootstrap, are read before the call returns, also by the
 *    non-blocking and persistent forms, and may then be changed or freed.
 *  - Send and receive buffer must not overlap (BUFFER). COLL_IN_PLACE instead of the send buffer takes the input from
 *    the receive buffer, where a function allows it. Pass it on every rank or on none; the rooted collectives allow it
 *    on the root only.
 *  - A buffer may be NULL when the call moves no elements through it. If count is 0 on every rank, or all counts of an
 *    allgatherv or a reduce_scatter are 0, the collective does nothing and does not wait.
 *
 * Order of operands
 *  - A reduction of p ranks computes fold(0, p), a scan fold(0, r + 1) at rank r, an exclusive scan fold(0, r), with
 *    fold(i, i + 1) = send_i and fold(i, j) = fold(i, i + m) op fold(i + m, j), where m is the largest power of two
 *    below j - i: a balanced tree in rank order. So on one node a result has the same bits whatever the placement,
 *    algorithm, size, chunk and transport, in place or not, blocking or not, and an operation need not commute. The
 *    rounding error of a sum is that of pairwise summation: at most about ceil(log2 p) roundings of the sum of the
 *    absolute values.
 *  - min and max are NaN where an operand is; of equal operands, such as -0 and +0, that of the lowest rank is the result.
 *    minloc and maxloc take the lowest index of equal values, a NaN wins. Sign and payload of the NaN that a sum or
 *    product gives are unspecified.
 *  - Built-in operations on 16-bit floats compute in float, partial results are float, and the result is rounded once; a
 *    user-defined operation sees 16-bit elements at every application.
 *  - An environment variable, such as COLL_ALLREDUCE, can force an algorithm with another order; for an operation that
 *    does not commute that is refused (UNAVAILABLE).
 *
 * fork() and exit()
 *  - Communicators and requests belong to the process that made them. The parent goes on using them after fork(). In the
 *    child every collective on them, coll_comm_split(), coll_start(), and coll_wait() and coll_test() of a request that
 *    was active, return STATE at once. coll_comm_rank(), coll_comm_size() and coll_comm_describe() work there.
 *  - The child may free them, also while a request is active, and need not. That releases memory of the child only:
 *    neither the parent nor a peer notices it. So destructors and exit handlers may run in the child.
 *  - Operations stay valid in the child, which may also allocate memory and create communicators of its own. See
 *    coll_mem_alloc() for what becomes of the parent's memory.
 *  - A child of vfork(), or of clone() without handlers of pthread_atfork(), must not call libcoll.
 *  - Destructors of static objects and exit handlers of a rank may call collectives and free communicators. They must
 *    not create any. A rank that exits without freeing its communicators leaves nothing behind; peers that wait for it
 *    get PEER_DIED.
 *
 * Algorithms
 *  - libcoll chooses an algorithm for each call. `collctl list` prints all of them, and libcoll(7) the variables that
 *    force one. Source names the papers that they come from:
 *      XHC    Katevenis, Ploumidis, Marazakis 2022, "A framework for hierarchical single-copy MPI collectives on
 *             multicore nodes"
 *      YHCCL  movement-avoiding reductions and adaptive non-temporal copies
 *      KNEM   Ma et al. 2011: kernel-assisted collectives with direction control
 *      CMA    Chakraborty, Subramoni, Panda 2017, "Contention-Aware Kernel-Assisted MPI Collectives for
 *             Multi-/Many-core Systems"
 *      SAS    Hashmi et al. 2018: reductions in a shared address space
 *    What differs from the papers: any number of ranks, any root, chunks in a bounded ring of shared memory, and of the
 *    reductions only those that keep the order above unless another one is forced.
 */
#ifndef COLL_COLL_H
#define COLL_COLL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COLL_VERSION_MAJOR 0
#define COLL_VERSION_MINOR 3
#define COLL_VERSION_PATCH 0
#define COLL_VERSION_STRING "0.3.0"

/* ---- status ------------------------------------------------------------------------------------------ */

typedef enum coll_status {
  COLL_OK = 0,
  COLL_ERR_ARG,         /* invalid argument; coll_last_error() names it */
  COLL_ERR_COUNT,       /* count too large, or different on two ranks */
  COLL_ERR_ROOT,        /* root is not a rank of the communicator */
  COLL_ERR_TYPE,        /* unknown datatype, or elements too large to be reduced */
  COLL_ERR_OP,          /* unknown operation, or not defined for the datatype */
  COLL_ERR_BUFFER,      /* NULL buffer for a non-zero count, in place where not allowed, or buffers overlap */
  COLL_ERR_MISMATCH,    /* the ranks called different collectives (checked with COLL_DEBUG=1) */
  COLL_ERR_PEER_DIED,   /* a peer that was waited for has exited, left the communicator, or failed */
  COLL_ERR_NO_MEMORY,   /* out of memory, shared memory or file descriptors */
  COLL_ERR_UNAVAILABLE, /* a transport or algorithm that was asked for does not work here */
  COLL_ERR_TOPOLOGY,    /* the topology description cannot be read */
  COLL_ERR_BOOTSTRAP,   /* the bootstrap failed, ranks are on different nodes, or their settings differ */
  COLL_ERR_STATE,       /* the object is in a state that does not allow the call: a request is active ... */
  COLL_ERR_SYSTEM,      /* a system call failed; coll_last_error() says which */
  COLL_ERR_TRUNCATE,    /* a peer sent more than this rank receives */
  COLL_ERR_ABORTED      /* coll_comm_abort() was called on the communicator */
} coll_status;

/*
 * Returns one short sentence that describes `status`, "unknown status" for any other number. The string is static:
 * never NULL, never freed.
 * Errors: none. Thread safety: full.
 */
const char *coll_strerror(coll_status status);

/*
 * Returns a description of the calling thread's most recent failure and how to fix it, or "" if no libcoll call has
 * failed on this thread. At most 511 bytes; longer texts are cut. Calls that succeed leave it as it is. The string is
 * the thread's own and is valid until the next failing call on this thread, which overwrites it, or the end of the
 * thread; copy it to keep it. Functions that do not return a coll_status do not set it.
 * Errors: none. Thread safety: full.
 */
const char *coll_last_error(void);

/*
 * Returns "MAJOR.MINOR.PATCH" of the library that is loaded, which may differ from COLL_VERSION_STRING of the header.
 * The string is static.
 * Errors: none. Thread safety: full.
 */
const char *coll_version(void);

/* ---- datatypes ---------------------------------------------------------------------------------------- */

/*
 * A datatype is a number: one of the names below, or COLL_TYPE_BYTES(n), an element of n bytes, 1 <= n < 2^31, without
 * alignment. Built-in operations are not defined for the latter; user-defined operations are. Elements of more than
 * 512 KiB cannot be reduced (TYPE) if there is more than one rank.
 */
typedef uint32_t coll_datatype;

enum {
  COLL_INT8 = 1, COLL_INT16, COLL_INT32, COLL_INT64,
  COLL_UINT8, COLL_UINT16, COLL_UINT32, COLL_UINT64,
  COLL_FLOAT16, COLL_BFLOAT16,               /* 2 bytes each; operands are combined in float */
  COLL_FLOAT, COLL_DOUBLE, COLL_LONG_DOUBLE,
  COLL_COMPLEX_FLOAT, COLL_COMPLEX_DOUBLE, COLL_COMPLEX_LONG_DOUBLE,
  COLL_BOOL,                                  /* C _Bool, 1 byte */
  COLL_BYTE,                                  /* 1 byte, bitwise operations only */
  /* pairs for COLL_MINLOC and COLL_MAXLOC: struct { value; int index; } with C's layout */
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

/*
 * Returns the size of one element in bytes, 0 for an unknown datatype.
 * Errors: none. Thread safety: full.
 */
size_t coll_datatype_size(coll_datatype type);

/*
 * Returns "float", "int32", ...; "bytes" for COLL_TYPE_BYTES; NULL for an unknown datatype. The string is static.
 * Errors: none. Thread safety: full.
 */
const char *coll_datatype_name(coll_datatype type);

/* ---- operations ---------------------------------------------------------------------------------------- */

/*
 * An operation is a number: one of the names below, or one that coll_op_create() or coll_op_create_scaled_sum() returned.
 * Where they are defined:
 *   SUM, PROD             integers (signed overflow gives an unspecified value), floating point, complex
 *   MIN, MAX              integers, floating point; NaN if an operand is NaN
 *   LAND, LOR, LXOR       integers, COLL_BOOL; the result is 0 or 1
 *   BAND, BOR, BXOR       integers, COLL_BYTE
 *   MINLOC, MAXLOC        pairs; the smallest index of equal values; NaN wins over numbers
 */
typedef uint32_t coll_op;

enum {
  COLL_SUM = 1, COLL_PROD, COLL_MIN, COLL_MAX,
  COLL_LAND, COLL_LOR, COLL_LXOR,
  COLL_BAND, COLL_BOR, COLL_BXOR,
  COLL_MINLOC, COLL_MAXLOC
};

/*
 * A user-defined operation: inout[i] = in[i] op inout[i] for i in [0, count). in, inout: [count] of type; `in` holds
 * the operand of the lower ranks. They do not overlap and are valid during the call only. type is the datatype of the
 * collective, context what coll_op_create() was given.
 * libcoll calls it any number of times for any parts of a vector, in a thread that is inside a libcoll call on the
 * communicator. It must not call libcoll.
 */
typedef void (*coll_op_function)(const void *in, void *inout, size_t count, coll_datatype type, void *context);

/*
 * Makes an operation of the caller's own and stores its number in *op, which is valid for every datatype and in every
 * communicator of this process. The function must be associative. If `commutative` is 0, operands are combined in rank
 * order and algorithms that reorder them are not used; otherwise libcoll may reorder. On failure *op is unchanged.
 * `function` and `context` must stay valid until the operation is freed and every collective and persistent request
 * that was given it has completed or been freed.
 * Local. Errors: ARG (function or op is NULL), NO_MEMORY. Thread safety: full; if collectives on several communicators
 * run concurrently, the function is called concurrently.
 */
coll_status coll_op_create(coll_op_function function, int commutative, void *context, coll_op *op);

/*
 * Makes an operation that multiplies each rank's input by a factor of that rank, and adds the products: factor_0 *
 * send_0[i] + factor_1 * send_1[i] + ... . *factor: one element of `type`, copied; `type` is one that COLL_SUM is defined
 * for. The number goes to *op, and is valid for that datatype and in every communicator of this process, for every
 * function that reduces. All ranks pass such an operation, of one datatype; the factors may differ. On failure *op is
 * unchanged.
 * Each product is rounded to the datatype, also that of 16-bit floats, and the products are then added as COLL_SUM adds:
 * so the result has the bits of COLL_SUM of vectors that the ranks have multiplied before.
 * Cost: libcoll writes the products, in one pass, to memory of its own, as much as the input, that peers can map. It reads
 * the input before the call, or the start of the request, returns. A request keeps that memory until it is freed, a
 * communicator that of its blocking calls.
 * Local. Errors: ARG (factor or op is NULL), TYPE, OP (COLL_SUM is not defined for type), NO_MEMORY. Thread safety: full.
 */
coll_status coll_op_create_scaled_sum(const void *factor, coll_datatype type, coll_op *op);

/*
 * Frees an operation of coll_op_create() or coll_op_create_scaled_sum(). Its number is then unknown to every function.
 * Collectives that use one of coll_op_create() must have completed, and persistent requests that use it been freed; a
 * scaled sum may be freed at any time, they keep its factor.
 * Local. Errors: OP (built in, never created, or freed already). Thread safety: full.
 */
coll_status coll_op_free(coll_op op);

/*
 * Returns "sum", "min", ...; "user" for an operation of coll_op_create(), "scaled_sum" for one of
 * coll_op_create_scaled_sum(); NULL for an unknown one. The string is static.
 * Errors: none. Thread safety: full.
 */
const char *coll_op_name(coll_op op);

/*
 * Returns non-zero if `op` is defined for `type`; a user-defined operation is for every known datatype, a scaled sum for
 * that of its factor.
 * Errors: none; 0 if op or type is unknown. Thread safety: full.
 */
int coll_op_defined(coll_op op, coll_datatype type);

/* ---- communicators -------------------------------------------------------------------------------------- */

/* One rank's handle on a communicator. coll_comm_free() frees it. */
typedef struct coll_comm coll_comm;

/*
 * How the ranks find each other: an allgather of bytes, such as any launcher or MPI library has.
 */
typedef struct coll_bootstrap {
  size_t size_bytes; /* sizeof(coll_bootstrap) */
  int rank;          /* of the caller, 0 .. ranks-1 */
  int ranks;         /* 1 .. 4096 */
  /*
   * send: [bytes], recv: [ranks * bytes]; the bytes of rank r go to recv + r * bytes. Returns 0 on success, anything
   * else on failure. Called by coll_comm_create() only, in its thread, at most three times, with the same sizes on
   * every rank.
   */
  int (*allgather)(const void *send, void *recv, size_t bytes, void *context);
  void *context;     /* passed to allgather */
} coll_bootstrap;

/*
 * Makes a communicator of all ranks of the bootstrap and stores the caller's handle in *comm. The ranks must be on one
 * node; several of them may be threads of one process. Reads the environment variables of
 * libcoll(7), most of which must be the same on every rank. On failure *comm is NULL; a problem that one rank finds
 * makes every rank fail, with its status. The bootstrap is not used after the call.
 * Collective. Errors: ARG (NULL, impossible rank or ranks, invalid variable), BOOTSTRAP (allgather failed; ranks on
 * different nodes, of different versions, or with different variables), NO_MEMORY, UNAVAILABLE (unknown or forced
 * transport or algorithm that does not work here), TOPOLOGY, SYSTEM. Thread safety: full; ranks that are threads of one
 * process call it concurrently.
 */
coll_status coll_comm_create(const coll_bootstrap *bootstrap, coll_comm **comm);

/*
 * As coll_comm_create(), of all ranks that one launcher has started: collctl run, mpirun of Open MPI, mpiexec of MPICH,
 * prterun, srun, flux run, PALS, torchrun, or a script that sets COLL_RANK, COLL_SIZE and COLL_RENDEZVOUS. The innermost
 * launcher counts. A program that none has started becomes the only rank of its communicator. May be called again, by
 * every rank, for another communicator of the same ranks.
 * Collective. Errors: as coll_comm_create(); BOOTSTRAP also if the launcher has started several ranks and they cannot
 * find each other, or are on several nodes; if a rank has ended, or has not come within COLL_RENDEZVOUS_TIMEOUT; or if
 * another process is this rank: one that has called this and has not yet freed the communicator; STATE (another thread of
 * the process is in the call). Thread safety: one thread of the process at a time.
 */
coll_status coll_comm_create_from_launcher(coll_comm **comm);

/*
 * Splits a communicator: the ranks that give the same colour form a new one, in which they are ordered by key, and by
 * their rank in `comm` if keys are equal. *out is the caller's handle on it. A rank with a negative colour gets NULL
 * and COLL_OK. The environment is read anew. The new communicator does not depend on `comm`, which may be freed before
 * it. On failure *out is NULL; ranks of other colours may have succeeded.
 * Collective over comm. Errors: ARG (comm or out is NULL, invalid variable), BOOTSTRAP, NO_MEMORY, UNAVAILABLE,
 * TOPOLOGY, MISMATCH, STATE (comm belongs to the parent process), PEER_DIED, ABORTED, SYSTEM. Thread safety: per
 * communicator.
 */
coll_status coll_comm_split(coll_comm *comm, int colour, int key, coll_comm **out);

/*
 * Frees the caller's handle on a communicator. NULL is allowed and does nothing. No peer is waited for: peers finish
 * collectives that this rank has completed, and get PEER_DIED from any that it has not called.
 * Requests outlive the handle. While one is active, the communicator itself lives on without it: such requests advance
 * and complete as before, in coll_test() and coll_wait(). The memory of the communicator is released when each of its
 * active requests has been waited for, or tested and found complete. coll_wait() and coll_test() also return the status
 * of a request that was complete before; coll_request_free() frees a persistent one. A start fails with STATE.
 * A callback of coll_comm_set_progress() is not called any more. Returns COLL_OK.
 * Local. Errors: none. Thread safety: per communicator.
 */
coll_status coll_comm_free(coll_comm *comm);

/*
 * Ends all waiting on a communicator, on every rank, and makes it unusable there. A blocking collective, coll_wait(),
 * coll_test() of an active request, and coll_comm_split() that wait return ABORTED within a second, whether the rank
 * spins, yields or sleeps. So do requests of a rank that has freed its handle. On the calling rank every later call does;
 * on a peer, every later one that has to wait, and all after it. `status` is any error: why. coll_last_error() of each
 * rank names it, and the rank that aborted. If several do at once, a rank sees one of them.
 * A peer may access the buffers of a collective that has ended so until that has ended there, too.
 * Other communicators, also those that were split from it, are not affected. comm must not be freed during the call.
 * Local. Errors: ARG (comm is NULL, or status is not an error), STATE (comm belongs to the parent process).
 * Thread safety: full.
 */
coll_status coll_comm_abort(coll_comm *comm, coll_status status);

/*
 * Installs a callback that is called again and again while a blocking call or coll_wait() on `comm` waits, so that
 * another library of the process, such as MPI, can advance meanwhile. NULL removes it. It is called with `context` in
 * the waiting thread, every few microseconds at first; a rank that has waited for long sleeps between two calls, for at
 * most 200 us. It must not use `comm` or its requests. Callback and context must stay valid until the callback is
 * replaced or the communicator is freed.
 * Local. Errors: ARG (comm is NULL). Thread safety: per communicator.
 */
coll_status coll_comm_set_progress(coll_comm *comm, void (*progress)(void *context), void *context);

/*
 * Return the caller's rank, 0 .. size-1, and the number of ranks, >= 1; both return -1 if comm is NULL. They do not
 * change over the life of a communicator, even if a peer dies.
 * Local. Errors: none. Thread safety: full, until comm is freed.
 */
int coll_comm_rank(const coll_comm *comm);
int coll_comm_size(const coll_comm *comm);

/*
 * Returns one line about the communicator for people to read: ranks, hierarchy, transport, table. Its wording may
 * change in any version. "" if comm is NULL. The string is valid until the communicator is freed.
 * Local. Errors: none. Thread safety: full, until comm is freed.
 */
const char *coll_comm_describe(const coll_comm *comm);

/* ---- memory that peers can map ------------------------------------------------------------------------------ */

/*
 * Allocates `bytes` bytes of shared memory that the peers of every communicator of this process can map: collectives on
 * it copy data once, and reductions read operands in place. *memory is aligned to 64 bytes, from 4 KiB on to a page and
 * from 2 MiB on to a huge page; its contents are unspecified. 0 bytes give memory that must be freed, too. On failure
 * *memory is NULL. No communicator is needed. The memory stays until coll_mem_free() or the end of the process.
 *
 * Address space is reserved, but not committed, in extents of 64 MiB and more, at most twice as much as is allocated.
 * The memory is accounted as shared memory, also in container limits, and is not in core dumps.
 *
 * After fork() the child has a private copy of the memory at the same address, made eagerly during fork(). If there is
 * not enough memory for the copy, the memory is inaccessible in the child (SIGSEGV). The child's copy must not be
 * passed to coll_mem_free(), which returns ARG for it; it lasts until the child ends or calls exec.
 * Local. Errors: ARG (memory is NULL), NO_MEMORY. Thread safety: full.
 */
coll_status coll_mem_alloc(size_t bytes, void **memory);

/*
 * Frees memory of coll_mem_alloc(). NULL is allowed and does nothing. Collectives that use the memory must have
 * completed on this rank; no peer accesses it after that.
 * Local. Errors: ARG (not the start of an allocation of coll_mem_alloc() in this process, or freed already).
 * Thread safety: full.
 */
coll_status coll_mem_free(void *memory);

/* ---- collectives ---------------------------------------------------------------------------------------------- */

/* Instead of the send buffer: the input is in the receive buffer. */
#define COLL_IN_PLACE ((const void *)(intptr_t)-1)
/* Instead of the receive buffer of a scatter's root: the root's own block stays where it is in the send buffer. */
#define COLL_RECV_IN_PLACE ((void *)(intptr_t)-1)

/*
 * Returns when every rank has called it.
 * Source: XHC; Hensgen, Finkel, Manber 1988 (dissemination).
 * Errors: those of collectives but TRUNCATE. Thread safety: per communicator.
 */
coll_status coll_barrier(coll_comm *comm);

/*
 * Copies the root's buffer to every rank. buffer: [count] of type, read at the root, written at the others. In place is
 * not allowed. Short messages of different counts are found by the receiver: TRUNCATE if it receives less than the root
 * sends, COUNT if it receives more; what fits has then been delivered, and the communicator stays usable.
 * Source: XHC IV-A, KNEM IV, CMA V-B, YHCCL Alg. 3; van de Geijn (scatter and allgather).
 * Errors: COUNT, ROOT, TYPE, BUFFER and those of collectives. Thread safety: per communicator.
 */
coll_status coll_bcast(void *buffer, size_t count, coll_datatype type, int root, coll_comm *comm);

/*
 * Combines the send buffers of all ranks into the root's receive buffer: recv[i] = send_0[i] op send_1[i] op ... .
 * send: [count] of type. recv: [count] of type at the root; ignored at the others, where it may be NULL. In place:
 * COLL_IN_PLACE as send, at the root only.
 * Source: XHC IV-B, YHCCL 3.3 to 3.5, SAS; Thakur, Rabenseifner, Gropp 2005.
 * Errors: COUNT, ROOT, TYPE, OP, BUFFER and those of collectives. Thread safety: per communicator.
 */
coll_status coll_reduce(const void *send, void *recv, size_t count, coll_datatype type, coll_op op, int root,
                        coll_comm *comm);

/*
 * As coll_reduce(), with the result at every rank, the same bits at each. recv: [count] of type at every rank. In
 * place: COLL_IN_PLACE as send.
 * Source: as coll_reduce().
 * Errors: COUNT, TYPE, OP, BUFFER and those of collectives. Thread safety: per communicator.
 */
coll_status coll_allreduce(const void *send, void *recv, size_t count, coll_datatype type, coll_op op,
                           coll_comm *comm);

/*
 * Sends block r of the root's send buffer to rank r. send: [ranks][count] of type at the root; ignored at the others,
 * where it may be NULL. recv: [count] of type. In place: COLL_RECV_IN_PLACE as recv, at the root only; its own block
 * then stays in send.
 * Source: CMA IV-A and VII-G, KNEM V-B.
 * Errors: COUNT, ROOT, TYPE, BUFFER and those of collectives. Thread safety: per communicator.
 */
coll_status coll_scatter(const void *send, void *recv, size_t count, coll_datatype type, int root, coll_comm *comm);

/*
 * As coll_scatter(), with blocks of different lengths: rank r gets the [counts[r]] elements from send + displs[r] on,
 * in recv: [count], where its count equals counts[r]. counts, displs: [ranks], read at the root only. In place, count
 * is ignored.
 * Source: as coll_scatter().
 * Errors: COUNT (also: the root's count is not its entry of counts), ROOT, TYPE, BUFFER and those of collectives.
 * Thread safety: per communicator.
 */
coll_status coll_scatterv(const void *send, const size_t *counts, const size_t *displs, void *recv, size_t count,
                          coll_datatype type, int root, coll_comm *comm);

/*
 * Collects the send buffers of all ranks at the root; the one of rank r becomes block r. send: [count] of type.
 * recv: [ranks][count] of type at the root; ignored at the others, where it may be NULL. In place: COLL_IN_PLACE as
 * send, at the root only, whose own block is in recv already.
 * Source: CMA IV-B and VII-G, KNEM V-B.
 * Errors: COUNT, ROOT, TYPE, BUFFER and those of collectives. Thread safety: per communicator.
 */
coll_status coll_gather(const void *send, void *recv, size_t count, coll_datatype type, int root, coll_comm *comm);

/*
 * As coll_gather(), with blocks of different lengths: the [count] elements that rank r sends go to recv + displs[r],
 * and its count equals counts[r]. counts, displs: [ranks], read at the root only. In place, count is ignored.
 * Source: as coll_gather().
 * Errors: COUNT (also: the root's count is not its entry of counts), ROOT, TYPE, BUFFER and those of collectives.
 * Thread safety: per communicator.
 */
coll_status coll_gatherv(const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs,
                         coll_datatype type, int root, coll_comm *comm);

/*
 * As coll_gather(), with the result at every rank. send: [count] of type; recv: [ranks][count] of type. In place:
 * COLL_IN_PLACE as send; the own block is in recv already.
 * Source: CMA V-A, KNEM V-C, YHCCL Alg. 4, XHC III-A.
 * Errors: COUNT, TYPE, BUFFER and those of collectives. Thread safety: per communicator.
 */
coll_status coll_allgather(const void *send, void *recv, size_t count, coll_datatype type, coll_comm *comm);

/*
 * As coll_allgather(), with blocks of different lengths: the [count] elements that rank r sends go to recv + displs[r],
 * and its count equals counts[r]. counts: [ranks], the same on every rank; displs: [ranks], may differ between ranks.
 * In place, count is ignored.
 * Source: as coll_allgather().
 * Errors: COUNT (also: count is not this rank's entry of counts), TYPE, BUFFER and those of collectives.
 * Thread safety: per communicator.
 */
coll_status coll_allgatherv(const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs,
                            coll_datatype type, coll_comm *comm);

/*
 * Sends block r of send to rank r; block r of recv comes from rank r. send, recv: [ranks][count] of type. In place:
 * COLL_IN_PLACE as send; recv holds the input, of which libcoll makes a copy.
 * Source: CMA IV-C, KNEM V-C and Fig. 3.
 * Errors: COUNT, TYPE, BUFFER and those of collectives. Thread safety: per communicator.
 */
coll_status coll_alltoall(const void *send, void *recv, size_t count, coll_datatype type, coll_comm *comm);

/*
 * As coll_alltoall(), with blocks of different lengths: the [send_counts[r]] elements from send + send_displs[r] on go
 * to rank r, and [recv_counts[r]] from it to recv + recv_displs[r]. All arrays: [ranks]. What rank a sends to rank b
 * equals what rank b receives from rank a. In place, send_counts and send_displs are ignored and may be NULL; the
 * blocks sent are those of recv.
 * Source: as coll_alltoall().
 * Errors: COUNT (also: this rank's own block differs between send_counts and recv_counts), TYPE, BUFFER and those of
 * collectives. Thread safety: per communicator.
 */
coll_status coll_alltoallv(const void *send, const size_t *send_counts, const size_t *send_displs, void *recv,
                           const size_t *recv_counts, const size_t *recv_displs, coll_datatype type, coll_comm *comm);

/*
 * Combines the send buffers of all ranks as coll_allreduce() does, and leaves block r of the result at rank r.
 * send: [counts[0] + counts[1] + ...] of type, without gaps. recv: [counts[rank]] of type. counts: [ranks], the same on
 * every rank. In place: COLL_IN_PLACE as send; recv holds the whole input, its first counts[rank] elements are replaced
 * by the result, and the others keep their values.
 * Source: YHCCL 3.3 to 3.5, SAS; Thakur, Rabenseifner, Gropp 2005.
 * Errors: COUNT, TYPE, OP, BUFFER and those of collectives. Thread safety: per communicator.
 */
coll_status coll_reduce_scatter(const void *send, void *recv, const size_t *counts, coll_datatype type, coll_op op,
                                coll_comm *comm);

/*
 * As coll_reduce_scatter(), with the same count for every rank. send: [ranks][count] of type; recv: [count] of type, in
 * place [ranks][count].
 * Source: as coll_reduce_scatter().
 * Errors: COUNT, TYPE, OP, BUFFER and those of collectives. Thread safety: per communicator.
 */
coll_status coll_reduce_scatter_block(const void *send, void *recv, size_t count, coll_datatype type, coll_op op,
                                      coll_comm *comm);

/*
 * Inclusive prefix reduction: recv[i] = send_0[i] op send_1[i] op ... op send_rank[i]. send, recv: [count] of type. In
 * place: COLL_IN_PLACE as send.
 * Source: this project.
 * Errors: COUNT, TYPE, OP, BUFFER and those of collectives. Thread safety: per communicator.
 */
coll_status coll_scan(const void *send, void *recv, size_t count, coll_datatype type, coll_op op, coll_comm *comm);

/*
 * Exclusive prefix reduction: as coll_scan() without the caller's own operand. Rank 0 has no result: its recv is not
 * written, and may be NULL unless in place.
 * Source: this project.
 * Errors: COUNT, TYPE, OP, BUFFER and those of collectives. Thread safety: per communicator.
 */
coll_status coll_exscan(const void *send, void *recv, size_t count, coll_datatype type, coll_op op, coll_comm *comm);

/* One message of a coll_neighbor_exchange() that this rank sends to `peer`, or receives from it. Either may be itself. */
typedef struct coll_outgoing {
  int peer;         /* 0 .. size-1 */
  const void *data; /* [bytes]; may be NULL for 0 bytes */
  size_t bytes;
} coll_outgoing;
typedef struct coll_incoming {
  int peer;
  void *data;
  size_t bytes;
} coll_incoming;

/*
 * A sparse exchange: sends each message of `sends` to its peer, and receives each of `receives`. Every rank knows its
 * own lists alone. Cost grows with a rank's messages, not with the ranks; a rank with empty lists makes the call, too,
 * and does not wait. A rank may name a peer several times: the k-th message that rank a lists for rank b is received by
 * the k-th that b lists from a, and they have the same length. sends: [send_count], receives: [receive_count]; either may
 * be NULL if its count is 0. Messages that are received must not overlap each other; those that are sent may.
 * If lengths differ the call ends, and the receiver gets an error: TRUNCATE if a message is longer than what it
 * receives, COUNT if it is shorter or missing. Of one message between two ranks, what fits has then been delivered; of
 * several, none. The communicator stays usable. Messages that no rank receives are not reported. At most 2048 different
 * peers to send to, and to receive from. In place is not allowed.
 * Source: this project.
 * Errors: ARG (a list is NULL, or a peer is no rank), COUNT (also: bytes exceed the address space; too many peers),
 * BUFFER, and those of collectives but UNAVAILABLE; all forms return TRUNCATE. Thread safety: per communicator.
 */
coll_status coll_neighbor_exchange(const coll_outgoing *sends, size_t send_count, const coll_incoming *receives,
                                   size_t receive_count, coll_comm *comm);

/* ---- requests --------------------------------------------------------------------------------------------------- */

/*
 * A collective that runs in the background. A request belongs to the rank and communicator that it was made for. The
 * communicator lives until its last active request has ended, also when coll_comm_free() was called before.
 *   non-blocking  made active by coll_iNAME(), freed by the coll_wait() or coll_test() that finds it complete
 *   persistent    made inactive by coll_NAME_init(); coll_start() makes it active; the coll_wait() or coll_test() that
 *                 finds it complete leaves it inactive, ready for the next coll_start(); freed by coll_request_free()
 * Any number of requests may be active at once, and may be waited for in any order, which may differ between ranks. An
 * active request cannot be cancelled: it completes, or fails when a peer dies or the communicator is aborted.
 */
typedef struct coll_request coll_request;

/*
 * The non-blocking forms start the collective and return without waiting for a peer; *request is then active. The other
 * arguments are those of the blocking form, whose comment states shapes and in-place rules.
 * The status is that of starting: wrong arguments, and what else keeps the collective from being started. *request is
 * then NULL, and nothing was started. What goes wrong later is the status of coll_wait() or coll_test().
 * Errors: those of the blocking form but MISMATCH and TRUNCATE, which are not checked; ARG also if request is NULL. A
 * wait or test of coll_ineighbor_exchange() may return TRUNCATE or COUNT.
 * Thread safety: per request.
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
coll_status coll_ineighbor_exchange(const coll_outgoing *sends, size_t send_count, const coll_incoming *receives,
                                    size_t receive_count, coll_comm *comm, coll_request **request);

/*
 * The persistent forms check and keep the arguments, and make an inactive request; each coll_start() runs the
 * collective once, on what the buffers hold then. Free the request with coll_request_free().
 * The buffers, and the function and context of a user-defined operation, must stay valid until then. All ranks make a
 * persistent request in the same order as their other collectives, and start it as often as their peers do.
 * Local. The status is that of the arguments; *request is NULL on failure.
 * Errors: ARG (also: request is NULL), COUNT, ROOT, TYPE, OP, BUFFER, as the blocking form; NO_MEMORY.
 * Thread safety: per request.
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
coll_status coll_neighbor_exchange_init(const coll_outgoing *sends, size_t send_count, const coll_incoming *receives,
                                        size_t receive_count, coll_comm *comm, coll_request **request);

/*
 * Starts a persistent request and returns without waiting for a peer. All ranks start the requests of a communicator,
 * and call its other collectives, in the same order. The status is that of starting, as for the non-blocking forms; on
 * failure the request stays as it was: inactive unless it was active already.
 * Errors: ARG (request is NULL), STATE (not persistent, active already, of the parent process, or its communicator was
 * freed), TYPE (elements too large to be reduced), NO_MEMORY, UNAVAILABLE; PEER_DIED, ABORTED or SYSTEM if the
 * communicator is unusable. Thread safety: per request.
 */
coll_status coll_start(coll_request *request);

/*
 * Makes progress and finds out, without waiting, whether a request is complete. If it is not, *done is 0 and the status
 * COLL_OK. If it is, *done is 1 and the status that of the collective's execution: a non-blocking request is freed and
 * *request set to NULL, also if it failed; a persistent one becomes inactive. A NULL *request is complete, with
 * COLL_OK; an inactive persistent one too, with the status of its last run, COLL_OK before the first. The call may
 * yield the core.
 * After NO_MEMORY *done is 1 if the collective failed, and 0 if the call itself did: the request is then still active and
 * the call can be repeated.
 * Errors: ARG (request or done is NULL), NO_MEMORY, STATE (of the parent process), PEER_DIED, ABORTED, SYSTEM. Thread
 * safety: per request.
 */
coll_status coll_test(coll_request **request, int *done);

/*
 * Waits until a request is complete, then does as coll_test() does. Returns the status of the collective's execution on
 * this rank; errors of starting it were returned by the call that started it. The peers may have other statuses.
 * Errors: ARG (request is NULL), NO_MEMORY, STATE (of the parent process), PEER_DIED, ABORTED, SYSTEM. Thread safety:
 * per request.
 */
coll_status coll_wait(coll_request **request);

/*
 * Advances the active requests of all communicators of the process, those of freed communicators too, as far as they get
 * without waiting. A program that computes, or waits for something else, calls it periodically; coll_test() or
 * coll_wait() still has to find each request complete. It skips a communicator whose requests another thread is advancing
 * or that another thread is in a blocking collective on, and takes little time where no request is active. It does not
 * look whether peers have died, and does not call what coll_comm_set_progress() has installed; it may be called there.
 * Local. Errors: NO_MEMORY (the requests stay active; the call can be repeated). Thread safety: full.
 */
coll_status coll_progress(void);

/*
 * Frees a request that is not active, before or after its communicator: a persistent one, or a non-blocking one whose
 * status is of no interest. coll_wait() and coll_test() free a non-blocking one themselves. A request that is active stays
 * as it is: its buffers are in use, and no later call could report when they no longer are. NULL is allowed and does
 * nothing.
 * Local. Errors: STATE (the request is active; it is not freed). Thread safety: per request.
 */
coll_status coll_request_free(coll_request *request);

#ifdef __cplusplus
}
#endif
#endif /* COLL_COLL_H */
