// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/placement.h"

#include "mpi/library.h"
#include "mpi/linux_namespace.h"
#include "mpi/log.h"
#include "mpi/overdue.h"
#include "mpi/presence.h"
#include "mpi/spending.h"

#include <coll/shim.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>
#include <type_traits>
#include <vector>

namespace coll::shim {
namespace {

// All ranks have entered MPI_Init when the shim's part of it begins, so this is long.
constexpr std::chrono::seconds longest_init{10};

std::atomic<NodeName> kept{unknown_node};
MPI_Comm world_duplicate;  // valid if has_duplicate
bool has_duplicate = false;
bool all_count = false;
bool node_sizes_differ = false;  // COLL_NODE_SIZE is not the same on all ranks; set in MPI_Init

// Returns the processes per node that COLL_NODE_SIZE asks for, 0 if it is not set, -1 if it is not a valid number or
// differs between ranks.
int requested_node_size() {
  if (node_sizes_differ) return -1;
  const char *text = coll_setting("COLL_NODE_SIZE");
  if (text == nullptr) return 0;
  int size = 0;
  const char *end = text + std::strlen(text);
  const auto [stopped, error] = std::from_chars(text, end, size);
  if (error == std::errc() && stopped == end && size > 0) return size;
  if (rank_in_job() <= 0)
    warn_once("COLL_NODE_SIZE='%s' is not a number of ranks per node; use 1 or more, or unset it", text);
  return -1;
}

NodeName new_name() {
  std::random_device device;
  NodeName name = unknown_node;
  while (name == unknown_node) name = NodeName{device()} << 32 | device();
  return name;
}

// Where a process runs. Processes of one kernel can share memory if they have a common pid namespace (/proc) or a common
// network namespace (abstract sockets), as containers with the network of the host do.
struct HostIdentity {
  KernelName kernel;
  std::uint64_t pid_namespace, network_namespace;  // 0: unknown

