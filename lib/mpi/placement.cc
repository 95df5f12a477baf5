// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/placement.h"

#include "mpi/below.h"
#include "mpi/log.h"

#include <coll/shim.h>

#include <atomic>
#include <charconv>
#include <cstring>
#include <random>

namespace coll::shim {
namespace {

std::atomic<NodeName> kept{no_name};

// Processes a node, 0 when nodes are not cut, -1 for what is no number of them.
int wanted_size() {
  const char *text = coll_setting("COLL_NODE_SIZE");
  if (text == nullptr) return 0;
  int size = 0;
  const char *end = text + std::strlen(text);
  const auto [stopped, error] = std::from_chars(text, end, size);
  if (error == std::errc() && stopped == end && size > 0) return size;
  log_line("COLL_NODE_SIZE='%s' is not a number of ranks per node; use 1 or more, or unset it", text);
  return -1;
}

NodeName new_name() {
  std::random_device device;
  NodeName name = no_name;
  while (name == no_name) name = NodeName{device()} << 32 | device();
  return name;
}

// The ranks of `comm` that share the node of this one, in the order of MPI_COMM_WORLD.
bool split(MPI_Comm comm, MPI_Comm *node) {
  const int size = wanted_size();
  int process = 0;
  if (found.Comm_rank(found.world, &process) != MPI_SUCCESS) return false;
  const bool known = found.Comm_split_type(comm, MPI_COMM_TYPE_SHARED, process, MPI_INFO_NULL, node) == MPI_SUCCESS;
  if (!known || size == 0) return known;
  MPI_Comm whole = *node;
  const bool good = found.Comm_split(whole, process / size, process, node) == MPI_SUCCESS;
  found.Comm_free(&whole);
  return good;
}

// MPI_COMM_WORLD once more, made in the only way that leaves it as it was. All others use up three of the tags that
// Open MPI's non-blocking collectives on it count through; MPI_Dist_graph_create of Open MPI 4.1 uses two of the same tags
// for messages from anybody, and hangs when the count reaches them in one of its own calls: a program that escapes this by
// luck is to escape it with the shim. But the messages of this way fit a program's receives of any tag, so that it is safe
// only in MPI_Init.
bool make_twin(MPI_Comm *twin) {
  MPI_Group group;
  if (found.Comm_group(found.world, &group) != MPI_SUCCESS) return false;
  const bool made = found.Comm_create_group(found.world, group, 0, twin) == MPI_SUCCESS;
  found.Group_free(&group);
  return made;
}

}  // namespace

NodeName known_node() { return wanted_size() < 0 ? nowhere : kept.load(std::memory_order_relaxed); }

NodeName find_node(MPI_Comm comm, bool keep) {
  static const NodeName of_process = new_name();
  MPI_Comm node;
  if (!split(comm, &node)) return no_name;
  // That of its first process: every communicator of all processes finds the same one, in whatever order threads come.
  NodeName name = of_process;
  const bool good = found.Bcast(&name, sizeof name, found.byte, 0, node) == MPI_SUCCESS;
  found.Comm_free(&node);
  if (!good) return no_name;
  if (keep) kept.store(name, std::memory_order_relaxed);
  return name;
}

void place_processes() {
  int processes = 0;
  MPI_Comm twin;
  if (found.Comm_size(found.world, &processes) != MPI_SUCCESS || processes == 1 || !make_twin(&twin)) return;
  const int size = wanted_size();
  int least = size;
  if (found.Allreduce(&size, &least, 1, MPI_INT, MPI_MIN, twin) == MPI_SUCCESS && least >= 0) find_node(twin, true);
  found.Comm_free(&twin);
}

}  // namespace coll::shim
