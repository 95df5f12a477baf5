// SPDX-License-Identifier: BSD-3-Clause
#include "config/variables.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace coll::config {
namespace {

constexpr const char* algorithm = "algorithm[:chunk=BYTES,depth=N,k=N][@SIZE][;...]";

constexpr Variable all[] = {
    {"COLL_TRANSPORT", "auto, shm, cma, mapped, kcoll_copy, kcoll_map, kcoll_uring", "auto",
     "How peers' memory is reached. A transport that cannot work here is an error."},
    {"COLL_TOPOLOGY", "native, a file, a text", "native",
     "The machine: this one, an XML file of lstopo(1), or a text such as \"package:2 numa:4 core:8\", which is filled "
     "core "
     "by core."},
    {"COLL_SENSITIVITY", "numa,socket", "numa,socket",
     "Domains that groups follow, of core, l2, l3, numa, socket; or flat; or groups of ranks, innermost level first, "
     "as in "
     "0-3,4-7/0-7."},
    {"COLL_BARRIER", algorithm, "chosen by size",
     "The algorithm of that collective, of collctl-list(1), or latency; @SIZE: up to that many bytes, then the next "
     "one, as in flat_read@4K;hierarchical:chunk=64K."},
    {"COLL_BCAST", algorithm, "chosen by size", "As COLL_BARRIER."},
    {"COLL_REDUCE", algorithm, "chosen by size", "As COLL_BARRIER."},
    {"COLL_ALLREDUCE", algorithm, "chosen by size", "As COLL_BARRIER."},
    {"COLL_SCATTER", algorithm, "chosen by size", "As COLL_BARRIER."},
    {"COLL_GATHER", algorithm, "chosen by size", "As COLL_BARRIER."},
    {"COLL_ALLGATHER", algorithm, "chosen by size", "As COLL_BARRIER."},
    {"COLL_ALLTOALL", algorithm, "chosen by size", "As COLL_BARRIER."},
    {"COLL_REDUCE_SCATTER", algorithm, "chosen by size", "As COLL_BARRIER."},
    {"COLL_SCAN", algorithm, "chosen by size", "As COLL_BARRIER."},
    {"COLL_EXSCAN", algorithm, "chosen by size", "As COLL_BARRIER."},
    {"COLL_TABLE", "a name, a file, none", "this machine's",
     "The table by which algorithms are chosen: of a machine of collctl-explain(1), or a file. Without it the one that "
     "collctl calibrate wrote for this machine to ~/.config/libcoll/tables (below XDG_CONFIG_HOME when that is set) or "
     "/etc/libcoll/tables, and without that the built-in defaults, as with none. Rank 0's counts."},
    {"COLL_DRIFT", "on, off", "on",
     "on: one call in about a hundred is timed and compared with the table, and COLL_LOG=info tells once for each "
     "collective of a communicator when calls take more than 3 times as long as they did, or less than a third. Only "
     "with a table that collctl calibrate wrote."},
    {"COLL_THROTTLE", "1 to 1024", "chosen",
     "How many ranks access one other at once in the algorithms throttled_...; an algorithm's own k=N comes first."},
    {"COLL_CHUNK", "64 to 1G", "chosen",
     "Bytes of a chunk, of all algorithms that have chunks; an algorithm's own chunk=BYTES comes first."},
    {"COLL_DIRECT_MIN", "bytes", "8192",
     "Vectors from this size on are read from the peers' own buffers where the transport can."},
    {"COLL_STAGING", "auto, cached, streamed", "auto",
     "How a rank stores what passes through shared memory. auto: data that distant cores will read bypass the caches, "
     "or overwrite lines there where the processor does that sooner; each rank finds out while it runs. cached, "
     "streamed: they never do, or always from 4 KiB on."},
    {"COLL_HUGE_PAGES", "on, off", "on",
     "on: memory that calls have used several times, 512 KiB at least at once, gets huge pages, where it can be moved "
     "(Linux 6.1; not where /sys/kernel/mm/transparent_hugepage/enabled is never). off: memory stays as the program "
     "got "
     "it."},
    {"COLL_TRIALS", "on, off", "on",
     "on: blocking calls of 256 KiB and more that may go two ways are now and then timed both ways, and the next "
     "ones go by what was faster: moves by staging or by kernel copies (CMA), two ranks' bcast below 1 MiB and "
     "exscan below 8 MiB on Zen 5 in longer or shorter pieces, reductions as for memory that ranks map or for "
     "other; not where a table or another variable chooses. off: always as the built-in defaults say."},
    {"COLL_SIMD", "avx512, avx2, sse4, scalar", "the best there is",
     "Vector instructions of copies and reductions. Read once per process; a target that the machine lacks is ignored, "
     "which collctl info tells."},
    {"COLL_LOG", "off, info, debug", "off",
     "info: a line on standard error per communicator (ranks, hierarchy, transport, table) and about misspelt "
     "variables. "
     "debug: also which algorithm serves which calls and why, and what the MPI shim took."},
    {"COLL_STATS", "0, 1, json, a file", "0",
     "Calls, bytes, time, algorithm and transport by collective and size, and what share of them the MPI shim passed "
     "on and "
     "why (size \"any\" where the ranks' counts differ; over several nodes the calls counted are those inside the "
     "node), "
     "when the "
     "process of rank 0 ends: 1 as a table and json as JSON on standard error, else JSON to that file, where %r stands "
     "for the "
     "rank: then every rank writes."},
    {"COLL_TRACE", "a file", "",
     "When a communicator is freed each of its ranks writes FILE.RANK: the steps of the collective that began last on "
     "it, with their times, as an array of events that Perfetto and chrome://tracing open."},
    {"COLL_DEBUG", "0, 1", "0",
     "1: check that all ranks call the same collective with matching arguments; COLL_ERR_MISMATCH when not."},
    {"COLL_MPI", "on, off", "on", "off: the MPI shim leaves everything to the MPI library."},
    {"COLL_HEAP", "off, shared", "off",
     "shared: under the MPI shim the program's own allocations of 16 KiB and more come from memory that peers can map, "
     "so that collectives on them copy once; see SHARED HEAP in libcoll(7). Read when the program starts.",
     false},
    {"COLL_NODE_SIZE", "ranks", "",
     "For tests: the MPI shim takes every so many processes of a node, in the order of MPI_COMM_WORLD, for a node of "
     "their own, and so goes in two levels on one machine."},
    {"COLL_CONFIG", "a file, none", "the user's and the system's",
     "The configuration file, instead of ~/.config/libcoll/config and /etc/libcoll.conf.", false},
    {"COLL_LAUNCH", "rank/ranks/descriptor", "", "Set by collctl-run(1) for coll_comm_create_from_launcher(3).", false},
};

// Letters to insert, leave out, change or swap with their neighbour to get from one word to the other.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); i++) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); j++) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); i++)
    for (size_t j = 1; j <= b.size(); j++) {
      cost[i][j] =
          std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  return cost[a.size()][b.size()];
}

}  // namespace

std::span<const Variable> variables() { return all; }

const Variable* find(std::string_view name) {
  auto at = std::ranges::find(all, name, &Variable::name);
  return at == std::end(all) ? nullptr : at;
}

std::string nearest(std::string_view name) {
  std::string best;
  size_t least = SIZE_MAX;
  for (const Variable& variable : all) {
    size_t far = distance(name, variable.name);
    // One letter in three, without COLL_; further off it is another word.
    if (far < least && far <= (std::strlen(variable.name) - 5) / 3) least = far, best = variable.name;
  }
  return best;
}

}  // namespace coll::config