  static HostIdentity of_process() {
    return {running_kernel(), namespace_number("/proc/self/ns/pid"), namespace_number("/proc/self/ns/net")};
  }
  bool shares_node_with(const HostIdentity &other) const {
    const auto common = [](std::uint64_t a, std::uint64_t b) { return a != 0 && a == b; };
    return kernel.known() && kernel == other.kernel &&
           (common(pid_namespace, other.pid_namespace) || common(network_namespace, other.network_namespace));
  }
};
static_assert(std::is_trivially_copyable_v<HostIdentity>);

// Creates a communicator of the ranks of `comm` that share a node with the same first rank; a rank that does not know its
// own identity is alone.
bool split_by_host(MPI_Comm comm, int process, MPI_Comm *node) {
  int rank = 0, ranks = 0;
  if (mpi.Comm_rank(comm, &rank) != MPI_SUCCESS || mpi.Comm_size(comm, &ranks) != MPI_SUCCESS) return false;
  const HostIdentity own = HostIdentity::of_process();
  std::vector<HostIdentity> all(static_cast<std::size_t>(ranks));
  if (mpi.Allgather(&own, sizeof own, mpi.byte, all.data(), sizeof own, mpi.byte, comm) != MPI_SUCCESS) return false;
  const auto shares = [&](const HostIdentity &other) { return own.shares_node_with(other); };
  const auto found = std::ranges::find_if(all, shares);
  const int first = found != all.end() ? static_cast<int>(found - all.begin()) : rank;
  return mpi.Comm_split(comm, first, process, node) == MPI_SUCCESS;
}

// Uses MPI_Comm_split_type, unless it reports every process alone, as MPICH 5.0.0 to 5.0.2 do on UCX.
bool split_by_node(MPI_Comm comm, int process, MPI_Comm *node) {
  if (mpi.Comm_split_type(comm, MPI_COMM_TYPE_SHARED, process, MPI_INFO_NULL, node) != MPI_SUCCESS) return false;
  int size = 0, most = 0;
  if (mpi.Comm_size(*node, &size) == MPI_SUCCESS &&
      mpi.Allreduce(&size, &most, 1, MPI_INT, MPI_MAX, comm) == MPI_SUCCESS && most > 1)
    return true;
  mpi.Comm_free(node);
  return most == 1 && split_by_host(comm, process, node);
}

// Creates a communicator of the ranks of `comm` on this rank's node, in the order of MPI_COMM_WORLD.
bool split(MPI_Comm comm, MPI_Comm *node) {
  const int size = requested_node_size();
  int process = 0;
  if (mpi.Comm_rank(mpi.world, &process) != MPI_SUCCESS) return false;
  const bool known = split_by_node(comm, process, node);
  if (!known || size == 0) return known;
  MPI_Comm whole = *node;
  const bool good = mpi.Comm_split(whole, process / size, process, node) == MPI_SUCCESS;
  mpi.Comm_free(&whole);
  return good;
}

// Duplicates MPI_COMM_WORLD by the only function that does not change its state. All others use up three of the tags
// that Open MPI's non-blocking collectives on it count through. MPI_Dist_graph_create of Open MPI 4.1 uses two of the
// same tags for messages from any source, and hangs if the count reaches them during one of its calls: a program that
// avoids this by luck must also avoid it with the shim. But the messages of this function would match a program's
// receives with any tag, so it is only safe in MPI_Init.
bool duplicate_world(MPI_Comm *duplicate) {
  MPI_Group group;
  if (mpi.Comm_group(mpi.world, &group) != MPI_SUCCESS) return false;
  const bool made = mpi.Comm_create_group(mpi.world, group, 0, duplicate) == MPI_SUCCESS;
  mpi.Group_free(&group);
  return made;
}

}  // namespace

const KernelName &running_kernel() {
  static const KernelName name = [] {
    KernelName read{};
    if (std::FILE *file = std::fopen("/proc/sys/kernel/random/boot_id", "re")) {
      if (std::fgets(read.text, sizeof read.text, file) == nullptr) read.text[0] = '\0';
      std::fclose(file);
    }
    return read;
  }();
  return name;
}

NodeName known_node() { return requested_node_size() < 0 ? invalid_node : kept.load(std::memory_order_relaxed); }

NodeName find_node(MPI_Comm comm, bool keep) {
  static const NodeName of_process = new_name();
  MPI_Comm node;
  if (!split(comm, &node)) return unknown_node;
  // The name is that of the node's first process: every communicator of all processes finds the same one, in whatever
  // order threads call this.
  NodeName name = of_process;
  const bool good = mpi.Bcast(&name, sizeof name, mpi.byte, 0, node) == MPI_SUCCESS;
  mpi.Comm_free(&node);
  if (!good) return unknown_node;
  if (keep) kept.store(name, std::memory_order_relaxed);
  return name;
}

bool place_processes() {
  int processes = 0, process = 0;
  MPI_Comm duplicate;
  if (mpi.Comm_size(mpi.world, &processes) != MPI_SUCCESS || processes == 1 ||
      mpi.Comm_rank(mpi.world, &process) != MPI_SUCCESS)
    return false;
  // A rank without the shim is not here. On this node it would have been found (presence.h).
  std::optional<Overdue> overdue;
  const bool all_are_here = looks_at_all(processes);
  if (!all_are_here)
    overdue.emplace(
        longest_init,
        "MPI_Init still waits for the shims of other ranks. Perhaps LD_PRELOAD does not reach a node, or names "
        "a file that does not exist there: ranks without a shim never answer");
  if (!duplicate_world(&duplicate)) return false;
  const int size = requested_node_size(), own[] = {size, counts_calls() ? 1 : 0, -size};
  int least[] = {-1, 0, 1};
  if (mpi.Allreduce(own, least, 3, MPI_INT, MPI_MIN, duplicate) != MPI_SUCCESS) least[0] = -1, least[1] = 0;
  else node_sizes_differ = least[0] != -least[2];
  if (node_sizes_differ && process == 0)
    warn_once("COLL_NODE_SIZE differs between ranks: all collectives are forwarded to MPI; set the same value on all");
  if (least[0] >= 0 && !node_sizes_differ) find_node(duplicate, true);
  all_count = least[1] != 0;
  world_duplicate = duplicate;
  has_duplicate = true;
  return all_are_here && requested_node_size() == 0;
}

bool all_ranks_count() { return all_count; }

MPI_Comm private_world() { return has_duplicate ? world_duplicate : MPI_COMM_NULL; }

void free_private_world() {
  if (has_duplicate) mpi.Comm_free(&world_duplicate);
  has_duplicate = false;
}

}  // namespace coll::shim
