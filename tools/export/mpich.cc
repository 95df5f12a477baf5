// SPDX-License-Identifier: BSD-3-Clause
// MPICH's selection is a tree of conditions, tried in order, with an algorithm at each leaf. A file replaces the whole
// tree, so this code starts from the tree that the library contains (a text in its read-only data) and inserts a branch
// for each number of ranks before the others, under "collective=X", "comm_type=intra". All other branches stay MPICH's.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/command.h"
#include "tools/export/export.h"

namespace coll::tools {
namespace {

using nlohmann::ordered_json;
using plan::Collective;

// The condition that MPICH has for the size of the collective, and its two families of algorithms.
struct MpichNames {
  const char* name;
  const char* size;          // avg_msg_size: of the vector, or of one block; total_msg_size: of all blocks together
  const char* small_family;  // has no restrictions
  const char* large_family;
};
const std::map<Collective, MpichNames> mpich_names = {
    {Collective::bcast, {"bcast", "avg_msg_size", "Bcast_intra_binomial", "Bcast_intra_scatter_ring_allgather"}},
    {Collective::reduce, {"reduce", "avg_msg_size", "Reduce_intra_binomial", "Reduce_intra_reduce_scatter_gather"}},
    {Collective::allreduce,
     {"allreduce", "avg_msg_size", "Allreduce_intra_recursive_doubling", "Allreduce_intra_reduce_scatter_allgather"}},
    {Collective::allgather, {"allgather", "total_msg_size", "Allgather_intra_brucks", "Allgather_intra_ring"}},
    {Collective::alltoall, {"alltoall", "avg_msg_size", "Alltoall_intra_brucks", "Alltoall_intra_pairwise"}},
    {Collective::reduce_scatter,
     {"reduce_scatter_block", "total_msg_size", "Reduce_scatter_block_intra_recursive_halving",
      "Reduce_scatter_block_intra_pairwise"}},
};

// Returns whether the selected algorithm belongs to the large family, which moves close to the minimum of bytes in more
// steps.
bool is_large(Collective collective, const tune::Choice& choice) {
  if (choice.algorithm == nullptr) return false;
  const std::string_view ours = choice.algorithm->name;
  switch (collective) {
    case Collective::bcast: return ours.starts_with("scatter_allgather");
    case Collective::reduce: return ours != "flat";
    case Collective::allreduce: return ours != "all_read";
    case Collective::allgather: return ours != "recursive_doubling" && ours != "bruck";
    case Collective::alltoall: return ours != "bruck";
    case Collective::reduce_scatter: return true;
    default: return false;
  }
}

ordered_json leaf(const std::string& algorithm) { return {{"algorithm=MPIR_" + algorithm, ordered_json::object()}}; }

// The large reductions split the vector into one part per rank, and support predefined operations only.
ordered_json leaf(Collective collective, const MpichNames& there, bool large) {
  const ordered_json small = leaf(there.small_family);
  if (!large) return small;
  if (collective != Collective::reduce && collective != Collective::allreduce) return leaf(there.large_family);
  return {{"is_op_built_in=yes", {{"count<pow2", small}, {"count=any", leaf(there.large_family)}}},
          {"is_op_built_in=no", small}};
}

ordered_json sizes_of(const Thresholds& of) {
  const MpichNames& there = mpich_names.at(of.collective);
  const bool total = there.size == std::string_view("total_msg_size");
  ordered_json sizes = ordered_json::object();
  for (const auto& [up_to, large] :
       merged(of, [&](const Threshold& threshold) { return is_large(of.collective, threshold.choice); })) {
    const size_t end = total ? total_bytes(of, up_to) : up_to;
    const std::string key =
        end > INT32_MAX ? fmt::format("{}=any", there.size) : fmt::format("{}<={}", there.size, end);
    sizes[key] = leaf(of.collective, there, large);
  }
  return sizes;
}

// Inserts the branches before MPICH's own for other numbers of ranks. Conditions that must come first stay first.
ordered_json in_front(const std::vector<const Thresholds*>& of, const ordered_json& rest) {
  static constexpr const char* first_conditions[] = {"is_sendbuf_inplace=no", "is_commutative=yes"};
  for (const char* condition : first_conditions)
    if (rest.contains(condition)) {
      ordered_json out = rest;
      out[condition] = in_front(of, rest[condition]);
      return out;
    }
  ordered_json out = ordered_json::object();
  int ranks = 0;
  for (const Thresholds* one : of) {
    // A communicator uses the branch of the next larger number of ranks.
    out[fmt::format("comm_size<={}", one->ranks)] = sizes_of(*one);
    ranks = std::max(ranks, one->ranks);
  }
  const bool conditions = std::ranges::none_of(rest.items(), [](const auto& item) {
    return item.key().starts_with("algorithm=") || item.key().starts_with("composition=");
  });
  if (conditions && !rest.begin().key().starts_with("comm_size")) {
    out["comm_size=any"] = rest;
    return out;
  }
  for (const auto& [key, value] : rest.items())
    if (conditions) out[key] = value;
    else out["comm_size=any"][key] = value;
  return out;
}

}  // namespace

std::string to_mpich(const std::vector<Thresholds>& all, const std::string& base) {
  ordered_json selection = ordered_json::parse(base, nullptr, false);
  std::map<Collective, std::vector<const Thresholds*>> by_collective;
  for (const Thresholds& one : all)
    if (mpich_names.contains(one.collective)) by_collective[one.collective].push_back(&one);
  for (const auto& [collective, of] : by_collective) {
    const std::string key = std::string("collective=") + mpich_names.at(collective).name;
    if (!selection.is_object() || !selection.contains(key) || !selection[key].contains("comm_type=intra"))
      throw Failure(
          fmt::format("the selection of this MPICH has no {} for intracommunicators; name the libmpich.so of MPICH "
                      "4.0 with --mpich FILE",
                      key));
    ordered_json& intra = selection[key]["comm_type=intra"];
    intra = in_front(of, intra);
  }
  return selection.dump(1) + "\n";
}

std::string mpich_selection(const std::string& library) {
  std::ifstream file(library, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  if (!file) throw Failure("cannot read " + library + "; name the libmpich.so of MPICH 4.0 with --mpich FILE");
  const std::string text = std::move(all).str();
  // The library contains two such texts: one selects compositions for several nodes, the other one algorithms.
  const std::string begin = "{\"collective=";
  for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    const std::string one = text.substr(at, text.find('\0', at) - at);
    if (one.find("algorithm=MPIR_") != std::string::npos && one.find("composition=") == std::string::npos &&
        ordered_json::accept(one))
      return one;
  }
  throw Failure(library + " contains no selection of algorithms; name the libmpich.so of MPICH 4.0 with --mpich FILE");
}

std::string mpich_library() {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const char* parent : {"/usr/lib", "/usr/local/lib", "/usr/lib64"}) {
    for (const char* name : {"libmpich.so.12", "libmpi.so.12"}) {
      if (const fs::path direct = fs::path(parent) / name; fs::exists(direct, error)) return direct;
      for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error))
        if (const fs::path inside = at->path() / name; fs::exists(inside, error)) return inside;
    }
  }
  return "";
}

}  // namespace coll::tools
