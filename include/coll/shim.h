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
 * Counts, for COLL_STATS, a call of `collective` that the shim forwarded to the MPI library for the reason `why`.
 * `bytes` is the product of count and datatype size, SIZE_MAX if it is not known. The strings are copied. Does nothing
 * if COLL_STATS was not set when the process first called this function or made a communicator.
 * Local. Errors: ARG (collective or why is NULL), NO_MEMORY. Thread safety: full.
 */
coll_status coll_stats_forwarded(const char *collective, const char *why, size_t bytes);

/*
 * Names the calling thread's next coll_neighbor_exchange(), of any form, for COLL_STATS. The string must never be freed.
 * Local. Errors: none. Thread safety: full.
 */
void coll_stats_served_as(const char *collective);

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
