/* SPDX-License-Identifier: BSD-3-Clause */
/* INIT(Bcast): the function that makes a persistent request. Open MPI 4.1 has them as an extension. */
#ifndef TESTS_MPI_PERSISTENT_H
#define TESTS_MPI_PERSISTENT_H

#include <mpi.h>

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif

#endif
