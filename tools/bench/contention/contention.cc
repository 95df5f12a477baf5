// SPDX-License-Identifier: BSD-3-Clause
// collctl bench contention: measures concurrent accesses to another process's memory.
#include "tools/bench/contention/contention.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "bench/lockstep/lockstep.h"
#include "coll/coll.h"
#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/common/launch.h"
#include "tools/common/output_file.h"
#include "tools/common/progress.h"
#include "tools/common/text.h"
#include "transport/shared_file.h"

namespace coll::tools {
namespace {

using nlohmann::ordered_json;

struct ContentionOptions {
  int ranks = 0;
  std::vector<std::string> paths, patterns;
  std::string pages = "1,16,256", record;
  double seconds = 0.02;
  bool busy = false, json = false;
};

// Returns the values whose names were given, each once; all values if no name was given.
template <class Value, size_t n>
std::vector<Value> chosen(const std::vector<std::string>& words, const std::array<const char*, n>& names,
                          const char* option) {
  std::vector<Value> values;
  for (size_t i = 0; i < n; ++i)
    if (words.empty() || std::ranges::find(words, names[i]) != words.end()) values.push_back(Value(i));
  for (const std::string& word : words)
    if (std::ranges::find(names, word) == names.end())
      throw usage(fmt::format("{}: unknown value '{}'; use {}", option, word, fmt::join(names, ", ")));
  return values;
}

ContentionTask task_of(const ContentionOptions& options) {
  ContentionTask task;
  task.ranks = options.ranks;
  task.paths = chosen<CopyPath>(options.paths, path_names, "--transport");
  task.patterns = chosen<AccessPattern>(options.patterns, pattern_names, "--pattern");
  task.pages = parse_numbers(options.pages, "--pages", 1, 1 << 16);
  task.seconds = options.seconds;
  task.busy = options.busy;
  return task;
}

ordered_json counted(double value) { return value < 0 ? ordered_json(nullptr) : ordered_json(value); }

ordered_json to_json(const ContentionTask& task, const ContentionResult& result) {
  ordered_json transports = ordered_json::object(), rows = ordered_json::array();
  for (size_t i = 0; i < task.paths.size(); ++i) {
    ordered_json& entry = transports[path_names[size_t(task.paths[i])]];
    entry["works"] = result.problems[i].empty();
    if (!result.problems[i].empty()) entry["problem"] = result.problems[i];
  }
  for (const ContentionCell& cell : result.cells)
    rows.push_back({{"transport", path_names[size_t(cell.path)]},
                    {"pattern", pattern_names[size_t(cell.pattern)]},
                    {"pages", cell.pages},
                    {"concurrent", cell.concurrent},
                    {"iterations", cell.iterations},
                    {"median_us", cell.median_us},
                    {"p10_us", cell.p10_us},
                    {"p90_us", cell.p90_us},
                    {"relative", cell.relative},
                    {"locks", counted(cell.locks)},
                    {"lock_waits", counted(cell.lock_waits)},
                    {"gate_waits", counted(cell.gate_waits)},
                    {"pages_pinned", counted(cell.pinned)}});
  ordered_json counts = {{"works", result.counts_problem.empty()}};
  if (!result.counts_problem.empty()) counts["problem"] = result.counts_problem;
  return {{"library", fmt::format("libcoll {}", coll_version())},
          {"ranks", task.ranks},
          {"page_bytes", transport::page_bytes()},
          {"pinned", result.spin},
          {"busy", task.busy},
          {"wrong", result.wrong},
          {"transports", transports},
          {"counts", counts},
          {"rows", rows}};
}

void print_table(const ContentionTask& task, const ContentionResult& result) {
  std::string alignment = "<>";
  for (int concurrent = 2; concurrent <= task.ranks; ++concurrent) alignment += '>';
  const bool counts = result.counts_problem.empty();
  for (AccessPattern pattern : task.patterns)
    for (int pages : task.pages) {
      fmt::print("{}, {}\n", pattern_names[size_t(pattern)], bytes_text(uint64_t(pages) * transport::page_bytes()));
      Table table(alignment + (counts ? ">>>>" : ""));
      std::vector<std::string> head = {"transport", "alone"};
      for (int concurrent = 2; concurrent <= task.ranks; ++concurrent)
        head.push_back(fmt::format("{} at once", concurrent));
      if (counts) head.insert(head.end(), {"locks", "lock waits", "gate waits", "pages pinned"});
      table.row(head);
      for (size_t path = 0; path < task.paths.size(); ++path) {
        std::vector<std::string> row = {path_names[size_t(task.paths[path])]};
        const ContentionCell* last = nullptr;
        for (const ContentionCell& cell : result.cells) {
          if (cell.path != task.paths[path] || cell.pattern != pattern || cell.pages != pages) continue;
          row.push_back(cell.concurrent == 1 ? us_text(cell.median_us) : fmt::format("x {:.2f}", cell.relative));
          last = &cell;
        }
        if (last == nullptr) continue;
        if (counts)
          row.insert(row.end(), {fmt::format("{:.2f}", last->locks), fmt::format("{:.2f}", last->lock_waits),
                                 last->gate_waits < 0 ? "-" : fmt::format("{:.2f}", last->gate_waits),
                                 fmt::format("{:.1f}", last->pinned)});
        table.row(row);
      }
      fmt::print("{}\n", table.text(2));
    }
  for (size_t path = 0; path < task.paths.size(); ++path)
    if (!result.problems[path].empty())
      fmt::print("{}\n", wrapped(fmt::format("{} does not work here: {}", path_names[size_t(task.paths[path])],
                                             result.problems[path]),
                                 2));
  std::string note =
      result.spin ? "Times are those of the slowest process after a common start; x is the ratio to the time alone"
                  : "More processes than processors: times are from the first start to the last end; x is the ratio to "
                    "the time alone";
  note += counts ? fmt::format(
                       ". Counts are per access, with {} at once: locks of an address space (mmap_lock), waits for "
                       "locks, waits at the module's gate, and pinned pages.",
                       task.ranks)
                 : ". Locks, waits and pinned pages are not counted: " + result.counts_problem + ".";
  fmt::print("{}\n", wrapped(note, 0));
}

int contention_command(const ContentionOptions& options) {
  const ContentionTask task = task_of(options);
  if (!options.record.empty()) check_writable("--record", options.record);
  std::unique_ptr<Progress> progress;
  const ContentionResult result = measure_contention(task, [&](size_t done, size_t all) {
    if (progress == nullptr) progress = std::make_unique<Progress>(all);
    progress->show(done, "contention");
  });
  progress.reset();
  const std::string json = to_json(task, result).dump(2);
  if (!options.record.empty()) write_file("--record", options.record, json + "\n");
  if (options.json) fmt::print("{}\n", json);
  else print_table(task, result);
  if (result.wrong != 0) throw Failure(fmt::format("{} bytes are wrong; please report this", result.wrong));
  return exit_fine;
}

}  // namespace

void add_contention(Command& app, Action& action) {
  auto options = std::make_shared<ContentionOptions>();
  Command* sub = app.get_subcommand("bench")->add_alternative("contention",
                                                              "Measure concurrent accesses to other processes' memory");
  sub->add_option("-n,--ranks", options->ranks,
                  "most accesses at once, 1 to 64 (required); one more process owns the\nmemory")
      ->required()
      ->range(1, int(LOCKSTEP_MAX_RANKS))
      ->option_text("N");
  sub->add_option("--transport", options->paths,
                  "cma, kcoll_copy, kcoll_map, shm, kcoll_uncached (as kcoll_copy, but no\n"
                  "page is pinned yet), kcoll_ungated (the same without the module's\n"
                  "gate); default: all")
      ->delimiter(',')
      ->option_text("LIST");
  sub->add_option("--pattern", options->patterns, "all_to_all, one_to_all, one_to_all_apart, all_to_one; default: all")
      ->delimiter(',')
      ->option_text("LIST");
  sub->add_option("--pages", options->pages, "pages of 4 KiB per access, 1 to 65536; default: 1,16,256")
      ->option_text("LIST");
  sub->add_option("--time", options->seconds, "seconds per measurement, 0.001 to 60; default: 0.02")
      ->range(0.001, 60.0)
      ->option_text("S");
  sub->add_flag("--busy", options->busy, "the idle process maps and unmaps memory meanwhile");
  sub->add_option("--record", options->record, "write the result as JSON to this file, too; collctl report\ndraws it")
      ->file();
  sub->add_flag("--json", options->json, "print the result as JSON");
  sub->footer(
      examples("  collctl bench contention -n 4\n"
               "  collctl bench contention -n 4 --transport cma,kcoll_copy --pages 1,64 --json\n"
               "  collctl bench contention -n 8 --transport kcoll_uncached,kcoll_ungated --busy\n"
               "  collctl bench contention -n 8 --record contention.json\n"
               "Patterns:\n"
               "  all_to_all        each process reads from a process that no other reads from\n"
               "  one_to_all        all read the same memory of one process\n"
               "  one_to_all_apart  all read different memory of one process\n"
               "  all_to_one        all write to different memory of one process"));
  sub->callback([&action, options] { action = [options] { return contention_command(*options); }; });
}

}  // namespace coll::tools
