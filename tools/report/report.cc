// SPDX-License-Identifier: BSD-3-Clause
// collctl report: writes a page that shows the machine, the choices, a job, an operation and benchmarks.
#include <ctime>
#include <memory>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "coll/coll.h"
#include "model/machines.h"
#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/common/assumed.h"
#include "tools/common/call_options.h"
#include "tools/common/output_file.h"
#include "tools/common/progress.h"
#include "tools/report/page.h"
#include "tools/report/report.h"
#include "tools/report/sections.h"

namespace coll::tools {
namespace {

using report::ordered_json;

struct ReportOptions {
  std::string output, table, topology = "native", assume, type = "float", compare, from, map_by = "core";
  std::string sensitivity = topo::Sensitivity::standard().text();
  std::vector<std::string> stats, traces, recorded, tuned;
  int ranks = 0;
  bool measure = false, json = false;
};

// Returns as many ranks as the job has; without a job, one per core.
int ranks_of(const ReportOptions& options, const ordered_json& job) {
  constexpr size_t most = 1024;
  if (options.ranks > 0) return options.ranks;
  if (job.is_object() && !job["ranks"].empty()) return int(std::min(job["ranks"].size(), most));
  topo::Machine machine;
  std::string topology = options.topology;
  if (!options.table.empty()) {
    model::Table table;
    if (topo::Status status = model::find_machine(options.table, table); !status.ok())
      throw Failure("--table: " + status.text());
    topology = table.topology;
  }
  if (topo::Status status = topo::load(topology, machine); !status.ok()) throw Failure("--topology: " + status.text());
  return std::clamp<int>(machine.cores, 1, int(most));
}

ModelMachine machine_for(const ReportOptions& options, const std::string& table, int ranks) {
  ModelMachine machine = model_machine(table, ranks, options.map_by, options.sensitivity, options.topology);
  machine.assumed = parse_assumed(options.assume);
  return machine;
}

// Reads another report's JSON, or the table of another machine and computes its choices for the same number of ranks.
ordered_json compared_with(const ReportOptions& options, int ranks) {
  const ordered_json other = report::read_json("--compare", options.compare);
  const auto is = [&](const char* schema) { return other.is_object() && other.value("schema", "") == schema; };
  if (is("libcoll-report")) {
    if (!other.contains("machine") || !other.contains("choice"))
      throw Failure(fmt::format("--compare {}: the report has no machine or no choices", options.compare));
    ordered_json machine = other["machine"];
    for (const char* key : {"places", "ranks", "measured"}) machine.erase(key);
    return {{"machine", machine}, {"choice", other["choice"]}};
  }
  if (!is("libcoll-machine"))
    throw Failure(
        fmt::format("--compare {}: give what report --json printed, or the table of a machine", options.compare));
  ReportOptions theirs = options;
  theirs.topology = "native";
  // A path, not the name of a built-in machine.
  const std::string path = options.compare.find('/') == std::string::npos ? "./" + options.compare : options.compare;
  const ModelMachine machine = machine_for(theirs, path, ranks);
  ordered_json of = report::machine_section(machine);
  for (const char* key : {"places", "ranks"}) of.erase(key);
  return {{"machine", of}, {"choice", report::choice_section(machine, options.type)}};
}

ordered_json gather(const ReportOptions& options) {
  // Read the files first, so that their errors are reported before anything is measured.
  ordered_json job, timelines = ordered_json::array();
  if (!options.stats.empty()) job = report::job_section(options.stats);
  // limits the page of 128 ranks to 3 MB
  constexpr size_t most_bytes = 1600000;
  for (const std::string& file : options.traces)
    timelines.push_back(report::timeline_section(file, most_bytes / options.traces.size()));
  report::Recorded recorded;
  for (const std::string& file : options.recorded) report::read_recorded(file, recorded);
  ordered_json learned = ordered_json::array();
  for (const std::string& file : options.tuned) learned.push_back(report::learned_section(file));
  const int ranks = ranks_of(options, job);
  const ModelMachine machine = machine_for(options, options.table, ranks);
  ordered_json compare;
  if (!options.compare.empty()) compare = compared_with(options, ranks);
  if (options.measure && !machine.running)
    throw usage("--measure measures this machine, which is not the one described; leave one of the two out");

  ordered_json of_machine = report::machine_section(machine);
  of_machine["measured"] = nullptr;
  if (options.measure) {
    std::unique_ptr<Progress> progress;
    std::string shown;
    const report::MeasuredNow now =
        report::measure_now(machine.machine, [&](size_t done, size_t all, const auto& what) {
          if (what != shown) progress = std::make_unique<Progress>(all);
          shown = what;
          progress->show(done, what);
        });
    progress.reset();
    of_machine["measured"] = now.flags;
    recorded.contention.push_back(now.contention);
  }
  of_machine["papers"] = report::papers();
  of_machine["contention"] = recorded.contention;
  of_machine["calibration"] = recorded.calibration;
  if (job.is_object()) report::predict_job(job, machine, options.type);

  char host[256] = "";
  if (machine.running) gethostname(host, sizeof host - 1);
  return {{"schema", "libcoll-report"},
          {"version", 1},
          {"library", fmt::format("libcoll {}", coll_version())},
          {"date", fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(std::time(nullptr)))},
          {"host", host},
          {"machine", of_machine},
          {"choice", report::choice_section(machine, options.type)},
          {"learned", learned},
          {"compare", compare},
          {"job", job},
          {"timelines", timelines},
          {"benchmarks", recorded.benchmarks}};
}

// Checks before anything is measured that the page can be written. Does not change an existing file.
void check_output(const std::string& file) {
  if (file.empty()) return;
  if (const std::string problem = report::page_problem(); !problem.empty()) throw Failure("-o: " + problem);
  check_writable("-o", file);
}

// Reads the output of another collctl report --json, perhaps of another machine.
ordered_json read_report(const std::string& file) {
  const ordered_json json = report::read_json("--from", file);
  if (!json.is_object() || json.value("schema", "") != "libcoll-report" || json.value("version", 0) != 1)
    throw Failure(fmt::format("--from {}: give what report --json printed", file));
  return json;
}

int report_command(const ReportOptions& options) {
  if (options.output.empty() && !options.json) throw usage("give -o FILE for a page, or --json");
  if (!options.table.empty() && options.topology != "native")
    throw usage("--topology: --table has a topology of its own; give only one of the two");
  check_output(options.output);
  // Names in files may contain any bytes: replace those that are not UTF-8.
  const ordered_json data = options.from.empty() ? gather(options) : read_report(options.from);
  const std::string json = data.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  if (!options.output.empty()) write_file("-o", options.output, report::page_with(json));
  if (options.json) fmt::print("{}\n", json);
  return exit_fine;
}

}  // namespace

