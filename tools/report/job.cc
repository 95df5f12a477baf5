// SPDX-License-Identifier: BSD-3-Clause
// Section 3: where a job spent its time, from the files of COLL_STATS.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "coll/coll.h"
#include "model/fingerprint.h"
#include "model/prices.h"
#include "tools/command.h"
#include "tools/common/text.h"
#include "tools/report/sections.h"

namespace coll::tools::report {
namespace {

// A size class in the form of COLL_STATS: bytes; null beyond the largest class; "any" if unknown.
using SizeClass = std::string;  // as JSON text
using CallKey = std::tuple<std::string, SizeClass, std::string, std::string>;

struct RankCalls {
  std::vector<uint64_t> calls, bytes;  // [files]
  std::vector<double> seconds;
};

struct RankFunction {
  std::vector<uint64_t> served, forwarded, one_rank;  // [files]: calls
  std::vector<double> served_seconds, forwarded_seconds, one_rank_seconds;
  void resize(size_t files) {
    for (auto* calls : {&served, &forwarded, &one_rank}) calls->resize(files);
    for (auto* seconds : {&served_seconds, &forwarded_seconds, &one_rank_seconds}) seconds->resize(files);
  }
};

struct JobFile {
  int rank = 0;
  ordered_json content;
};

// A rank without calls writes an empty file. Its number is then its position among the files.
JobFile read_statistics(const std::string& file, int place) {
  std::error_code error;
  if (std::filesystem::file_size(file, error) == 0 && !error) return {place, ordered_json::object()};
  JobFile made{place, read_json("--stats", file)};
  if (!made.content.is_object() || !made.content.contains("calls") || !made.content["calls"].is_array() ||
      !made.content.contains("rank") || !made.content["rank"].is_number_integer())
    throw Failure(
        fmt::format("--stats {}: not a file of COLL_STATS; run the program with COLL_STATS=stats.%r.json", file));
  made.rank = made.content["rank"].get<int>();
  return made;
}

std::string text_at(const ordered_json& row, const char* key) {
  return row.contains(key) && row[key].is_string() ? row[key].get<std::string>() : "";
}
double number_at(const ordered_json& row, const char* key) {
  return row.contains(key) && row[key].is_number() ? row[key].get<double>() : 0;
}
uint64_t count_at(const ordered_json& row, const char* key) {
  const bool exact = row.contains(key) && row[key].is_number_unsigned();
  return exact ? row[key].get<uint64_t>() : whole(number_at(row, key));
}
SizeClass size_class(const ordered_json& row) {
  return row.contains("up_to_bytes") ? row["up_to_bytes"].dump() : "\"any\"";
}

const ordered_json& rows_at(const ordered_json& content, const char* key) {
  static const ordered_json none = ordered_json::array();
  return content.contains(key) && content[key].is_array() ? content[key] : none;
}

ordered_json all_rounded(const std::vector<double>& values) {
  ordered_json made = ordered_json::array();
  for (const double value : values) made.push_back(rounded(value));
  return made;
}

// Returns the table without the mechanisms that calls over this transport could not use: mapped memory unless they used
// it, kernel-assisted copies unless they are available.
model::Table usable_table(const model::Table& table, const std::string& transport, const tune::Situation& situation) {
  model::Table made = table;
  for (const model::Mechanism mechanism : model::all_mechanisms)
    if (mechanism == model::Mechanism::mapped ? transport != "mapped"
                                              : model::is_kernel_copy(mechanism) && !situation.has_kernel_copies())
      made.access[size_t(mechanism)].available = false;
  return made;
}

// Predicts the algorithm in use and the fastest one that could be selected, for the calls of one size class.
ordered_json prediction_of(const ordered_json& row, const ModelMachine& on, tune::Selector& selector,
                           size_t element_bytes) {
  uint64_t calls = 0, bytes = 0;
  for (const ordered_json& each : row["calls"]) calls += each.get<uint64_t>();
  for (const ordered_json& each : row["bytes"]) bytes += each.get<uint64_t>();
  std::string used = row["algorithm"].get<std::string>();
  if (const size_t end = used.find(" (request)"); end != std::string::npos) used.resize(end);
  const std::string collective = row["collective"].get<std::string>(), transport = row["transport"].get<std::string>();
  int number = 0;
  while (number < plan::collectives && collective != plan::name(plan::Collective(number))) ++number;
  if (calls == 0 || row["up_to_bytes"].is_string() || number == plan::collectives) return nullptr;
  const double mean = std::round(double(bytes) / double(calls));
  const Decision decision = decide(on, selector, plan::Collective(number), size_t(mean), element_bytes);
  const model::Table table = usable_table(on.table, transport, decision.situation);
  const auto ranked = model::rank_choices(collective, table, on.hierarchy, mean);
  const auto same = std::ranges::find(ranked, used, [](const auto& priced) { return priced.row->algorithm; });
  const auto best = std::ranges::find_if(ranked, [](const auto& priced) {
    const algo::Algorithm* algorithm = model::registered(*priced.row);
    return algorithm != nullptr && algorithm->balanced;
  });
  // The latency path has no formula, so its calls have no prediction.
  if (same == ranked.end() || best == ranked.end()) return nullptr;
  double used_us = rounded(same->terms.total_us());
  // For the selected algorithm, use the same prediction as the section of choices.
  const algo::Algorithm* selected = decision.selected.choice.algorithm;
  if (transport != "mapped" && selected != nullptr && selected->name == used)
    if (const ordered_json price = price_of(on, decision); price.is_object()) used_us = price["us"].get<double>();
  return {{"mean_bytes", mean},
          {"used_us", used_us},
          {"best", best->row->algorithm},
          {"best_us", rounded(best->terms.total_us())},
          {"transport", best->mechanism == model::Mechanism::shared_memory ? "shm" : model::name(best->mechanism)}};
}

}  // namespace

ordered_json job_section(const std::vector<std::string>& files) {
  std::map<CallKey, RankCalls> calls;
  std::map<std::tuple<std::string, SizeClass, std::string>, std::vector<uint64_t>> forwarded;
  std::map<std::string, RankFunction> functions;
  std::vector<JobFile> all;
  for (const std::string& file : files) all.push_back(read_statistics(file, int(all.size())));
  std::ranges::stable_sort(all, {}, &JobFile::rank);
  ordered_json ranks = ordered_json::array(), runs = ordered_json::array();
  bool runs_known = !all.empty();
  for (size_t at = 0; at < all.size(); ++at) {
    const ordered_json& content = all[at].content;
    if (at > 0 && all[at].rank == all[at - 1].rank)
      throw Failure(
          fmt::format("--stats: two files are of rank {}; give the files of one job, one for each rank", all[at].rank));
    ranks.push_back(all[at].rank);
    const double run = number_at(content, "run_seconds");
    runs.push_back(rounded(run));
    runs_known &= run > 0;
    for (const ordered_json& row : rows_at(content, "calls")) {
      RankCalls& of =
          calls[{text_at(row, "collective"), size_class(row), text_at(row, "algorithm"), text_at(row, "transport")}];
      of.calls.resize(all.size()), of.bytes.resize(all.size()), of.seconds.resize(all.size());
      of.calls[at] += count_at(row, "calls");
      of.bytes[at] += count_at(row, "bytes");
      of.seconds[at] += number_at(row, "seconds");
    }
    for (const ordered_json& row : rows_at(content, "forwarded")) {
      std::vector<uint64_t>& of = forwarded[{text_at(row, "collective"), size_class(row), text_at(row, "why")}];
      of.resize(all.size());
      of[at] += count_at(row, "calls");
    }
    for (const ordered_json& row : rows_at(content, "functions")) {
      RankFunction& of = functions[text_at(row, "function")];
      of.resize(all.size());
      of.served[at] += count_at(row, "served");
      of.forwarded[at] += count_at(row, "forwarded");
      of.one_rank[at] += count_at(row, "one_rank");
      of.served_seconds[at] += number_at(row, "served_seconds");
      of.forwarded_seconds[at] += number_at(row, "forwarded_seconds");
      of.one_rank_seconds[at] += number_at(row, "one_rank_seconds");
    }
  }
  ordered_json call_rows = ordered_json::array(), forwarded_rows = ordered_json::array();
  for (const auto& [key, of] : calls) {
    call_rows.push_back({{"collective", std::get<0>(key)},
                         {"up_to_bytes", ordered_json::parse(std::get<1>(key))},
                         {"algorithm", std::get<2>(key)},
                         {"transport", std::get<3>(key)},
                         {"calls", of.calls},
                         {"bytes", of.bytes},
                         {"seconds", all_rounded(of.seconds)}});
  }
  for (const auto& [key, of] : forwarded)
    forwarded_rows.push_back({{"collective", std::get<0>(key)},
                              {"up_to_bytes", ordered_json::parse(std::get<1>(key))},
                              {"why", std::get<2>(key)},
                              {"calls", of}});
  ordered_json function_rows = ordered_json::array();
  for (const auto& [name, of] : functions)
    function_rows.push_back({{"function", name},
                             {"served", of.served},
                             {"forwarded", of.forwarded},
                             {"one_rank", of.one_rank},
                             {"served_seconds", all_rounded(of.served_seconds)},
                             {"forwarded_seconds", all_rounded(of.forwarded_seconds)},
                             {"one_rank_seconds", all_rounded(of.one_rank_seconds)}});
  return {{"ranks", ranks},
          {"run_seconds", runs_known ? runs : ordered_json()},
          {"calls", call_rows},
          {"forwarded", forwarded_rows},
          {"functions", function_rows}};
}

void predict_job(ordered_json& job, const ModelMachine& on, const std::string& type) {
  tune::Selector selector(on.chosen_by, on.hierarchy, model::hardware_of(on.machine));
  const size_t element_bytes = coll_datatype_size(parse_type(type));
  for (ordered_json& row : job["calls"]) row["prediction"] = prediction_of(row, on, selector, element_bytes);
}

}  // namespace coll::tools::report
