// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/real_trace.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/command.h"
#include "tools/common/json.h"
#include "tools/common/output_file.h"

namespace coll::tools {

using nlohmann::ordered_json;

void join_traces(const std::string& file, int ranks, size_t bytes) {
  ordered_json events = ordered_json::array();
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string part = fmt::format("{}.{}", file, rank);
    std::ifstream in(part);
    const ordered_json of_rank = parse_json(in);
    in.close();
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    const auto is_right = [](const ordered_json& event) {
      return event.is_object() && (!event.contains("ts") || event["ts"].is_number());
    };
    if (!of_rank.is_array() || !std::ranges::all_of(of_rank, is_right))
      throw Failure(fmt::format("--trace {}: rank {} did not write its part; is the disk full?", file, rank));
    for (const ordered_json& event : of_rank) events.push_back(event);
  }
  double first = std::numeric_limits<double>::infinity();
  for (const ordered_json& event : events)
    if (event.contains("ts")) first = std::min(first, event["ts"].get<double>());
  if (std::isinf(first))
    throw Failure(
        fmt::format("--trace {}: nothing was recorded: calls this short use the latency path, which has no steps; use "
                    "larger --sizes or name an --algorithm",
                    file));
  for (ordered_json& event : events)
    // Rounded to nanoseconds.
    if (event.contains("ts")) event["ts"] = std::round(1000 * (event["ts"].get<double>() - first)) / 1000;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const ordered_json about = {{"origin", "recorded"}, {"machine", host}, {"ranks", ranks}, {"bytes", bytes}};
  const ordered_json all = {{"displayTimeUnit", "ns"}, {"otherData", about}, {"traceEvents", events}};
  // The host name may contain any bytes: replace those that are not UTF-8.
  write_file("--trace", file, all.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace coll::tools
