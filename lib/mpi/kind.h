// SPDX-License-Identifier: BSD-3-Clause
// Which MPI a wrapper compiler compiles for; CMakeLists.txt reads the preprocessed line.
#include <mpi.h>
#if defined(OPEN_MPI)
kind = openmpi
#elif defined(MPICH_VERSION) || defined(MPICH_NAME) || defined(I_MPI_VERSION)
kind = mpich
#elif defined(MPI_ABI_VERSION)
kind = abi
#endif
