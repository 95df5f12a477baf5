// SPDX-License-Identifier: BSD-3-Clause
// collctl bench scale: measures the costs of communicators with 2, 8, 32, ... ranks.
#include "tools/bench/scale/scale.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include "coll/coll.h"
#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/common/launch.h"
#include "tools/common/now.h"
#include "tools/common/progress.h"
#include "tools/common/text.h"

namespace coll::tools {
namespace {

using nlohmann::ordered_json;

constexpr int most_ranks = 1024;
constexpr int bare_runs = 3;
constexpr int limit_s = 600;  // per job

struct ScaleOptions {
  std::string ranks = "2,8,32,128,256", as_rank;
  bool json = false;
};

// Results for one number of ranks. Times are in seconds, of the slowest rank. Memory is that of the largest rank;
// proportional memory is the mean, because the sum over all ranks is the memory in use.
struct Column {
  int ranks = 0;
  std::string problem;  // of the first job that failed
  double bare = -1;     // from start to end of as many processes
  std::optional<ScaleReport> calls;
  std::optional<Footprint> loaded;
  double load_wall = -1, load_system = -1;
};

class Board {
 public:
  explicit Board(int ranks) : memory_("collctl-scale", board_bytes(ranks)), board_(new (memory_.data()) ScaleBoard{}) {
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&board_->barrier, &attributes, unsigned(ranks));
    pthread_barrierattr_destroy(&attributes);
    for (int rank = 0; rank < ranks; ++rank) new (&board_->reports[rank]) ScaleReport{};
  }

  int descriptor() const { return memory_.descriptor(); }
  const ScaleBoard& operator*() const { return *board_; }

 private:
  InheritedMemory memory_;
  ScaleBoard* board_;
};

double system_seconds_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return double(usage.ru_stime.tv_sec) + double(usage.ru_stime.tv_usec) * 1e-6;
}

struct Elapsed {
  double wall = 0, system = 0;
};

// Runs a job, which writes its reports to the board. Throws Failure.
Elapsed run_job(ScaleJob job, int ranks, const Board& board) {
  const std::string as_rank = fmt::format("{}:{}", int(job), board.descriptor());
  const double begin = now(), system_before = system_seconds_of_children();
  const std::string problem = run_ranks(ranks, {}, limit_s, [&](int) {
    execl("/proc/self/exe", "collctl", "bench", "scale", "--as-rank", as_rank.c_str(), static_cast<char*>(nullptr));
    std::fprintf(stderr, "collctl bench scale: cannot start /proc/self/exe: %s\n", std::strerror(errno));
    return 127;
  });
  const Elapsed took{now() - begin, system_seconds_of_children() - system_before};
  if ((*board).problem.reported) throw Failure((*board).problem.text);
  if (!problem.empty()) throw Failure(problem);
  return took;
}

double slowest(const ScaleBoard& board, int ranks, const std::function<double(const ScaleReport&)>& time) {
  double most = -1;
  for (int rank = 0; rank < ranks; ++rank) most = std::max(most, time(board.reports[rank]));
  return most;
}

Footprint summary(const ScaleBoard& board, int ranks, Footprint ScaleReport::*when) {
  Footprint made;
  for (int rank = 0; rank < ranks; ++rank) {
    const Footprint& of = board.reports[rank].*when;
    made.address_space = std::max(made.address_space, of.address_space);
    made.page_tables = std::max(made.page_tables, of.page_tables);
    made.descriptors = std::max(made.descriptors, of.descriptors);
    made.proportional += of.proportional / uint64_t(ranks);
  }
  return made;
}

ScaleReport summary_of_calls(const ScaleBoard& board, int ranks) {
  ScaleReport made;
  for (double ScaleReport::*time :
       {&ScaleReport::create, &ScaleReport::split, &ScaleReport::rows, &ScaleReport::columns, &ScaleReport::free})
    made.*time = slowest(board, ranks, [time](const ScaleReport& of) { return of.*time; });
  for (Footprint ScaleReport::*when : {&ScaleReport::before, &ScaleReport::created, &ScaleReport::used})
    made.*when = summary(board, ranks, when);
  for (size_t i = 0; i < size_t(plan::collectives); ++i) {
    made.first[i] = slowest(board, ranks, [i](const ScaleReport& of) { return of.first[i]; });
    made.later[i] = slowest(board, ranks, [i](const ScaleReport& of) { return of.later[i]; });
  }
  for (int rank = 0; rank < ranks; ++rank)
    made.descriptors_of_second = std::max(made.descriptors_of_second, board.reports[rank].descriptors_of_second);
  return made;
}

