// SPDX-License-Identifier: BSD-3-Clause
// Section 5 and the measured points of section 1: results that other commands have recorded.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "tools/command.h"
#include "tools/report/sections.h"

namespace coll::tools::report {
namespace {

double value_of(const ordered_json& row, const char* key) {
  return row.contains(key) && row[key].is_number() ? row[key].get<double>() : 0;
}
std::string word_of(const ordered_json& row, const char* key) {
  return row.contains(key) && row[key].is_string() ? row[key].get<std::string>() : "";
}

bool has_array(const ordered_json& json, const char* key) { return json.contains(key) && json[key].is_array(); }

std::string file_name(const std::string& file) { return std::filesystem::path(file).filename().string(); }

// Returns the machine of a result of `collctl bench` or `make bench`, as far as the file names it; else null.
ordered_json measured_on(const ordered_json& json) {
  static const ordered_json nothing = ordered_json::object();
  const auto inside = [](const ordered_json& of, const char* key) -> const ordered_json& {
    return of.contains(key) && of[key].is_object() ? of[key] : nothing;
  };
  const ordered_json& direct = inside(json, "machine");
  const ordered_json& found = direct.empty() ? inside(inside(json, "circumstances"), "machine") : direct;
  if (found.empty()) return {};
  return {{"name", word_of(found, "name")},
          {"processor", word_of(found, "processor")},
          {"topology", word_of(found, "topology")},
          {"cpus", whole(value_of(found, "cpus"))}};
}

// Interpolates between the two values on both sides of the quantile. `sorted` is ascending.
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * double(sorted.size() - 1);
  const size_t below = size_t(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - double(below)) * (sorted[above] - sorted[below]);
}

// Returns whether the flag latency was within 20 % of the usual one, so that the cores were as far apart as usual.
// drop_moved() of bench/driver does the same.
bool at_usual_distance(const ordered_json& row, double usual_ns) {
  constexpr double same = 0.2;
  for (const char* key : {"flag_ns_before", "flag_ns_after"})
    if (const double ns = value_of(row, key); ns > 0 && usual_ns > 0 && std::abs(ns / usual_ns - 1) > same)
      return false;
  return true;
}

// Reads --json of `make bench` and its drivers: several launches of each contestant. Bounds are hand-written code. Of a
// contestant's variants, the one with the lowest median is used.
ordered_json compared(const ordered_json& json, const std::string& file) {
  using Cell = std::tuple<std::string, uint64_t, std::string>;
  std::map<Cell, std::map<int, std::vector<double>>> samples;
  const double usual_ns = value_of(json, "flag_ns");
  size_t dropped = 0;
  std::vector<std::string> order;
  for (const ordered_json& row : json["samples"]) {
    if (!row.is_object() || value_of(row, "median_us") <= 0) continue;
    const std::string who = word_of(row, "contestant");
    if (std::ranges::find(order, who) == order.end()) order.push_back(who);
    if (!at_usual_distance(row, usual_ns)) {
      ++dropped;
      continue;
    }
    samples[{word_of(row, "collective"), whole(value_of(row, "bytes")), who}][whole_int(value_of(row, "way"))]
        .push_back(value_of(row, "median_us"));
  }
  ordered_json points = ordered_json::array(), contestants = ordered_json::array();
  for (auto& [cell, variants] : samples) {
    const std::vector<double>* best = nullptr;
    for (auto& [variant, values] : variants) {
      std::ranges::sort(values);
      if (best == nullptr || quantile(values, 0.5) < quantile(*best, 0.5)) best = &values;
    }
    const auto& [collective, bytes, who] = cell;
    points.push_back({{"collective", collective},
                      {"bytes", bytes},
                      {"contestant", who},
                      {"median_us", rounded(quantile(*best, 0.5))},
                      {"low_us", rounded(quantile(*best, 0.25))},
                      {"high_us", rounded(quantile(*best, 0.75))},
                      {"samples", best->size()}});
  }
  for (const std::string& who : order) {
    const bool titled = json.contains("contestants") && json["contestants"].is_object();
    std::string title = titled ? word_of(json["contestants"], who.c_str()) : "";
    contestants.push_back({{"name", who},
                           {"title", title.empty() ? who : title},
                           {"ours", who.starts_with("coll")},
                           {"bound", who.starts_with("limit")}});
  }
  return {{"kind", "curves"},
          {"file", file_name(file)},
          {"title", word_of(json, "headline")},
          {"machine", measured_on(json)},
          {"spread", "quartiles of the launches"},
          {"dropped", dropped},
          {"contestants", contestants},
          {"points", points}};
}

// Reads `collctl bench --json`, which has libcoll alone.
ordered_json alone(const ordered_json& json, const std::string& file) {
  const std::string algorithm = word_of(json, "algorithm");
  const std::string name = "coll " + algorithm;
  ordered_json points = ordered_json::array();
  for (const ordered_json& row : json["rows"])
    points.push_back({{"collective", word_of(row, "collective")},
                      {"bytes", whole(value_of(row, "bytes"))},
                      {"contestant", name},
                      {"median_us", rounded(value_of(row, "median_us"))},
                      {"low_us", rounded(value_of(row, "p10_us"))},
                      {"high_us", rounded(value_of(row, "p90_us"))},
                      {"samples", whole(value_of(row, "iterations"))}});
  return {{"kind", "curves"},
          {"file", file_name(file)},
          {"title", fmt::format("{}, {} ranks", word_of(json, "library"), whole_int(value_of(json, "ranks")))},
          {"machine", measured_on(json)},
          {"spread", "10th to 90th percentile of the calls"},
          {"dropped", 0},
          {"contestants",
           {{{"name", name}, {"title", "libcoll, algorithm " + algorithm}, {"ours", true}, {"bound", false}}}},
          {"points", points}};
}

// Copies a record of docs/measurements without changes.
ordered_json recorded(const ordered_json& json, const std::string& file) {
  ordered_json out = {
      {"kind", "record"}, {"file", file_name(file)}, {"title", word_of(json, "label")}, {"machine", measured_on(json)}};
  for (const char* key :
       {"compares", "statistic", "unit", "ranks", "placement", "date", "commit", "columns", "rows", "notes"})
    out[key] = json.contains(key) ? json[key] : ordered_json();
  return out;
}

ordered_json accesses(const ordered_json& json, const std::string& file) {
  ordered_json rows = ordered_json::array();
  for (const ordered_json& row : json["rows"])
    rows.push_back({{"transport", word_of(row, "transport")},
                    {"pattern", word_of(row, "pattern")},
                    {"pages", whole_int(value_of(row, "pages"))},
                    {"concurrent", whole_int(value_of(row, "concurrent"))},
                    {"median_us", rounded(value_of(row, "median_us"))},
                    {"p10_us", rounded(value_of(row, "p10_us"))},
                    {"p90_us", rounded(value_of(row, "p90_us"))},
                    {"relative", rounded(value_of(row, "relative"))},
                    {"lock_waits", row.contains("lock_waits") ? row["lock_waits"] : ordered_json()}});
  return {{"source", file_name(file)}, {"ranks", whole_int(value_of(json, "ranks"))}, {"rows", rows}};
}

ordered_json fitted_curves(const ordered_json& json, const std::string& file) {
  ordered_json curves = ordered_json::array();
  for (const ordered_json& at : json["curves"])
    curves.push_back({{"curve", word_of(at, "curve")},
                      {"x", value_of(at, "x")},
                      {"measured", rounded(value_of(at, "measured"))},
                      {"fitted", rounded(value_of(at, "fitted"))}});
  return {{"source", file_name(file)}, {"curves", curves}};
}

}  // namespace

void read_recorded(const std::string& file, Recorded& into) {
  const ordered_json json = read_json("--bench", file);
  if (word_of(json, "format").starts_with("libcoll-measurement")) into.benchmarks.push_back(recorded(json, file));
  else if (has_array(json, "samples")) into.benchmarks.push_back(compared(json, file));
  else if (has_array(json, "rows") && json.contains("transports")) into.contention.push_back(accesses(json, file));
  else if (has_array(json, "rows") && json.contains("communicator")) into.benchmarks.push_back(alone(json, file));
  else if (has_array(json, "curves")) into.calibration.push_back(fitted_curves(json, file));
  else
    throw Failure(
        fmt::format("--bench {}: unknown contents; give what --json of make bench, collctl bench, bench "
                    "contention or calibrate wrote, or a record of docs/measurements",
                    file));
}

}  // namespace coll::tools::report
