// SPDX-License-Identifier: BSD-3-Clause
// Section 4: one operation of all ranks, from a timeline in Chrome's trace format.
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
  const ordered_json& all() const { return words_; }

 private:
  std::map<std::string, size_t> numbers_;
  ordered_json words_ = ordered_json::array();
};

double at_us(const ordered_json& event, const char* key) {
  return event.contains(key) && event[key].is_number() ? event[key].get<double>() : 0;
}
std::string name_in(const ordered_json& event, const char* key) {
  return event.contains(key) && event[key].is_string() ? event[key].get<std::string>() : "";
}

void add_event(const ordered_json& event, Trace& trace) {
  static const ordered_json nothing = ordered_json::object();
  const std::string what = name_in(event, "ph"), name = name_in(event, "name");
  const ordered_json& more = event.contains("args") && event["args"].is_object() ? event["args"] : nothing;
  const int row = whole_int(at_us(event, "tid"));
  if (what == "M" && name == "process_name") trace.name = name_in(more, "name");
  if (what == "M" && name == "thread_name") trace.rows[row] = name_in(more, "name");
  const std::string id = event.contains("id") ? event["id"].dump() : "";
  if (what == "s") trace.sources[id] = {row, at_us(event, "ts")};
  if (what == "f") trace.targets.emplace_back(id, End{row, at_us(event, "ts")});
  if (what == "X")
    trace.slices.push_back({row, name, at_us(event, "ts"), at_us(event, "dur"), whole(at_us(more, "pass")),
                            whole(at_us(more, "bytes")), name_in(more, "step")});
}

double to_ns(double us) { return std::round(us * 1000) / 1000; }

// Sorts steps by their begin. Adds rows without a name by their number, which is the order of the ranks.
void order(Trace& trace) {
  std::ranges::stable_sort(trace.slices, {}, &Slice::begin_us);
  for (const Slice& slice : trace.slices) trace.rows.emplace(slice.row, fmt::format("row {}", slice.row));
}

// The critical path through all steps of the file. `hops` has those that start before `shown_us` and need no step
// beyond the first `shown`, about as many as fit into `most_bytes`.
ordered_json path_of(const CriticalPath& path, const Trace& trace, const std::map<int, int>& place, size_t shown,
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
      hops.push_back({place.at(hop.row), to_ns(hop.begin_us), to_ns(hop.end_us - hop.begin_us), step});
  }
  for (auto& [kind, us] : spent) us = to_ns(us);
  ordered_json unmatched_wait;
  if (path.unmatched_wait != nullptr)
    unmatched_wait = trace.rows.at(path.unmatched_wait->row) + ": " + path.unmatched_wait->text;
  return {{"begin_us", to_ns(path.begin_us)}, {"end_us", to_ns(path.end_us)}, {"us", spent}, {"ranks", ranks.size()},
          {"pieces", path.hops.size()},       {"lost", unmatched_wait},       {"hops", hops}};
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
  std::map<int, int> place;
  ordered_json rows = ordered_json::array(), slices = ordered_json::array(), arrows = ordered_json::array();
  for (const auto& [row, name] : trace.rows) {
    place.emplace(row, int(rows.size()));
    rows.push_back(name);
  }
  // Optional facts: whether the timeline was simulated or recorded, and which call it shows.
  static const ordered_json nothing = ordered_json::object();
  const ordered_json& about = json.contains("otherData") && json["otherData"].is_object() ? json["otherData"] : nothing;
  const CriticalPath path = critical_path(trace);
  // Show the earliest steps that fit; longer traces can be viewed with Perfetto. A quarter of the space is for arrows,
  // at most an eighth for the critical path.
  const size_t path_bytes = std::min(path.hops.size() * hop_bytes, most_bytes / 8);
  Words kinds, words;
  size_t used = 0;
  double end_us = 0, shown_us = std::numeric_limits<double>::infinity();
  for (const Slice& slice : trace.slices) {
    const size_t before = words.all().size(), word = words.number(slice.text);
    used += slice_bytes + (words.all().size() > before ? slice.text.size() + 3 : 0);
    if (used > most_bytes / 4 * 3 - path_bytes) {
      shown_us = slice.begin_us;
      break;
    }
    end_us = std::max(end_us, slice.begin_us + slice.us);
    slices.push_back({place[slice.row], kinds.number(slice.kind), to_ns(slice.begin_us), to_ns(slice.us), word,
                      slice.pass, slice.bytes});
  }
  for (const auto& [id, to] : trace.targets) {
    const auto from = trace.sources.find(id);
    if (from == trace.sources.end() || to.us > shown_us || arrows.size() * arrow_bytes > most_bytes / 4) continue;
    if (!place.contains(from->second.row) || !place.contains(to.row)) continue;
    arrows.push_back({place[from->second.row], to_ns(from->second.us), place[to.row], to_ns(to.us)});
  }
  const ordered_json of_path = path_of(path, trace, place, slices.size(), shown_us, path_bytes);
  return {{"name", trace.name},
          {"origin", name_in(about, "origin")},
          {"machine", name_in(about, "machine")},
          {"bytes", about.contains("bytes") ? ordered_json(whole(at_us(about, "bytes"))) : ordered_json()},
          {"transport", name_in(about, "transport")},
          {"file", std::filesystem::path(file).filename().string()},
          {"rows", rows},
          {"path", of_path},
          {"kinds", kinds.all()},
          {"words", words.all()},
          {"end_us", to_ns(end_us)},
          {"recorded", trace.slices.size()},
          {"slices", slices},
          {"arrows", arrows}};
}

}  // namespace coll::tools::report