Column measure(int ranks, const std::function<void(const char*)>& show) {
  Column made{.ranks = ranks};
  try {
    std::vector<double> bare;
    for (int run = 0; run < bare_runs; ++run) {
      show("bare processes");
      bare.push_back(run_job(ScaleJob::bare, ranks, Board(ranks)).wall);
    }
    std::ranges::sort(bare);
    made.bare = bare[bare_runs / 2];
    {
      show("calls");
      const Board board(ranks);
      run_job(ScaleJob::calls, ranks, board);
      made.calls = summary_of_calls(*board, ranks);
    }
    show("load");
    const Board board(ranks);
    const Elapsed took = run_job(ScaleJob::load, ranks, board);
    made.load_wall = took.wall;
    made.load_system = took.system;
    made.loaded = summary(*board, ranks, &ScaleReport::used);
  } catch (const Failure& failure) { made.problem = failure.what(); }
  return made;
}

ordered_json json_of(const Footprint& of) {
  return {{"address_space_bytes", of.address_space},
          {"proportional_bytes", of.proportional},
          {"page_table_bytes", of.page_tables},
          {"descriptors", of.descriptors}};
}

ordered_json json_of(const Column& column) {
  ordered_json made = {{"ranks", column.ranks}};
  if (column.bare >= 0) made["bare_s"] = column.bare;
  if (column.calls) {
    const ScaleReport& of = *column.calls;
    made.update({{"create_s", of.create},
                 {"split_s", of.split},
                 {"rows_s", of.rows},
                 {"columns_s", of.columns},
                 {"free_s", of.free},
                 {"before", json_of(of.before)},
                 {"created", json_of(of.created)},
                 {"used", json_of(of.used)},
                 {"descriptors_of_second_communicator", of.descriptors_of_second}});
    for (int i = 0; i < plan::collectives; ++i)
      made["calls"][plan::name(plan::Collective(i))] = {{"first_s", of.first[size_t(i)]},
                                                        {"later_s", of.later[size_t(i)]}};
  }
  if (column.loaded)
    made["load"] = {{"communicators", scale_communicators},
                    {"wall_s", column.load_wall},
                    {"system_s", column.load_system},
                    {"footprint", json_of(*column.loaded)}};
  if (!column.problem.empty()) made["problem"] = column.problem;
  return made;
}

std::string ratio_text(double time, double to) {
  return time < 0 || to <= 0 ? "-" : fmt::format("x {:.{}f}", time / to, time < 10 * to ? 2 : 0);
}

// A table with one row per quantity and one column per number of ranks.
class Rows {
 public:
  explicit Rows(const std::vector<Column>& columns)
      : columns_(columns), table_("<" + std::string(columns.size(), '>')) {}

  void heading(const std::string& text) { table_.row({text}); }
  void row(const std::string& name, const std::function<std::string(const Column&)>& cell) {
    std::vector<std::string> cells = {name};
    for (const Column& column : columns_) cells.push_back(cell(column));
    table_.row(std::move(cells));
  }
  void of_calls(const std::string& name, const std::function<std::string(const Column&, const ScaleReport&)>& cell) {
    row(name, [&](const Column& column) { return column.calls ? cell(column, *column.calls) : "-"; });
  }
  void of_load(const std::string& name, const std::function<std::string(const Column&, const Footprint&)>& cell) {
    row(name, [&](const Column& column) { return column.loaded ? cell(column, *column.loaded) : "-"; });
  }
  std::string text() const { return table_.text(); }

 private:
  const std::vector<Column>& columns_;
  Table table_;
};

std::string time_text(double seconds) { return seconds < 0 ? "-" : us_text(seconds * 1e6); }

