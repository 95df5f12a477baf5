// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a communicator access each other's buffers while a plan runs. Memory in an arena is always direct.
#pragma once

#include <cstdint>

namespace coll::plan {

enum class AccessMode : uint8_t {
  direct,  // by loads and stores: the buffers are mapped, or all ranks are threads of one process
  remote,  // by the kernel, from the buffers themselves: it copies or maps them (CMA, kcoll)
  staged,  // not at all: data is staged in shared memory
};
// Returns "mapped", "copy" or "shm", the names in tools' output.
const char* name(AccessMode access);

}  // namespace coll::plan
