// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace coll::shim {

MpiLibrary mpi;

namespace {

// The kind of MPI library that a process uses, and the shim for it.
struct Kind {
  const char *name;
  const char *shim;
};
constexpr Kind abi{"the standard ABI of MPI 5", "libcoll_mpi_abi.so"};
constexpr Kind open_mpi{"Open MPI", "libcoll_mpi_openmpi.so"};
constexpr Kind mpich{"MPICH", "libcoll_mpi_mpich.so"};

constexpr const char *abi_names[] = {"libmpi_abi.so.1", "libmpi_abi.so.0"};

#if defined(COLL_SHIM_ABI)
constexpr const Kind &own = abi;
constexpr auto &library_names = abi_names;
#elif defined(OPEN_MPI)
constexpr const Kind &own = open_mpi;
constexpr const char *library_names[] = {"libmpi.so.40", "libmpi_mpifh.so.40", "libmpi_usempif08.so.40"};
#else
constexpr const Kind &own = mpich;
constexpr const char *library_names[] = {"libmpich.so.12", "libmpi.so.12", "libmpichfort.so.12"};
#endif

// Looks a symbol up in the MPI library itself, if it was loaded with RTLD_LOCAL: by a scripting language's import. The
// reference that dlopen() takes is kept: the library must not be unloaded while the shim calls its functions.
void *in_library(const char *name) {
  for (const char *library : library_names) {
    void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    if (void *symbol = dlsym(handle, name)) return symbol;
  }
  return nullptr;
}

// A search in the global scope for MPI_x would find the shim itself; the next definition is wanted.
void *next_symbol(const char *mpi_name, const char *pmpi_name) {
  if (void *symbol = dlsym(RTLD_NEXT, mpi_name)) return symbol;
  if (void *symbol = dlsym(RTLD_NEXT, pmpi_name)) return symbol;
  if (void *symbol = in_library(mpi_name)) return symbol;
  return in_library(pmpi_name);
}

void *library_symbol(const char *name) {
  if (void *symbol = dlsym(RTLD_DEFAULT, name)) return symbol;
  return in_library(name);
}

bool is_loaded(const char *library) { return dlopen(library, RTLD_LAZY | RTLD_NOLOAD) != nullptr; }

// PMPI_Abi_get_version() reports version 1 or later in a library of the standard ABI, and -1 in one with an ABI of its own;
// libraries of MPI 4 and earlier lack it. It is not found in a library that was loaded with RTLD_LOCAL, which is
// recognised by the name of its file. Asked before uses_open_mpi(), which is true for Open MPI's library of the standard
// ABI, too: it loads the one with Open MPI's own symbols.
bool uses_abi() {
  int version = 0, subversion = 0;
  auto *get_version = reinterpret_cast<int (*)(int *, int *)>(library_symbol("PMPI_Abi_get_version"));
  if (get_version != nullptr && get_version(&version, &subversion) == MPI_SUCCESS && version > 0) return true;
  return std::ranges::any_of(abi_names, is_loaded);
}

// If Open MPI was loaded with RTLD_LOCAL, its symbols are not found, but its file is.
bool uses_open_mpi() { return library_symbol("ompi_mpi_comm_world") != nullptr || is_loaded("libmpi.so.40"); }

// Ends the process if its MPI library is not of the kind that this shim is for: the kinds have different handles, so not
// even forwarding would work. A library that is neither of the standard ABI nor Open MPI counts as MPICH, whose ABI
// several others have. Also sets over_open_mpi (handles.h).
void check_library() {
  // Large enough for any library, which may be another one than that of this mpi.h: the longest, MPICH's, has 8192.
  static char version[8192 + MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  auto get_version =
      reinterpret_cast<decltype(&::PMPI_Get_library_version)>(library_symbol("PMPI_Get_library_version"));
  if (get_version != nullptr) get_version(version, &length);
#ifdef COLL_SHIM_ABI
  over_open_mpi = std::strstr(version, "Open MPI") != nullptr;
#endif
  const Kind &used = uses_abi() ? abi : uses_open_mpi() ? open_mpi : mpich;
  if (&used == &own) return;
  version[std::strcspn(version, ",\n")] = '\0';
  std::fprintf(stderr, "libcoll: %s is for %s, but this program uses %s; preload %s instead\n", own.shim, own.name,
               &used != &abi && version[0] != '\0' ? version : used.name, used.shim);
  std::abort();
}

void find_everything() {
  check_library();
#define COLL_SHIM_FIND_NEXT(name) \
  mpi.next.name = reinterpret_cast<decltype(mpi.next.name)>(next_symbol("MPI_" #name, "PMPI_" #name));
#define COLL_SHIM_FIND(name)                                                      \
  mpi.name = reinterpret_cast<decltype(mpi.name)>(library_symbol("PMPI_" #name)); \
  if (mpi.name == nullptr && mpi.missing == nullptr) mpi.missing = "PMPI_" #name;
#define COLL_SHIM_FIND_INIT(name)                                          \
  mpi.next.name##_init = reinterpret_cast<decltype(mpi.next.name##_init)>( \
      next_symbol(COLL_SHIM_INIT_PREFIX #name "_init", "P" COLL_SHIM_INIT_PREFIX #name "_init"));
  COLL_SHIM_INTERCEPTED(COLL_SHIM_FIND_NEXT)
  COLL_SHIM_INITS(COLL_SHIM_FIND_INIT)
  COLL_SHIM_NEEDED(COLL_SHIM_FIND)
#undef COLL_SHIM_FIND_NEXT
#undef COLL_SHIM_FIND_INIT
#undef COLL_SHIM_FIND
  // Not by library_symbol(), which would find the shim's.
  mpi.own_free_mem = reinterpret_cast<decltype(mpi.own_free_mem)>(next_symbol("PMPI_Free_mem", "PMPI_Free_mem"));
  mpi.world = MPI_COMM_WORLD;
  mpi.self = MPI_COMM_SELF;
  mpi.errors_return = MPI_ERRORS_RETURN;
  mpi.byte = MPI_BYTE;
  mpi.no_datatype = MPI_DATATYPE_NULL;
  mpi.info_null = MPI_INFO_NULL;
  mpi.usable = mpi.missing == nullptr;
}

}  // namespace

void *variable(const char *name) { return library_symbol(name); }

const MpiLibrary &mpi_library() {
  static std::once_flag once;
  std::call_once(once, find_everything);
  return mpi;
}

void *next_fortran(const char *name) { return next_symbol(name, (std::string("p") + name).c_str()); }

bool mpi_is_running() {
  int initialized = 0;
  int finalized = 0;
  if (!mpi_library().usable) return false;
  return mpi.Initialized(&initialized) == MPI_SUCCESS && initialized != 0 && mpi.Finalized(&finalized) == MPI_SUCCESS &&
         finalized == 0;
}

namespace {
std::mutex quiet;  // locked while an object exists, or a second one would save the first one's handler
}

QuietErrors::QuietErrors() : handlers_{{mpi.world, {}, false}, {mpi.self, {}, false}} {
  if (!over_open_mpi) return;
  quiet.lock();
  for (Handler &handler : handlers_) {
    handler.set = mpi.Comm_get_errhandler(handler.comm, &handler.saved) == MPI_SUCCESS;
    if (handler.set) mpi.Comm_set_errhandler(handler.comm, mpi.errors_return);
  }
}

QuietErrors::~QuietErrors() {
  if (!over_open_mpi) return;
  for (Handler &handler : handlers_) {
    if (!handler.set) continue;
    mpi.Comm_set_errhandler(handler.comm, handler.saved);
    mpi.Errhandler_free(&handler.saved);
  }
  quiet.unlock();
}

}  // namespace coll::shim
