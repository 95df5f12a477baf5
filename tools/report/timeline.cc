// SPDX-License-Identifier: BSD-3-Clause
// The timeline of a report: one operation of all ranks, from a file in Chrome's trace format.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "tools/command.h"
#include "tools/report/critical_path.h"
#include "tools/report/sections.h"

namespace coll::tools::report {
namespace {

// Approximate size as JSON of a step (without its text), an arrow and a hop of the critical path.
constexpr size_t slice_bytes = 40, arrow_bytes = 28, hop_bytes = 28;

// Assigns numbers to texts that occur many times.
class Words {
 public:
  size_t number(const std::string& word) {
    const auto [at, fresh] = numbers_.emplace(word, words_.size());
    if (fresh) words_.push_back(word);
    return at->second;
  }
  bool knows(const std::string& word) const { return numbers_.contains(word); }
  const ordered_json& all() const { return words_; }

 private:
  std::map<std::string, size_t> numbers_;
  ordered_json words_ = ordered_json::array();
};

// 0: there is no number of that name.
double number_in(const ordered_json& event, const char* key) {
  return event.contains(key) && event[key].is_number() ? event[key].get<double>() : 0;
}
// "": there is no text of that name.
std::string text_in(const ordered_json& event, const char* key) {
  return event.contains(key) && event[key].is_string() ? event[key].get<std::string>() : "";
}

const ordered_json& object_in(const ordered_json& event, const char* key) {
  static const ordered_json nothing = ordered_json::object();
  return event.contains(key) && event[key].is_object() ? event[key] : nothing;
}

// Phases of Chrome's format: "M" metadata, "s" and "f" start and end of an arrow, "X" a step.
void add_event(const ordered_json& event, Trace& trace) {
  const std::string what = text_in(event, "ph"), name = text_in(event, "name");
  const ordered_json& more = object_in(event, "args");
  const int row = whole_int(number_in(event, "tid"));
  if (what == "M" && name == "process_name") trace.name = text_in(more, "name");
  if (what == "M" && name == "thread_name") trace.rows[row] = text_in(more, "name");
  const std::string id = event.contains("id") ? event["id"].dump() : "";
  if (what == "s") trace.sources[id] = {row, number_in(event, "ts")};
  if (what == "f") trace.targets.emplace_back(id, End{row, number_in(event, "ts")});
  if (what == "X")
    trace.slices.push_back({row, name, number_in(event, "ts"), number_in(event, "dur"), whole(number_in(more, "pass")),
                            whole(number_in(more, "bytes")), text_in(more, "step")});
}

// Microseconds, rounded to whole nanoseconds.
double rounded_us(double us) { return std::round(us * 1000) / 1000; }

// Sorts steps by their begin. Adds rows without a name by their number, which is the order of the ranks.
void order(Trace& trace) {
  std::ranges::stable_sort(trace.slices, {}, &Slice::begin_us);
  for (const Slice& slice : trace.slices) trace.rows.emplace(slice.row, fmt::format("row {}", slice.row));
}

// The critical path through all steps of the file. `hops` has those that start before `shown_us` and need no step
// beyond the first `shown`, about as many as fit into `most_bytes`.
ordered_json path_of(const CriticalPath& path, const Trace& trace, const std::map<int, int>& index_of_row, size_t shown,
                     double shown_us, size_t most_bytes) {
  std::map<std::string, double> spent{{"copy", 0}, {"reduce", 0}, {"wait", 0}, {"start", 0}, {"other", 0}};
  std::set<std::string> ranks;
  ordered_json hops = ordered_json::array();
  for (const Hop& hop : path.hops) {
    const std::string kind = hop.step != nullptr ? hop.step->kind : &hop == path.hops.data() ? "start" : "other";
    spent[spent.contains(kind) ? kind : "other"] += hop.end_us - hop.begin_us;
    ranks.insert(rank_of(trace.rows.at(hop.row)));
    const ptrdiff_t step = hop.step == nullptr ? -1 : hop.step - trace.slices.data();
    if (hop.begin_us < shown_us && step < ptrdiff_t(shown) && hops.size() * hop_bytes < most_bytes)
      hops.push_back({index_of_row.at(hop.row), rounded_us(hop.begin_us), rounded_us(hop.end_us - hop.begin_us), step});
  }
  for (auto& [kind, us] : spent) us = rounded_us(us);
  ordered_json unmatched_wait;
  if (path.unmatched_wait != nullptr)
    unmatched_wait = trace.rows.at(path.unmatched_wait->row) + ": " + path.unmatched_wait->text;
  return {{"begin_us", rounded_us(path.begin_us)},
          {"end_us", rounded_us(path.end_us)},
          {"us", spent},
          {"ranks", ranks.size()},
          {"pieces", path.hops.size()},
          {"lost", unmatched_wait},
          {"hops", hops}};
}

}  // namespace

ordered_json timeline_section(const std::string& file, size_t most_bytes) {
  const ordered_json json = read_json("--trace", file);
  if (!json.is_object() || !json.contains("traceEvents") || !json["traceEvents"].is_array())
    throw Failure(
        fmt::format("--trace {}: not a timeline; write one with collctl bench --trace or simulate --trace", file));
  Trace trace;
  for (const ordered_json& event : json["traceEvents"])
    if (event.is_object()) add_event(event, trace);
  if (trace.slices.empty()) throw Failure(fmt::format("--trace {}: the timeline has no steps", file));
  order(trace);
  std::map<int, int> index_of_row;  // in `rows`, by row number
  ordered_json rows = ordered_json::array(), slices = ordered_json::array(), arrows = ordered_json::array();
  for (const auto& [row, name] : trace.rows) {
    index_of_row.emplace(row, int(rows.size()));
    rows.push_back(name);
  }
  // Optional facts: whether the timeline was simulated or recorded, and which call it shows.
  const ordered_json& about = object_in(json, "otherData");
  const CriticalPath path = critical_path(trace);
  // Show the earliest steps that fit; longer traces can be viewed with Perfetto. A quarter of the space is for arrows,
  // at most an eighth for the critical path.
  const size_t path_bytes = std::min(path.hops.size() * hop_bytes, most_bytes / 8);
  Words kinds, words;
  size_t used = 0;
  double end_us = 0, shown_us = std::numeric_limits<double>::infinity();
  for (const Slice& slice : trace.slices) {
    used += slice_bytes + (words.knows(slice.text) ? 0 : slice.text.size() + 3);
    if (used > most_bytes / 4 * 3 - path_bytes) {
      shown_us = slice.begin_us;
      break;
    }
    end_us = std::max(end_us, slice.begin_us + slice.us);
    slices.push_back({index_of_row[slice.row], kinds.number(slice.kind), rounded_us(slice.begin_us),
                      rounded_us(slice.us), words.number(slice.text), slice.iteration, slice.bytes});
  }
  for (const auto& [id, to] : trace.targets) {
    const auto from = trace.sources.find(id);
    if (from == trace.sources.end() || to.us > shown_us || arrows.size() * arrow_bytes > most_bytes / 4) continue;
    if (!index_of_row.contains(from->second.row) || !index_of_row.contains(to.row)) continue;
    arrows.push_back(
        {index_of_row[from->second.row], rounded_us(from->second.us), index_of_row[to.row], rounded_us(to.us)});
  }
  const ordered_json of_path = path_of(path, trace, index_of_row, slices.size(), shown_us, path_bytes);
  return {{"name", trace.name},
          {"origin", text_in(about, "origin")},
          {"machine", text_in(about, "machine")},
          {"bytes", about.contains("bytes") ? ordered_json(whole(number_in(about, "bytes"))) : ordered_json()},
          {"transport", text_in(about, "transport")},
          {"file", std::filesystem::path(file).filename().string()},
          {"rows", rows},
          {"path", of_path},
          {"kinds", kinds.all()},
          {"words", words.all()},
          {"end_us", rounded_us(end_us)},
          {"recorded", trace.slices.size()},
          {"slices", slices},
          {"arrows", arrows}};
}

}  // namespace coll::tools::report
