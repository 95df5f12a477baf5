// SPDX-License-Identifier: BSD-3-Clause
// mpi.h without its data symbols; that of one library, or of the standard ABI of MPI 5.
//
// The shim is loaded into processes that have no MPI library, so it may not refer to one. The ABI's handles are constants,
// MPICH's numbers; Open MPI's are addresses of variables, which this header turns into look-ups by name. A look-up is
// slow: it is done while tables are filled, never in a call that is taken.
#pragma once

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include <cstdint>

// What programs of the standard ABI are compiled with. Which library runs them is known at run time only.
#if defined(MPI_ABI_VERSION) && !defined(OPEN_MPI) && !defined(MPICH_VERSION)
#define COLL_SHIM_ABI
#endif

namespace coll::shim {

// Whether the library below is Open MPI; what is not is taken to behave as MPICH does.
#if defined(COLL_SHIM_ABI)
inline constinit bool over_open_mpi = false;  // below() finds out
#elif defined(OPEN_MPI)
constexpr bool over_open_mpi = true;
#else
constexpr bool over_open_mpi = false;
#endif

// The address of a variable of the MPI library, NULL when it has none of that name.
void *variable(const char *name);

#ifdef OPEN_MPI
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) (static_cast<type>(coll::shim::variable(#global)))
#endif

// A handle as a number, whatever the library makes it of.
inline std::uint64_t handle_bits(const void *handle) { return reinterpret_cast<std::uintptr_t>(handle); }
inline std::uint64_t handle_bits(int handle) { return static_cast<std::uint32_t>(handle); }

// Whether the bits can be a handle of that sort at all. Only MPICH's tell; a wrong address given to Open MPI
// ends in the same fault as without the shim.
#if defined(OPEN_MPI) || defined(COLL_SHIM_ABI)
inline bool may_be_communicator(MPI_Comm comm) { return comm != nullptr; }
inline bool may_be_datatype(MPI_Datatype type) { return type != nullptr; }
#else
inline bool may_be_communicator(MPI_Comm comm) { return (handle_bits(comm) & 0x3c000000u) == 0x04000000u; }
inline bool may_be_datatype(MPI_Datatype type) { return (handle_bits(type) & 0x3c000000u) == 0x0c000000u; }
#endif

}  // namespace coll::shim