void print_table(const std::vector<Column>& columns) {
  Rows rows(columns);
  rows.row("ranks", [](const Column& c) { return fmt::format("{}", c.ranks); });
  rows.row("bare processes", [](const Column& c) { return time_text(c.bare); });
  rows.heading("communicators");
  rows.of_calls("  create the first", [](auto&, const ScaleReport& of) { return time_text(of.create); });
  rows.of_calls("  over bare", [](const Column& c, const ScaleReport& of) { return ratio_text(of.create, c.bare); });
  rows.of_calls("  split, all", [](auto&, const ScaleReport& of) { return time_text(of.split); });
  rows.of_calls("  split, rows", [](auto&, const ScaleReport& of) { return time_text(of.rows); });
  rows.of_calls("  split, columns", [](auto&, const ScaleReport& of) { return time_text(of.columns); });
  rows.of_calls("  free", [](auto&, const ScaleReport& of) { return time_text(of.free); });
  rows.of_calls("  descriptors added", [](auto&, const ScaleReport& of) {
    return fmt::format("{}, {}", int64_t(of.created.descriptors - of.before.descriptors), of.descriptors_of_second);
  });
  rows.heading("a rank with one communicator");
  rows.of_calls("  address space", [](auto&, const ScaleReport& of) { return bytes_text(of.created.address_space); });
  rows.of_calls("  page tables", [](auto&, const ScaleReport& of) { return bytes_text(of.created.page_tables); });
  rows.of_calls("  memory", [](auto&, const ScaleReport& of) { return bytes_text(of.created.proportional); });
  rows.of_calls("  before it", [](auto&, const ScaleReport& of) { return bytes_text(of.before.proportional); });
  rows.heading(fmt::format("{} communicators, five collectives", scale_communicators));
  rows.of_load("  page tables", [](auto&, const Footprint& of) { return bytes_text(of.page_tables); });
  rows.of_load("  memory", [](auto&, const Footprint& of) { return bytes_text(of.proportional); });
  rows.of_load("  wall time", [](const Column& c, auto&) { return time_text(c.load_wall); });
  rows.of_load("  over bare", [](const Column& c, auto&) { return ratio_text(c.load_wall, c.bare); });
  rows.of_load("  system time", [](const Column& c, auto&) { return time_text(c.load_system); });
  rows.heading("8 bytes: first call, later calls");
  for (int i = 0; i < plan::collectives; ++i)
    rows.of_calls(fmt::format("  {}", plan::name(plan::Collective(i))), [i](auto&, const ScaleReport& of) {
      return fmt::format("{}, {}", time_text(of.first[size_t(i)]), time_text(of.later[size_t(i)]));
    });
  fmt::print("{}\n", rows.text());
  for (const Column& column : columns)
    if (!column.problem.empty())
      fmt::print("{}\n", wrapped(fmt::format("{} ranks: {}", column.ranks, column.problem), 2));
  fmt::print("{}\n",
             wrapped("Bare processes are started (fork, exec), meet once and end. Times are those of the slowest "
                     "rank; rows and columns are those of a square of ranks. Descriptors are those that the "
                     "first communicator and a second one add. Memory is proportional: a page that "
                     "ranks share counts in parts. Page tables and address space are those of the largest rank.",
                     0));
}

int rank_command(const std::string& text) {
  int job = -1, descriptor = -1;
  const auto colon = text.find(':');
  const char* const end = text.data() + text.size();
  if (colon == std::string::npos || std::from_chars(text.data(), text.data() + colon, job).ptr != text.data() + colon ||
      std::from_chars(text.data() + colon + 1, end, descriptor).ptr != end || job < 0 || job > int(ScaleJob::load))
    throw usage("--as-rank: not for users; use --ranks");
  return run_scale_rank(ScaleJob(job), descriptor);
}

int scale_command(const ScaleOptions& options) {
  if (!options.as_rank.empty()) return rank_command(options.as_rank);
  const std::vector<int> all = parse_numbers(options.ranks, "--ranks", 2, most_ranks);
  constexpr int steps = bare_runs + 2;
  Progress progress(all.size() * steps);
  std::vector<Column> columns;
  for (int ranks : all) {
    uint64_t step = 0;
    columns.push_back(measure(ranks, [&](const char* what) {
      progress.show(columns.size() * steps + step++, fmt::format("{} ranks, {}", ranks, what));
    }));
  }
  progress.clear();
  if (options.json) {
    ordered_json list = ordered_json::array();
    for (const Column& column : columns) list.push_back(json_of(column));
    fmt::print("{}\n", ordered_json{{"library", fmt::format("libcoll {}", coll_version())},
                                    {"processors", allowed_cpus().size()},
                                    {"columns", list}}
                           .dump(2));
  } else {
    print_table(columns);
  }
  return std::ranges::all_of(columns, [](const Column& column) { return column.problem.empty(); }) ? exit_fine
                                                                                                   : exit_failure;
}

}  // namespace

void add_scale(Command& app, Action& action) {
  auto options = std::make_shared<ScaleOptions>();
  Command* sub = app.get_subcommand("bench")->add_alternative(
      "scale", "Measure time, memory and descriptors of communicators of many ranks");
  sub->add_option("-n,--ranks", options->ranks, "numbers of ranks, 2 to 1024; default: 2,8,32,128,256")
      ->option_text("LIST");
  sub->add_option("--as-rank", options->as_rank, "used by collctl itself")->hidden();
  sub->add_flag("--json", options->json, "print the result as JSON");
  sub->footer(
      examples("  collctl bench scale\n"
               "  collctl bench scale -n 64,128 --json"));
  sub->callback([&action, options] { action = [options] { return scale_command(*options); }; });
}

}  // namespace coll::tools
