// SPDX-License-Identifier: BSD-3-Clause
#include "config/variables.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

namespace coll::config {
namespace {

// Texts for Variable::read.
constexpr const char* creation = "each rank, when it creates a communicator.";
constexpr const char* creation_alike = "each rank, when it creates a communicator. All ranks need the same value.";

constexpr Variable algorithm_like_barrier(const char* name) {
  return {name,
          "selected by size",
          "As COLL_BARRIER, for the collective that the name gives.",
          creation_alike,
          {{"ALGORITHM[:PARAMETERS][@SIZE][;...]", "As COLL_BARRIER."}, {"latency[@SIZE][;...]", "As COLL_BARRIER."}}};
}

constexpr Variable all[] = {
    {"COLL_TRANSPORT",
     "auto",
     "How a rank accesses ordinary memory (not allocated by coll_mem_alloc(3)) of another rank.",
     "each rank, when it creates a communicator. All ranks need the same value. A transport that does not work between "
     "these ranks is an error.",
     {{"auto",
       "kcoll_map, kcoll_copy, cma and staging are timed with 256 KiB, once for each pair of processes; the fastest "
       "that "
       "works on all ranks is used."},
      {"shm", "Everything is staged through shared memory, memory of coll_mem_alloc(3) included."},
      {"cma", "The kernel copies from process to process (process_vm_readv(2))."},
      {"mapped", "Memory of coll_mem_alloc(3) is accessed directly; all other memory is staged."},
      {"kcoll_copy", "The kernel module copies between registered, pinned memory."},
      {"kcoll_map", "The kernel module maps the memory, which is then accessed directly."},
      {"kcoll_uring", "As kcoll_copy; a rank submits several copies at once through io_uring."}}},

    {"COLL_TOPOLOGY",
     "native",
     "The machine for which algorithms and groups of ranks are selected.",
     "rank 0, when it creates a communicator.",
     {{"native", "This machine, as hwloc reports it."},
      {"FILE", "An XML file that lstopo(1) wrote."},
      {"TEXT",
       "TYPE:COUNT words from the largest to the smallest, counts per parent, such as package:2 numa:4 core:8. Ranks "
       "are placed on consecutive cores."}}},
    {"COLL_SENSITIVITY",
     "numa,socket",
     "The hierarchy: which ranks form a group with a leader.",
     creation_alike,
     {{"DOMAINS", "One group per domain; any of core, l2, l3, numa and socket, separated by commas."},
      {"flat", "All ranks form one group."},
      {"GROUPS",
       "Explicit groups of ranks, innermost level first: commas separate groups, slashes separate levels and plus "
       "signs "
       "join ranks of one group, as in 0-3,4-7/0-7 or 0+2,1+3."}}},

    {"COLL_BARRIER",
     "selected by size",
     "Forces the algorithm of the collective that the name gives. The list has one entry per range of sizes.",
     creation_alike,
     {{"ALGORITHM[:PARAMETERS][@SIZE][;...]",
       "An algorithm of collctl-list(1) with its parameters, such as chunk=BYTES, depth=N and k=N, for calls up to "
       "and including SIZE (bytes, with K, M or G); the next entry applies to larger sizes. An entry without SIZE has "
       "no upper bound; libcoll selects the algorithm beyond the last SIZE. RULES has the whole grammar. Example: "
       "flat_read@4K;hierarchical:chunk=64K."},
      {"latency[@SIZE][;...]", "The hand-written path for short messages, without a plan."}}},
    algorithm_like_barrier("COLL_BCAST"),
    algorithm_like_barrier("COLL_REDUCE"),
    algorithm_like_barrier("COLL_ALLREDUCE"),
    algorithm_like_barrier("COLL_SCATTER"),
    algorithm_like_barrier("COLL_GATHER"),
    algorithm_like_barrier("COLL_ALLGATHER"),
    algorithm_like_barrier("COLL_ALLTOALL"),
    algorithm_like_barrier("COLL_REDUCE_SCATTER"),
    algorithm_like_barrier("COLL_SCAN"),
    algorithm_like_barrier("COLL_EXSCAN"),

    {"COLL_TABLE",
     "this machine's table",
     "The model table that selects algorithms. Unset: the table that collctl calibrate wrote for this machine, or the "
     "built-in defaults if there is none.",
     "rank 0, when it creates a communicator; collctl, when it selects an algorithm.",
     {{"none", "No table: the built-in defaults."},
      {"NAME", "A built-in table, by its name in collctl-explain(1)."},
      {"FILE", "The table in this file. It is used even if it was measured on another machine."}}},
    {"COLL_TUNE",
     "long",
     "Auto-tuning: which calls are timed while the program runs, to use the fastest candidate. Not the v-variants, and "
     "not if COLL_CHUNK or COLL_THROTTLE is set. COLL_LOG=info reports, once per collective and communicator, calls of "
     "4 KiB or more that take more than 3 times, or less than a third of, the time in the table of collctl calibrate.",
     "each rank, when it creates a communicator. The ranks use the least of their values: off, long, on.",
     {{"long",
       "Blocking calls of 256 KiB or more, between the candidates of the built-in rule: staged copies or CMA, large or "
       "small chunks, the mapped or the staged reduction algorithm. Not if a table selects the algorithm, or if the "
       "transport was selected by COLL_TRANSPORT or CMA is faster than staging."},
      {"on",
       "Blocking, non-blocking and persistent calls of 4 KiB or more, between all candidates: those of rules and "
       "table, "
       "the latency path, the cheapest algorithms by the model, and other chunks. If the collective's own variable is "
       "set, its candidates alone are tried."},
      {"off", "No call is timed. Always use the first candidate."}}},
    {"COLL_TUNE_FILE",
     "",
     "The file in which auto-tuning keeps what it has learned.",
     "rank 0, when it creates a communicator; it writes the file when it frees one. Needs COLL_TUNE=on.",
     {{"FILE",
       "Calls begin with the choices in this file, as far as it has any; what the communicator learns is added. A file "
       "that is damaged or of another processor is ignored, which COLL_LOG=info reports. Programs that write it at the "
       "same moment do so one after the other."}}},
    {"COLL_TRIALS",
     "on",
     "Former name of COLL_TUNE, which overrides it.",
     "each rank, when it creates a communicator.",
     {{"on", "As COLL_TUNE=long."}, {"off", "As COLL_TUNE=off."}}},
    {"COLL_DRIFT",
     "on",
     "Former variable for a part of COLL_TUNE.",
     "each rank, when it creates a communicator.",
     {{"on", "Stale tables are reported, unless COLL_TUNE=off."}, {"off", "Stale tables are not reported."}}},
    {"COLL_THROTTLE",
     "selected by size",
     "Throttle k: the maximum number of ranks that concurrently access one rank's memory in the throttled_* "
     "algorithms.",
     creation_alike,
     {{"RANKS", "1 to 1024. A k=N in a collective's own variable overrides it."}}},
    {"COLL_CHUNK",
     "selected by size",
     "Chunk size of all algorithms that work in chunks.",
     creation_alike,
     {{"BYTES",
       "64 to 1G, with K, M or G for the powers of 1024. A chunk=BYTES in a collective's own variable overrides it."}}},

    {"COLL_DIRECT_MIN",
     "8192",
     "Smallest vector or block that the peers access in the caller's own buffer; shorter ones are staged.",
     creation_alike,
     {{"BYTES", "Digits only, without a unit letter."}}},
    {"COLL_STAGING",
     "auto",
     "How staged data is written to shared memory.",
     "each rank, for its own stores, when it creates a communicator.",
     {{"auto",
       "As streamed if readers are behind another last-level cache, as each rank measures at run time; otherwise as "
       "cached."},
      {"cached", "Ordinary stores."},
      {"streamed",
       "From 4 KiB on, non-temporal stores, or rep movsb on processors where it does not read the line for "
       "ownership."}}},
    {"COLL_HUGE_PAGES",
     "on",
     "Huge pages (2 MiB) for user buffers that collectives use repeatedly.",
     creation,
     {{"on",
       "Buffers of 512 KiB or more are collapsed into huge pages at their eighth use, if the kernel can move the pages "
       "(Linux 6.1 or later, and /sys/kernel/mm/transparent_hugepage/enabled is not never)."},
      {"off", "Buffers keep the pages that the program gave them."}}},
    {"COLL_SIMD",
     "the widest available",
     "Vector instructions of copy and reduction kernels. A set that the processor or this build lacks is ignored; "
     "collctl info reports that.",
     "each process, once, at the first copy or reduction.",
     {{"avx512", "AVX-512."}, {"avx2", "AVX2."}, {"sse4", "SSE4.2."}, {"scalar", "No vector instructions."}}},

    {"COLL_LOG",
     "off",
     "What is reported on standard error. The format is described in section LOG of libcoll(7).",
     "each rank, when it creates a communicator; the MPI shim, once per process.",
     {{"off",
       "Nothing. Unless it is set, an MPI shim still names a setting that cannot be followed, or that differs between "
       "ranks."},
      {"info",
       "One line per communicator (ranks, hierarchy, transport, table), and warnings: misspelt variables, stale "
       "tables, "
       "communicators that are left to the MPI library."},
      {"debug",
       "As info, and which algorithm serves which calls and why, what auto-tuning measured, and how many calls the MPI "
       "shim intercepted and forwarded."}}},
    {"COLL_STATS",
     "0",
     "Statistics of calls, bytes, time, algorithm and transport by collective and size, written when the process ends. "
     "The format is described in section STATISTICS of libcoll(7).",
     "each process, once, when it creates its first communicator; under an MPI shim, in MPI_Init.",
     {{"0", "No statistics."},
      {"1", "Rank 0 writes a table to standard error."},
      {"json", "Rank 0 writes JSON to standard error."},
      {"prometheus", "Rank 0 writes the text format of Prometheus to standard error."},
      {"FILE",
       "Rank 0 writes JSON to this file, or the text format of Prometheus if the name ends in .prom. If the name "
       "contains "
       "%r, every rank writes a file, with its rank for %r."}}},
    {"COLL_STATS_EVERY",
     "",
     "How often COLL_STATS is written before the process ends, so that a job that is killed leaves statistics. A file "
     "is "
     "replaced as a whole.",
     "each process, once, with COLL_STATS.",
     {{"SECONDS",
       "At the first collective after so many seconds, and so on. A process in a collective that never ends writes "
       "nothing more. 0: at the end only."}}},
    {"COLL_TRACE",
     "",
     "Timeline of the steps of a communicator's last collective, for Perfetto and chrome://tracing.",
     creation,
     {{"FILE",
       "Each rank writes FILE.RANK when it frees the communicator. One rank that has it set is enough to keep longer "
       "calls of all ranks off the latency path."}}},
    {"COLL_DEBUG",
     "0",
     "Check of the arguments of all ranks against each other, at each blocking call. Non-blocking and persistent "
     "collectives are not checked.",
     creation_alike,
     {{"0", "No check."},
      {"1",
       "A blocking call that differs in collective, size, root or operation from another rank's fails with "
       "COLL_ERR_MISMATCH."}}},

    {"COLL_MPI",
     "on",
     "Whether the MPI shim intercepts collectives.",
     "the MPI shim, once, at the first MPI call that it handles.",
     {{"on", "Intercept collectives."},
      {"off", "Forward every call to the MPI library. Any value other than on has this effect."}}},
    {"COLL_PROGRAMS",
     "all",
     "Which programs the MPI shim serves. It leaves the others alone, as COLL_MPI=off does.",
     "the MPI shim, once, at the first MPI call that it handles. All ranks need the same value.",
     {{"PATTERN[,...]",
       "Serve the programs that match this shell pattern (glob(7), but * and ? also match a slash). A pattern with a "
       "slash is compared with the path of the program's file, another one with its name, which for a script is that "
       "of its interpreter."},
      {"!PATTERN[,...]",
       "Leave the programs alone that match. The first pattern that matches decides. If none does, the program is "
       "served if every pattern begins with !, and left alone otherwise. Example: !vasp_*,!/opt/old/*."}}},
    {"COLL_PROGRESS",
     "calls",
     "Who advances the MPI shim's non-blocking and persistent collectives while the program computes.",
     "the MPI shim, once, in MPI_Init().",
     {{"calls", "The program's threads, inside MPI calls of any kind. Any value other than thread has this effect."},
      {"thread",
       "Also a thread of the shim, one per process. It sleeps while no collective is active, and calls no MPI "
       "function, so "
       "every thread level will do. Leave it a core, or part of one."}}},
    {"COLL_DEVICE_MEMORY",
     "auto",
     "Whether buffers of a program under the MPI shim may be in the memory of a GPU that CUDA or HIP have allocated.",
     "the MPI shim, once, in MPI_Init(). Ranks may have different values.",
     {{"auto",
       "If the node has such a GPU, or the program has loaded libcuda.so or libamdhip64.so before MPI_Init(). Then the "
       "shim asks that library where each buffer is, and exchanges copies in host memory of those on a device. Any "
       "value other than on and off has this effect."},
      {"on", "Yes: look for these libraries at every call until one is loaded."},
      {"off", "No. A collective on device memory then ends in SIGSEGV, unless it is forwarded."}}},
    {"COLL_HEAP",
     "off",
     "Where malloc(3) and related functions of a program under the MPI shim allocate from.",
     "the MPI shim, when it is loaded; each rank, when it creates a communicator.",
     {{"off", "The program's own allocator. Any value other than shared has this effect."},
      {"shared",
       "Allocations of 16 KiB or more come from memory that the other ranks can map, so collectives on them need one "
       "copy "
       "instead of two. See section SHARED HEAP of libcoll(7)."}},
     false},
    {"COLL_NODE_SIZE",
     "",
     "For tests: splits a node into several, so that the MPI shim works in two levels on one machine.",
     "the MPI shim, in MPI_Init() and when it creates a communicator. All ranks need the same value.",
     {{"RANKS", "1 or more: processes per node, in the order of MPI_COMM_WORLD."}}},

    {"COLL_CPU",
     "this machine's",
     "For tests: the processor whose rules are followed: how bytes are loaded and stored, the size of a core's L2, the "
     "default algorithms. Results do not depend on it, and any processor can follow the rules of any other.",
     "each process, once, when it starts. All ranks need the same value.",
     {{"zen3", "AMD Zen 3."},
      {"zen4", "AMD Zen 4."},
      {"zen5", "AMD Zen 5."},
      {"xeon", "Intel Xeon."},
      {"neoverse", "Arm Neoverse."}},
     false},

    {"COLL_CONFIG",
     "both files",
     "Configuration file to read. Unset: ~/.config/libcoll/config, then /etc/libcoll.conf.",
     "each process, once, when it looks up its first variable.",
     {{"FILE", "Only this file. A file that cannot be read is an error."}, {"none", "No configuration file."}},
     false},
    {"COLL_RENDEZVOUS_DIR",
     "/dev/shm",
     "Where ranks in different network namespaces, such as those of containers, make sockets for the moment in which "
     "they find each other and rank 0 passes the shared memory of a communicator. Other ranks need no such directory.",
     "each rank, when it creates a communicator.",
     {{"DIRECTORY",
       "A directory that all ranks share and may write to, by whatever path each of them sees it. It may not be longer "
       "than 60 characters."}}},
    {"COLL_RENDEZVOUS_TIMEOUT",
     "300",
     "How long coll_comm_create_from_launcher(3) waits for ranks that have not called it yet. Under collctl-run(1) "
     "there is "
     "no limit, because collctl knows which ranks have ended.",
     "each rank, in coll_comm_create_from_launcher(3).",
     {{"SECONDS", "1 to 86400. Then the call fails on the ranks that have come, and names those that have not."}}},
    {"COLL_RANK",
     "",
     "The rank of this process, for launchers that libcoll does not know. Set by the user's script, together with "
     "COLL_SIZE "
     "and COLL_RENDEZVOUS.",
     "coll_comm_create_from_launcher(3), at each call.",
     {{"RANK", "0 to COLL_SIZE - 1."}},
     false},
    {"COLL_SIZE",
     "",
     "The number of ranks, all on this node. Set together with COLL_RANK.",
     "coll_comm_create_from_launcher(3), at each call. All ranks need the same value.",
     {{"RANKS", "1 to 4096."}},
     false},
    {"COLL_RENDEZVOUS",
     "",
     "Where the ranks of a job meet. Set together with COLL_RANK.",
     "coll_comm_create_from_launcher(3), at each call. All ranks need the same value.",
     {{"NAME",
       "Any name that no other job on this node has at the time. Ranks in different network namespaces also need "
       "COLL_RENDEZVOUS_DIR."},
      {"/PATH",
       "A file in a directory that all ranks share. Rank 0 makes a socket there and removes it when all have come."}},
     false},
    {"COLL_LAUNCH",
     "",
     "How a rank finds the other ranks; set by collctl-run(1), not by the user.",
     "coll_comm_create_from_launcher(3), at each call.",
     {{"RANK/RANKS/DESCRIPTOR", "The rank, the number of ranks, and the file descriptor of the memory they share."}},
     false},
};

// Edit distance: the number of letters to insert, delete, replace or swap with their neighbour to turn `a` into `b`.
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

std::span<const Value> Variable::all_values() const {
  const auto end = std::ranges::find(values, nullptr, &Value::name);
  return {values, end};
}

std::string Variable::takes() const {
  std::string names;
  for (const Value& value : all_values()) names += (names.empty() ? "" : ", ") + std::string(value.name);
  return names;
}

std::span<const Variable> variables() { return all; }

const Variable* find(std::string_view name) {
  auto at = std::ranges::find(all, name, &Variable::name);
  return at == std::end(all) ? nullptr : at;
}

std::string nearest(std::string_view name) {
  std::string best;
  size_t least = SIZE_MAX;
  for (const Variable& variable : all) {
    size_t edits = distance(name, variable.name);
    // Names count as similar if at most one letter in three differs, not counting COLL_.
    if (edits < least && edits <= (std::strlen(variable.name) - 5) / 3) least = edits, best = variable.name;
  }
  return best;
}

}  // namespace coll::config
