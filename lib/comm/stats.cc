// SPDX-License-Identifier: BSD-3-Clause
#include "comm/stats.h"

#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>

#include "comm/stats_book.h"
#include "config/config.h"
#include "sync/clock.h"

namespace coll::comm::stats {
namespace {

struct Book {
  std::mutex mutex;
  std::string wish;
  int rank = 0;
  pid_t process = 0;
  bool written = false;
  double every_seconds = std::numeric_limits<double>::infinity();
  double due_seconds = std::numeric_limits<double>::infinity();  // time of the next partial report
  Counts counts;
};

Book& book() {
  static Book* only = new Book;  // never destroyed: an exit handler writes the report
  return *only;
}

thread_local const char* current_function = nullptr;

void write_at_end() {
  Book& all = book();
  // A child after fork() does not write the report of its parent.
  if (!all.written && all.process == getpid()) write(all.rank);
}

double wanted_interval() {
  const char* value = config::value("COLL_STATS_EVERY");
  if (value == nullptr || *value == 0) return std::numeric_limits<double>::infinity();
  char* end;
  const double seconds = std::strtod(value, &end);
  if (*end == 0 && std::isfinite(seconds) && seconds >= 0) return seconds > 0 ? seconds : HUGE_VAL;
  fprintf(stderr, "libcoll: COLL_STATS_EVERY='%s' is not a number of seconds; use one such as 60, or unset it\n",
          value);
  return std::numeric_limits<double>::infinity();
}

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string report_of(Book& all, int rank, bool complete) {
  const std::lock_guard lock(all.mutex);
  if (all.wish == "1") return text_of(all.counts, rank, complete);
  if (all.wish == "prometheus" || ends_with(all.wish, ".prom")) return prometheus_of(all.counts, rank);
  return json_of(all.counts, rank, complete);
}

bool write_file(const std::string& file, const std::string& report) {
  std::FILE* out = std::fopen(file.c_str(), "we");
  if (out == nullptr) return false;
  const bool complete = std::fwrite(report.data(), 1, report.size(), out) == report.size();
  return std::fclose(out) == 0 && complete;
}

// Replaces the file atomically, so that a process that is killed here leaves the previous report complete. A path that
// is not a regular file, such as a pipe, is written directly.
bool replace_file(const std::string& file, const std::string& report) {
  struct stat found;
  if (lstat(file.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) return write_file(file, report);
  const std::string beside = file + ".new";
  if (write_file(beside, report) && std::rename(beside.c_str(), file.c_str()) == 0) return true;
  const int error = errno;
  unlink(beside.c_str());
  errno = error;
  return false;
}

bool write_report(int rank, bool complete) {
  Book& all = book();
  if (all.wish == "1" || all.wish == "json" || all.wish == "prometheus") {
    const std::string report = rank != 0 ? "" : report_of(all, rank, complete);
    return report.empty() || ::write(STDERR_FILENO, report.data(), report.size()) == ssize_t(report.size());
  }
  std::string file = all.wish;
  const size_t place = file.find("%r");
  if (place != std::string::npos) file.replace(place, 2, std::to_string(rank));
  else if (rank != 0) return true;
  const std::string report = report_of(all, rank, complete);
  if (report.empty()) return true;
  return std::isfinite(all.every_seconds) ? replace_file(file, report) : write_file(file, report);
}

// Calls `enter(counts)` under the mutex, and writes a partial report if one is due.
template <typename Enter>
void count(Enter enter) {
  Book& all = book();
  {
    const std::lock_guard lock(all.mutex);
    enter(all.counts);
    if (std::isinf(all.due_seconds)) [[likely]]
      return;
    const double now = sync::now_seconds();
    if (now < all.due_seconds || all.written) return;
    all.due_seconds = now + all.every_seconds;
  }
  if (write_report(all.rank, false)) return;
  const std::lock_guard lock(all.mutex);
  all.due_seconds = std::numeric_limits<double>::infinity();  // the final report will print the error
}

}  // namespace

void begin(int rank) {
  static std::once_flag once;
  std::call_once(once, [rank] {
    const char* wish = config::value("COLL_STATS");
    if (wish == nullptr || *wish == 0 || std::string_view(wish) == "0") return;
    Book& all = book();
    all.wish = wish;
    all.rank = rank;
    all.process = getpid();
    all.counts.began_seconds = sync::now_seconds();
    all.every_seconds = wanted_interval();
    all.due_seconds = all.counts.began_seconds + all.every_seconds;
    std::atexit(write_at_end);
    wanted_flag.store(true, std::memory_order_relaxed);
  });
}

void set_function(const char* function) { current_function = function; }
const char* function() { return current_function; }

void record(const char* function, std::string_view collective, size_t bytes, double seconds, std::string_view algorithm,
            std::string_view transport) {
  count([&](Counts& counts) {
    Row& row = counts.rows[{function != nullptr ? function : "", std::string(collective), class_of(bytes),
                            std::string(algorithm), std::string(transport)}];
    row.calls++;
    row.bytes += bytes;
    row.seconds += seconds;
  });
}

void spent(std::string_view function, Part part, double seconds) {
  count([&](Counts& counts) {
    Function& of = counts.functions[std::string(function)];
    (part == Part::served ? of.served : part == Part::forwarded ? of.forwarded : of.one_rank).add(seconds);
  });
}

void count_forwarded(std::string_view function, std::string_view collective, std::string_view why, size_t bytes,
                     double seconds) {
  count([&](Counts& counts) {
    counts.forwarded_calls[{std::string(collective), class_of(bytes)}][{std::string(why), std::string(function)}].add(
        seconds);
    Function& of = counts.functions[std::string(function)];
    (why == "one rank" ? of.one_rank : of.forwarded).add(seconds);
  });
}

Sums sums() {
  Book& all = book();
  const std::lock_guard lock(all.mutex);
  const Function total = all.counts.total();
  return {total.seconds(), total.forwarded.seconds, sync::now_seconds() - all.counts.began_seconds};
}

void all_ranks(int ranks, const Spread& collectives, const Spread& forwarded, const Spread& run) {
  count([&](Counts& counts) {
    counts.ranks = ranks;
    counts.collectives = collectives, counts.forwarded = forwarded, counts.run = run;
  });
}

void tuned(std::string_view collective, size_t bytes, int ranks, bool request, const std::string& setting, double us,
           const std::string& usual, double usual_us) {
  count([&](Counts& counts) {
    counts.tuned[{std::string(collective), std::bit_floor(bytes), ranks, request}] = {bytes, setting, usual, us,
                                                                                      usual_us};
  });
}

std::string text(int rank) {
  const std::lock_guard lock(book().mutex);
  return text_of(book().counts, rank, true);
}

std::string json(int rank) {
  const std::lock_guard lock(book().mutex);
  return json_of(book().counts, rank, true);
}

std::string prometheus(int rank) {
  const std::lock_guard lock(book().mutex);
  return prometheus_of(book().counts, rank);
}

bool write(int rank) {
  if (!wanted()) return true;
  {
    const std::lock_guard lock(book().mutex);
    book().written = true;
  }
  if (write_report(rank, true)) return true;
  // Always printed, because the user requested the statistics and they are lost.
  fprintf(stderr, "libcoll: rank %d: cannot write COLL_STATS=%s: %s; name a file in a writable directory\n", rank,
          book().wish.c_str(), strerror(errno));
  return false;
}

}  // namespace coll::comm::stats
