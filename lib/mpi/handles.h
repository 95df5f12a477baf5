// SPDX-License-Identifier: BSD-3-Clause
// mpi.h without its data symbols: the header of one library, or of the standard ABI of MPI 5.
//
// The shim is also loaded into processes without an MPI library, so it must not refer to symbols of one. The ABI's
// handles are constants, and MPICH's are numbers; Open MPI's are addresses of variables, which this header replaces by
// look-ups by name. A look-up is slow: it is only done while tables are filled, never in an intercepted call.
#pragma once

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include <cstdint>

// The header of the standard ABI. Which library the program runs under is only known at run time.
#if defined(MPI_ABI_VERSION) && !defined(OPEN_MPI) && !defined(MPICH_VERSION)
#define COLL_SHIM_ABI
#endif

namespace coll::shim {

// Whether the underlying library is Open MPI; any other library is assumed to behave as MPICH does.
#if defined(COLL_SHIM_ABI)
inline constinit bool over_open_mpi = false;  // set by mpi_library()
#elif defined(OPEN_MPI)
constexpr bool over_open_mpi = true;
#else
constexpr bool over_open_mpi = false;
#endif

// Returns the address of a symbol of the MPI library, NULL if there is none of that name.
void *variable(const char *name);

#ifdef OPEN_MPI
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) (static_cast<type>(coll::shim::variable(#global)))
#endif

// A handle as a number, whatever type the library gives it.
inline std::uint64_t handle_bits(const void *handle) { return reinterpret_cast<std::uintptr_t>(handle); }
inline std::uint64_t handle_bits(int handle) { return static_cast<std::uint32_t>(handle); }

// Whether the bits can be a handle of this kind at all. Only MPICH's handles show it; a wrong address passed to Open
// MPI causes the same fault as without the shim.
#if defined(OPEN_MPI) || defined(COLL_SHIM_ABI)
inline bool may_be_communicator(MPI_Comm comm) { return comm != nullptr; }
inline bool may_be_datatype(MPI_Datatype type) { return type != nullptr; }
#else
inline bool may_be_communicator(MPI_Comm comm) { return (handle_bits(comm) & 0x3c000000u) == 0x04000000u; }
inline bool may_be_datatype(MPI_Datatype type) { return (handle_bits(type) & 0x3c000000u) == 0x0c000000u; }
#endif

}  // namespace coll::shim
