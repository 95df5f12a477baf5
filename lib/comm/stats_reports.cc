// SPDX-License-Identifier: BSD-3-Clause
// The reports of COLL_STATS: a table, JSON, and Prometheus's text format.
#include <algorithm>
#include <cstdio>
#include <string_view>

#include "comm/stats_book.h"
#include "sync/clock.h"

namespace coll::comm::stats {
namespace {

template <typename... Values>
void add(std::string& text, const char* format, Values... values) {
  char line[512];
  text.append(line, size_t(std::min<int>(snprintf(line, sizeof line, format, values...), sizeof line - 1)));
}

using Number = unsigned long long;  // for %llu

std::string size_text(int size_class) {
  if (size_class == classes) return "more";
  if (size_class == unknown_size) return "any";
  size_t bytes = class_bytes(size_class);
  const char* unit = bytes >= 1 << 20 ? " MiB" : bytes >= 1 << 10 ? " KiB" : " B";
  return std::to_string(bytes >> (bytes >= 1 << 20 ? 20 : bytes >= 1 << 10 ? 10 : 0)) + unit;
}

// A size class in JSON: null above the largest class, "any" if the size is not known.
std::string limit_of(int size_class) {
  if (size_class == unknown_size) return "\"any\"";
  return size_class == classes ? "null" : std::to_string(class_bytes(size_class));
}

// Quotes a string for JSON and for Prometheus's labels.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

double share_of(double seconds, double run_seconds) { return run_seconds > 0 ? seconds / run_seconds : 0; }

void add_function(std::string& out, const std::string& name, const Function& function, double run_seconds) {
  add(out, "%-24s %10llu %10llu %10llu %12.3f %13.3f %7.2f %%\n", name.c_str(), Number(function.served.calls),
      Number(function.forwarded.calls), Number(function.one_rank.calls), function.seconds() * 1e3,
      function.forwarded.seconds * 1e3, 100 * share_of(function.seconds(), run_seconds));
}

void add_spread(std::string& out, const char* name, const Spread& spread) {
  add(out, "%-24s min %.3f ms (rank %d), mean %.3f ms, max %.3f ms (rank %d)\n", name, spread.least * 1e3,
      spread.least_rank, spread.mean * 1e3, spread.most * 1e3, spread.most_rank);
}

void add_share(std::string& out, const char* name, const Share& share) {
  add(out, "\"%s\": %llu, \"%s_seconds\": %.9f", name, Number(share.calls), name, share.seconds);
}

void add_shares(std::string& out, const Function& function) {
  add_share(out, "served", function.served), out += ", ";
  add_share(out, "forwarded", function.forwarded), out += ", ";
  add_share(out, "one_rank", function.one_rank);
}

void add_json_spread(std::string& out, const char* name, const Spread& spread) {
  add(out, ", \"%s\": {\"min\": %.9f, \"min_rank\": %d, \"mean\": %.9f, \"max\": %.9f, \"max_rank\": %d}", name,
      spread.least, spread.least_rank, spread.mean, spread.most, spread.most_rank);
}

// Adds one metric and its samples: "name{labels} value".
class Metric {
 public:
  Metric(std::string& out, const char* name, const char* type, const char* help) : out_(out), name_(name) {
    add(out_, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
  }
  void sample(const std::string& labels, uint64_t value) { line(labels, std::to_string(value)); }
  void sample(const std::string& labels, double value) {
    char text[64];
    snprintf(text, sizeof text, "%.9f", value);
    line(labels, text);
  }

 private:
  void line(const std::string& labels, const std::string& value) {
    out_ += std::string(name_) + "{" + labels + "} " + value + "\n";
  }
  std::string& out_;
  const char* name_;
};

std::string size_label(int size_class) {
  if (size_class == unknown_size) return "any";
  return size_class == classes ? "more" : std::to_string(class_bytes(size_class));
}

}  // namespace

int class_of(size_t bytes) {
  if (bytes == SIZE_MAX) return unknown_size;
  int size_class = 0;
  while (size_class < classes && bytes > class_bytes(size_class)) size_class++;
  return size_class;
}

uint64_t Counts::forwarded_calls_of(const StatsKey& key) const {
  uint64_t calls = 0;
  for (const auto& [reason, share] : forwarded_calls.at(key)) calls += share.calls;
  return calls;
}

uint64_t Counts::calls_of(const StatsKey& wanted) const {
  const auto same = [&](const std::string& collective, int size_class) {
    return collective == wanted.first && (wanted.second == unknown_size || wanted.second == size_class);
  };
  uint64_t calls = 0;
  for (const auto& [key, row] : rows)
    if (same(key.collective, key.size_class)) calls += row.calls;
  for (const auto& [other, reasons] : forwarded_calls)
    if (same(other.first, other.second)) calls += forwarded_calls_of(other);
  return calls;
}

Function Counts::total() const {
  Function sum;
  for (const auto& [name, function] : functions) sum.add(function);
  return sum;
}

std::string text_of(const Counts& counts, int rank, bool complete) {
  if (counts.empty()) return "";
  const double run_seconds = sync::now_seconds() - counts.began_seconds;
  std::string out;
  add(out, "libcoll: %sstatistics of rank %d\n", complete ? "" : "partial ", rank);
  add(out, "%-15s %8s %10s %15s %13s %10s  %s\n", "collective", "up to", "calls", "bytes", "time ms", "us a call",
      "algorithm, transport");
  for (const auto& [key, row] : counts.rows) {
    const std::string by = key.function.empty() ? "" : ", " + key.function;
    add(out, "%-15s %8s %10llu %15llu %13.3f %10.2f  %s, %s%s\n", key.collective.c_str(),
        size_text(key.size_class).c_str(), Number(row.calls), Number(row.bytes), row.seconds * 1e3,
        row.seconds * 1e6 / double(row.calls), key.algorithm.c_str(), key.transport.c_str(), by.c_str());
  }
  for (const auto& [key, reasons] : counts.forwarded_calls) {
    std::map<std::string, uint64_t> by_why;
    double seconds = 0;
    for (const auto& [reason, share] : reasons) by_why[reason.why] += share.calls, seconds += share.seconds;
    std::string why;
    for (const auto& [reason, calls] : by_why) why += (why.empty() ? "" : ", ") + std::to_string(calls) + " " + reason;
    const uint64_t calls = counts.forwarded_calls_of(key);
    add(out, "%-15s %8s %10llu forwarded, %.1f %%, %.3f ms: %s\n", key.first.c_str(), size_text(key.second).c_str(),
        Number(calls), 100 * double(calls) / double(counts.calls_of(key)), seconds * 1e3, why.c_str());
  }
  if (!counts.tuned.empty())
    add(out, "%-15s %8s %6s %10s %10s  %s\n", "auto-tuned", "bytes", "ranks", "us a call", "before", "setting");
  for (const auto& [key, one] : counts.tuned)
    add(out, "%-15s %8zu %6d %10.2f %10.2f  %s%s\n", std::get<0>(key).c_str(), one.bytes, std::get<2>(key), one.us,
        one.usual_us, one.setting.c_str(), std::get<3>(key) ? " (request)" : "");
  add(out, "%-24s %10s %10s %10s %12s %13s %9s\n", "function", "served", "forwarded", "one rank", "time ms",
      "forwarded ms", "of run");
  for (const auto& [name, function] : counts.functions) add_function(out, name, function, run_seconds);
  add_function(out, "total", counts.total(), run_seconds);
  add(out, "%-24s %.3f ms\n", "run", run_seconds * 1e3);
  if (counts.ranks == 0) return out;
  add(out, "%d ranks\n", counts.ranks);
  add_spread(out, "in collectives", counts.collectives);
  add_spread(out, "of that forwarded", counts.forwarded);
  add_spread(out, "run", counts.run);
  return out;
}

std::string json_of(const Counts& counts, int rank, bool complete) {
  if (counts.empty()) return "";
  const double run_seconds = sync::now_seconds() - counts.began_seconds;
  std::string out = "{\"rank\": " + std::to_string(rank);
  out += std::string(",\n \"complete\": ") + (complete ? "true" : "false");
  add(out, ",\n \"run_seconds\": %.6f", run_seconds);
  const Function total = counts.total();
  out += ",\n \"total\": {";
  add_shares(out, total);
  add(out, ", \"seconds\": %.9f, \"share_of_run\": %.6f}", total.seconds(), share_of(total.seconds(), run_seconds));
  if (counts.ranks != 0) {
    add(out, ",\n \"all_ranks\": {\"ranks\": %d", counts.ranks);
    add_json_spread(out, "seconds", counts.collectives);
    add_json_spread(out, "forwarded_seconds", counts.forwarded);
    add_json_spread(out, "run_seconds", counts.run);
    out += "}";
  }
  out += ",\n \"calls\": [";
  const char* separator = "";
  for (const auto& [key, row] : counts.rows) {
    out += std::string(separator) + "\n  {\"collective\": " + quoted(key.collective) +
           ", \"up_to_bytes\": " + limit_of(key.size_class) + ", \"calls\": " + std::to_string(row.calls) +
           ", \"bytes\": " + std::to_string(row.bytes);
    add(out, ", \"seconds\": %.9f, \"algorithm\": ", row.seconds);
    out += quoted(key.algorithm) + ", \"transport\": " + quoted(key.transport);
    out += (key.function.empty() ? "" : ", \"function\": " + quoted(key.function)) + "}";
    separator = ",";
  }
  out += "],\n \"forwarded\": [";
  separator = "";
  for (const auto& [key, reasons] : counts.forwarded_calls)
    for (const auto& [reason, share] : reasons) {
      out += std::string(separator) + "\n  {\"collective\": " + quoted(key.first) +
             ", \"up_to_bytes\": " + limit_of(key.second) + ", \"why\": " + quoted(reason.why) +
             ", \"calls\": " + std::to_string(share.calls);
      add(out,
          ", \"share\": %.6f, \"seconds\": %.9f, \"function\": ", double(share.calls) / double(counts.calls_of(key)),
          share.seconds);
      out += quoted(reason.function) + "}";
      separator = ",";
    }
  out += "],\n \"functions\": [";
  separator = "";
  for (const auto& [name, function] : counts.functions) {
    out += std::string(separator) + "\n  {\"function\": " + quoted(name) + ", ";
    add_shares(out, function);
    out += "}";
    separator = ",";
  }
  out += "],\n \"tuned\": [";
  separator = "";
  for (const auto& [key, one] : counts.tuned) {
    const auto& [collective, from, ranks, request] = key;
    out += std::string(separator) + "\n  {\"collective\": " + quoted(collective) +
           ", \"bytes\": " + std::to_string(one.bytes) + ", \"ranks\": " + std::to_string(ranks) +
           ", \"request\": " + (request ? "true" : "false") + ", \"setting\": " + quoted(one.setting);
    add(out, ", \"us\": %.3f", one.us);
    out += ", \"default_setting\": " + quoted(one.usual);
    add(out, ", \"default_us\": %.3f}", one.usual_us);
    separator = ",";
  }
  return out + "]}\n";
}

std::string prometheus_of(const Counts& counts, int rank) {
  if (counts.empty()) return "";
  const std::string of_rank = "rank=\"" + std::to_string(rank) + "\"";
  const auto labels_of = [&](const Key& key) {
    return of_rank + ",function=" + quoted(key.function) + ",collective=" + quoted(key.collective) +
           ",up_to_bytes=" + quoted(size_label(key.size_class)) + ",algorithm=" + quoted(key.algorithm) +
           ",transport=" + quoted(key.transport);
  };
  std::string out;
  Metric calls(out, "libcoll_calls_total", "counter", "Collective calls that libcoll served.");
  for (const auto& [key, row] : counts.rows) calls.sample(labels_of(key), row.calls);
  Metric bytes(out, "libcoll_bytes_total", "counter", "Sum of the sizes of these calls.");
  for (const auto& [key, row] : counts.rows) bytes.sample(labels_of(key), row.bytes);
  Metric seconds(out, "libcoll_seconds_total", "counter",
                 "Time of these calls; of requests, from start to completion.");
  for (const auto& [key, row] : counts.rows) seconds.sample(labels_of(key), row.seconds);
  const auto labels_of_reason = [&](const StatsKey& key, const Reason& reason) {
    return of_rank + ",function=" + quoted(reason.function) + ",collective=" + quoted(key.first) +
           ",up_to_bytes=" + quoted(size_label(key.second)) + ",why=" + quoted(reason.why);
  };
  Metric forwarded(out, "libcoll_forwarded_calls_total", "counter", "Calls that the shim forwarded to MPI.");
  for (const auto& [key, reasons] : counts.forwarded_calls)
    for (const auto& [reason, share] : reasons) forwarded.sample(labels_of_reason(key, reason), share.calls);
  Metric time(out, "libcoll_forwarded_seconds_total", "counter", "Time of the calls that the shim forwarded to MPI.");
  for (const auto& [key, reasons] : counts.forwarded_calls)
    for (const auto& [reason, share] : reasons) time.sample(labels_of_reason(key, reason), share.seconds);
  Metric spent(out, "libcoll_function_seconds_total", "counter", "Time that the rank spent in a function.");
  for (const auto& [name, function] : counts.functions) {
    const std::string labels = of_rank + ",function=" + quoted(name) + ",how=";
    spent.sample(labels + "\"served\"", function.served.seconds);
    spent.sample(labels + "\"forwarded\"", function.forwarded.seconds);
    spent.sample(labels + "\"one rank\"", function.one_rank.seconds);
  }
  Metric run(out, "libcoll_run_seconds", "gauge", "Time since the statistics began.");
  run.sample(of_rank, sync::now_seconds() - counts.began_seconds);
  return out;
}

}  // namespace coll::comm::stats
