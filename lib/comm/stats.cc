// SPDX-License-Identifier: BSD-3-Clause
#include "comm/stats.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "config/config.h"

namespace coll::comm::stats {
namespace {

// Sizes up to 8 B, 64 B, 512 B, 4 KiB ... 128 MiB, and above.
constexpr int classes = 9;
size_t class_bytes(int size_class) { return size_t(8) << 3 * size_class; }
constexpr int unknown_size = classes + 1;
int class_of(size_t bytes) {
  if (bytes == SIZE_MAX) return unknown_size;
  int size_class = 0;
  while (size_class < classes && bytes > class_bytes(size_class)) size_class++;
  return size_class;
}

struct Key {
  std::string collective;
  int size_class;
  std::string algorithm, transport;
  bool operator<(const Key& other) const {
    return std::tie(collective, size_class, algorithm, transport) <
           std::tie(other.collective, other.size_class, other.algorithm, other.transport);
  }
};
using Place = std::pair<std::string, int>;  // a collective and a size class
struct Row {
  uint64_t calls = 0;
  uint64_t bytes = 0;
  double seconds = 0;
};

struct Tuned {
  size_t bytes = 0;
  std::string setting, usual;
  double us = 0, usual_us = 0;
};

struct Book {
  std::mutex mutex;
  std::string wish;
  int rank = 0;
  pid_t process = 0;
  double began_seconds = 0;  // with the first communicator
  bool written = false;
  std::map<Key, Row> rows;
  std::map<Place, std::map<std::string, uint64_t>> passed;  // by reason
  std::map<std::tuple<std::string, size_t, int, bool>, Tuned>
      tuned;  // by collective, size class, ranks, whether requests

  uint64_t passed_of(const Place& place) const {
    uint64_t calls = 0;
    for (const auto& [why, count] : passed.at(place)) calls += count;
    return calls;
  }

