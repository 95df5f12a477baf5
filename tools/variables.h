// SPDX-License-Identifier: BSD-3-Clause
// The environment variables of libcoll, as libcoll(7) explains them; a test compares this list with the sources and
// the manual page.
#pragma once

namespace coll::tools {

struct Variable {
  const char* name;
  const char* meaning;
};

inline constexpr Variable variables[] = {
    {"COLL_TRANSPORT", "how peers' memory is reached: auto, shm, cma or mapped"},
    {"COLL_TOPOLOGY", "the machine: native, an XML file of lstopo, or a text as in collctl plan"},
    {"COLL_SENSITIVITY", "domains that groups follow: numa,socket"},
    {"COLL_BARRIER", "algorithm[:chunk=BYTES,depth=N,k=N]"},
    {"COLL_BCAST", "algorithm[:chunk=BYTES,depth=N,k=N]"},
    {"COLL_REDUCE", "algorithm[:chunk=BYTES,depth=N,k=N]"},
    {"COLL_ALLREDUCE", "algorithm[:chunk=BYTES,depth=N,k=N]"},
    {"COLL_DIRECT_MIN", "bytes from which ordinary buffers are read in place"},
    {"COLL_SIMD", "vector instructions of the kernels"},
    {"COLL_LOG", "off, info (a line per communicator) or debug"},
    {"COLL_DEBUG", "1: check that all ranks call alike"},
    {"COLL_MPI", "off: the MPI shim leaves everything to the MPI library"},
    {"COLL_LAUNCH", "set by collctl run: rank/ranks/descriptor"},
};

}  // namespace coll::tools
