/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of libcoll for its own MPI shims, libcoll_mpi_*.so of the same version. Programs must not use this header:
 * the functions may change or vanish in any release, and libcoll.so exports them under a version node that is replaced
 * then, LIBCOLL_PRIVATE_x.y, so that a shim of another version does not load.
 *
 * The conventions of coll.h hold.
 */
#ifndef COLL_SHIM_H
#define COLL_SHIM_H

#include "coll/coll.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns the value of a variable of libcoll(7), such as "COLL_MPI": that of the environment, otherwise that of the
 * configuration file; NULL if neither sets it, if name is NULL, or if memory is out. The string is never freed; it is
 * valid until the environment is changed.
 * Errors: none. Thread safety: as getenv(): full while no thread changes the environment.
 */
const char *coll_setting(const char *name);

/*
 * Whether the shim may serve this program, as COLL_PROGRAMS says; 1 if the list cannot be read for lack of memory.
 * Local. Errors: none. Thread safety: as coll_setting().
 */
int coll_program_is_served(void);

/*
 * Begins the statistics that COLL_STATS asks for, as those of `rank`, if it asks for any; returns 1 then, else 0. Without
 * it the first communicator or coll_stats_forwarded() begins them. Only the first call of a process does anything else.
 * Local. Errors: none. Thread safety: full.
 */
int coll_stats_begin(int rank);

/*
 * Counts, for COLL_STATS, a call of `collective` that the shim forwarded to the MPI library for the reason `why`, and which
 * took `seconds`. `function` is its name, such as "MPI_Ibcast". `bytes` is the product of count and datatype size, SIZE_MAX
 * if it is not known. The strings are copied. Does nothing if COLL_STATS was not set when the statistics began.
 * Local. Errors: ARG (a string is NULL), NO_MEMORY. Thread safety: full.
 */
coll_status coll_stats_forwarded(const char *function, const char *collective, const char *why, size_t bytes,
                                 double seconds);

/*
 * Says that the calling thread's next collectives of libcoll are parts of a call of `function`; NULL: of none. The string
 * must never be freed.
 * Local. Errors: none. Thread safety: full.
 */
void coll_stats_inside(const char *function);

/* What a call is counted as. */
typedef enum coll_stats_part {
  COLL_STATS_SERVED,    /* libcoll serves it, has started it, or is waited for */
  COLL_STATS_FORWARDED, /* the MPI library does */
  COLL_STATS_ONE_RANK   /* likewise; there is one rank, so that libcoll could not be faster */
} coll_stats_part;

/*
 * Counts a call of `function` that took `seconds` of the caller's time, by function only; coll_stats_forwarded() counts
 * those of collectives that are forwarded.
 * Local. Errors: ARG (function is NULL), NO_MEMORY. Thread safety: full.
 */
coll_status coll_stats_spent(const char *function, coll_stats_part part, double seconds);

/*
 * Stores this rank's seconds in collectives, in those of them that were forwarded, and since the statistics began.
 * Local. Errors: ARG (sums is NULL), NO_MEMORY. Thread safety: full.
 */
coll_status coll_stats_sums(double sums[3]);

/* Of one of these sums: its least and greatest value among all ranks, with a rank that has it, and its mean. */
typedef struct coll_stats_spread {
  double least, mean, greatest;
  int least_rank, greatest_rank;
} coll_stats_spread;

/*
 * Adds to the statistics how the sums of `ranks` ranks compare.
 * Local. Errors: ARG (spreads is NULL), NO_MEMORY. Thread safety: full.
 */
coll_status coll_stats_all_ranks(int ranks, const coll_stats_spread spreads[3]);

/*
 * Names the calling thread's next communicator, in the line that COLL_LOG=info prints; NULL: no name. The string must live
 * until that communicator has been made.
 * Local. Errors: none. Thread safety: full.
 */
void coll_log_next_name(const char *name);

/*
 * As coll_progress(). Returns 1 if that moved anything, otherwise 0.
 * Local. Errors: none; without memory the requests stay active. Thread safety: full.
 */
int coll_progress_moves(void);

/*
 * For a callback of coll_comm_set_progress(), in the thread that called it: other work moved, and more is likely to
 * follow soon. The waiting rank then looks again before it sleeps.
 * Local. Errors: none. Thread safety: full.
 */
void coll_progress_moved(void);

/*
 * Writes the statistics that COLL_STATS asks for at once, as those of `rank`, instead of at the end of the process.
 * Does nothing if COLL_STATS is not set. `rank` is the number that stands for %r in the file's name; without %r, only
 * rank 0 writes.
 * Local. Errors: NO_MEMORY, SYSTEM (the file or standard error cannot be written). Thread safety: one call at a time;
 * other libcoll functions may run concurrently.
 */
coll_status coll_stats_write(int rank);

/*
 * As coll_comm_create(), except that a communicator of the same ranks that all of them have passed to
 * coll_comm_keep() may serve again, in a few microseconds; then the bootstrap is used once, and otherwise at most four
 * times.
 * Collective. Errors: as coll_comm_create(). Thread safety: full.
 */
coll_status coll_comm_create_or_reuse(const coll_bootstrap *bootstrap, coll_comm **comm);

/*
 * As coll_comm_free(), but the process may keep what it knows and shares, for coll_comm_create_or_reuse(): of at most two
 * communicators, whose staging has at most 4 MiB per rank and 64 MiB in all.
 * Local. Errors: none. Thread safety: full.
 */
void coll_comm_keep(coll_comm *comm);

/*
 * Frees what coll_comm_keep() has kept.
 * Local. Errors: none. Thread safety: full.
 */
void coll_comm_free_kept(void);

#ifdef __cplusplus
}
#endif
#endif /* COLL_SHIM_H */