  // All calls of this size, taken and passed on; of any size when it is unknown.
  uint64_t calls_of(const Place& place) const {
    const auto same = [&](const std::string& collective, int size_class) {
      return collective == place.first && (place.second == unknown_size || place.second == size_class);
    };
    uint64_t calls = 0;
    for (const auto& [key, row] : rows)
      if (same(key.collective, key.size_class)) calls += row.calls;
    for (const auto& [other, reasons] : passed)
      if (same(other.first, other.second)) calls += passed_of(other);
    return calls;
  }
};

Book& book() {
  static Book* only = new Book;  // never destroyed: it is written when the process ends
  return *only;
}

void write_at_end() {
  Book& all = book();
  // A child after fork() is not the process that counted.
  if (!all.written && all.process == getpid()) write(all.rank);
}

template <typename... Values>
void add(std::string& text, const char* format, Values... values) {
  char line[512];
  text.append(line, size_t(std::min<int>(snprintf(line, sizeof line, format, values...), sizeof line - 1)));
}

std::string size_text(int size_class) {
  if (size_class == classes) return "more";
  if (size_class == unknown_size) return "any";
  size_t bytes = class_bytes(size_class);
  const char* unit = bytes >= 1 << 20 ? " MiB" : bytes >= 1 << 10 ? " KiB" : " B";
  return std::to_string(bytes >> (bytes >= 1 << 20 ? 20 : bytes >= 1 << 10 ? 10 : 0)) + unit;
}

// For JSON: null above the largest class, "any" where no size is known.
std::string limit_of(int size_class) {
  if (size_class == unknown_size) return "\"any\"";
  return size_class == classes ? "null" : std::to_string(class_bytes(size_class));
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void begin(int rank) {
  static std::once_flag once;
  std::call_once(once, [rank] {
    const char* wish = config::value("COLL_STATS");
    if (wish == nullptr || *wish == 0 || std::string_view(wish) == "0") return;
    Book& all = book();
    all.wish = wish;
    all.rank = rank;
    all.process = getpid();
    all.began_seconds = now_seconds();
    std::atexit(write_at_end);
    wanted_flag.store(true, std::memory_order_relaxed);
  });
}

void record(std::string_view collective, size_t bytes, double seconds, std::string_view algorithm,
            std::string_view transport) {
  Book& all = book();
  const std::lock_guard lock(all.mutex);
  Row& row = all.rows[{std::string(collective), class_of(bytes), std::string(algorithm), std::string(transport)}];
  row.calls++;
  row.bytes += bytes;
  row.seconds += seconds;
}

void passed_on(std::string_view collective, std::string_view why, size_t bytes) {
  Book& all = book();
  const std::lock_guard lock(all.mutex);
  all.passed[{std::string(collective), class_of(bytes)}][std::string(why)]++;
}

void tuned(std::string_view collective, size_t bytes, int ranks, bool request, const std::string& setting, double us,
           const std::string& usual, double usual_us) {
  Book& all = book();
  const std::lock_guard lock(all.mutex);
  all.tuned[{std::string(collective), std::bit_floor(bytes), ranks, request}] = {bytes, setting, usual, us, usual_us};
}

std::string text(int rank) {
  Book& all = book();
  const std::lock_guard lock(all.mutex);
  if (all.rows.empty() && all.passed.empty()) return "";
  std::string out;
  add(out, "libcoll: statistics of rank %d\n", rank);
  add(out, "%-15s %8s %10s %15s %13s %10s  %s\n", "collective", "up to", "calls", "bytes", "time ms", "us a call",
      "algorithm, transport");
  for (const auto& [key, row] : all.rows)
    add(out, "%-15s %8s %10llu %15llu %13.3f %10.2f  %s, %s\n", key.collective.c_str(),
        size_text(key.size_class).c_str(), static_cast<unsigned long long>(row.calls),
        static_cast<unsigned long long>(row.bytes), row.seconds * 1e3, row.seconds * 1e6 / double(row.calls),
        key.algorithm.c_str(), key.transport.c_str());
  for (const auto& [place, reasons] : all.passed) {
    const uint64_t calls = all.passed_of(place);
    std::string why;
    for (const auto& [reason, count] : reasons) why += (why.empty() ? "" : ", ") + std::to_string(count) + " " + reason;
    add(out, "%-15s %8s %10llu forwarded, %.1f %%: %s\n", place.first.c_str(), size_text(place.second).c_str(),
        static_cast<unsigned long long>(calls), 100 * double(calls) / double(all.calls_of(place)), why.c_str());
  }
  if (!all.tuned.empty())
    add(out, "%-15s %8s %6s %10s %10s  %s\n", "auto-tuned", "bytes", "ranks", "us a call", "before", "setting");
  for (const auto& [key, one] : all.tuned)
    add(out, "%-15s %8zu %6d %10.2f %10.2f  %s%s\n", std::get<0>(key).c_str(), one.bytes, std::get<2>(key), one.us,
        one.usual_us, one.setting.c_str(), std::get<3>(key) ? " (request)" : "");
  return out;
}

std::string json(int rank) {
  Book& all = book();
  const std::lock_guard lock(all.mutex);
  if (all.rows.empty() && all.passed.empty()) return "";
  std::string out = "{\"rank\": " + std::to_string(rank);
  add(out, ",\n \"run_seconds\": %.6f", now_seconds() - all.began_seconds);
  out += ",\n \"calls\": [";
  const char* separator = "";
  for (const auto& [key, row] : all.rows) {
    out += std::string(separator) + "\n  {\"collective\": " + json_string(key.collective) +
           ", \"up_to_bytes\": " + limit_of(key.size_class) + ", \"calls\": " + std::to_string(row.calls) +
           ", \"bytes\": " + std::to_string(row.bytes);
    add(out, ", \"seconds\": %.9f, \"algorithm\": ", row.seconds);
    out += json_string(key.algorithm) + ", \"transport\": " + json_string(key.transport) + "}";
    separator = ",";
  }
  out += "],\n \"forwarded\": [";
  separator = "";
  for (const auto& [place, reasons] : all.passed)
    for (const auto& [reason, calls] : reasons) {
      out += std::string(separator) + "\n  {\"collective\": " + json_string(place.first) +
             ", \"up_to_bytes\": " + limit_of(place.second) + ", \"why\": " + json_string(reason) +
             ", \"calls\": " + std::to_string(calls);
      add(out, ", \"share\": %.6f}", double(calls) / double(all.calls_of(place)));
      separator = ",";
    }
  out += "],\n \"tuned\": [";
  separator = "";
  for (const auto& [key, one] : all.tuned) {
    const auto& [collective, from, ranks, request] = key;
    out += std::string(separator) + "\n  {\"collective\": " + json_string(collective) +
           ", \"bytes\": " + std::to_string(one.bytes) + ", \"ranks\": " + std::to_string(ranks) +
           ", \"request\": " + (request ? "true" : "false") + ", \"setting\": " + json_string(one.setting);
    add(out, ", \"us\": %.3f", one.us);
    out += ", \"default_setting\": " + json_string(one.usual);
    add(out, ", \"default_us\": %.3f}", one.usual_us);
    separator = ",";
  }
  return out + "]}\n";
}

namespace {

bool write_report(int rank) {
  Book& all = book();
  all.written = true;
  if (all.wish == "1" || all.wish == "json") {
    const std::string report = rank != 0 ? "" : all.wish == "1" ? text(rank) : json(rank);
    return report.empty() || ::write(STDERR_FILENO, report.data(), report.size()) == ssize_t(report.size());
  }
  std::string file = all.wish;
  const size_t place = file.find("%r");
  if (place != std::string::npos) file.replace(place, 2, std::to_string(rank));
  else if (rank != 0) return true;
  const std::string report = json(rank);
  if (report.empty()) return true;
  std::FILE* out = std::fopen(file.c_str(), "we");
  if (out == nullptr) return false;
  const bool complete = std::fwrite(report.data(), 1, report.size(), out) == report.size();
  return std::fclose(out) == 0 && complete;
}

}  // namespace

bool write(int rank) {
  if (!wanted() || write_report(rank)) return true;
  // The program has asked for it, and its results are gone.
  fprintf(stderr, "libcoll: rank %d: cannot write COLL_STATS=%s: %s; name a file in a writable directory\n", rank,
          book().wish.c_str(), strerror(errno));
  return false;
}

}  // namespace coll::comm::stats