void add_report(Command& app, Action& action) {
  auto options = std::make_shared<ReportOptions>();
  Command* sub = app.add_subcommand("report", "Write a page that shows the machine, the choices and measurements");
  sub->add_option("-o,--output", options->output, "write the page, one HTML file, here")->file();
  sub->add_flag("--json", options->json, "print the data of the page as JSON");
  sub->add_option("-n,--ranks", options->ranks,
                  "number of ranks, 1 to 1024; default: as many as the job of --stats\nhas, else one per core")
      ->range(1, 1024)
      ->option_text("N");
  sub->add_option("--table,--machine", options->table,
                  "a built-in machine or the file of a table; default: this machine")
      ->option_text("NAME");
  sub->add_option("--topology", options->topology,
                  "machine to place the ranks on, as COLL_TOPOLOGY names it; not with\n--table; default: this machine")
      ->option_text("TEXT");
  add_placement_options(*sub, options->map_by, options->sensitivity);
  add_assume_option(*sub, options->assume);
  sub->add_option("--type", options->type, "datatype of the elements; default: float")->option_text("TYPE");
  sub->add_flag("--measure", options->measure,
                "measure flag latency between this machine's cores, and concurrent\naccesses: less than a minute");
  sub->add_option("--stats", options->stats, "files of COLL_STATS, one for each rank of a job")->option_text("FILE...");
  sub->add_option("--trace", options->traces, "timelines that bench --trace or simulate --trace wrote")
      ->option_text("FILE...");
  sub->add_option(
         "--bench", options->recorded,
         "results: --json of make bench, bench, bench contention or calibrate,\nor a record of docs/measurements")
      ->option_text("FILE...");
  sub->add_option("--tuned", options->tuned, "files in which auto-tuning has kept what it learned")
      ->option_text("FILE...");
  sub->add_option("--compare", options->compare, "show differences from another report's --json, or from a table")
      ->file();
  sub->add_option("--from", options->from, "make the page of what another report --json printed")->file();
  sub->footer(
      examples("  collctl report -o report.html --measure\n"
               "  collctl report -o report.html --stats stats.*.json --trace trace.json --bench bench.json\n"
               "  collctl report -o report.html --table epyc-2p -n 64 --compare other.json\n"
               "  collctl report --json --table knl"));
  sub->callback([&action, options] { action = [options] { return report_command(*options); }; });
}

}  // namespace coll::tools
