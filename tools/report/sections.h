// SPDX-License-Identifier: BSD-3-Clause
// The sections of a report as JSON, as report.schema.json describes them. All functions throw Failure if a file cannot be
// read or is not what its option names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/common/machine.h"
#include "tools/plan/decision.h"

namespace coll::tools::report {

using nlohmann::ordered_json;

// Work that takes seconds: what is done of all, and a word for it.
using Show = std::function<void(size_t done, size_t all, const std::string& what)>;

// ---- machine.cc --------------------------------------------------------------------------------------------------

// Topology, ranks, and the table's costs.
ordered_json machine_section(const ModelMachine& on);
// Cost of CMA under contention on the built-in machines, which papers have measured.
ordered_json papers();

// ---- measured.cc -------------------------------------------------------------------------------------------------

// Flag latency between the cores of the running machine, and concurrent accesses to one process.
struct MeasuredNow {
  ordered_json flags, contention;
};
MeasuredNow measure_now(const topo::Machine& machine, const Show& show);

// ---- choices.cc --------------------------------------------------------------------------------------------------

// What libcoll selects for every collective and power of two from 8 B to 64 MiB, beside the cheapest alternatives.
ordered_json choice_section(const ModelMachine& on, const std::string& type);
// The model's price of the selected algorithm with its parameters: {us, terms}; null: it has no formula.
ordered_json price_of(const ModelMachine& on, const Decision& decision);

// ---- learned.cc --------------------------------------------------------------------------------------------------

// A file in which auto-tuning has kept what it learned.
ordered_json learned_section(const std::string& file);

// ---- job.cc ------------------------------------------------------------------------------------------------------

// Files of COLL_STATS, at most one for each rank.
ordered_json job_section(const std::vector<std::string>& files);
// Adds what the model predicts for other algorithms in the job's calls; `type` is of the elements.
void predict_job(ordered_json& job, const ModelMachine& on, const std::string& type);

// ---- timeline.cc -------------------------------------------------------------------------------------------------

// A file that `bench --trace` or `simulate --trace` wrote: as many of its steps as take about `most_bytes` as JSON.
ordered_json timeline_section(const std::string& file, size_t most_bytes);

// ---- benchmark.cc ------------------------------------------------------------------------------------------------

// Recorded results, by what each file is.
struct Recorded {
  ordered_json benchmarks = ordered_json::array();   // make bench, collctl bench, docs/measurements
  ordered_json contention = ordered_json::array();   // collctl bench contention
  ordered_json calibration = ordered_json::array();  // collctl calibrate
};
void read_recorded(const std::string& file, Recorded& into);

// ---- json.cc -----------------------------------------------------------------------------------------------------

// Reads a whole file as JSON; `option` is named in messages.
ordered_json read_json(const std::string& option, const std::string& file);
// A number of a file as a whole one: the nearest that the type has.
uint64_t whole(double value);
int whole_int(double value);
// Four significant digits: a picture shows no more, and the report stays small.
double rounded(double value);

}  // namespace coll::tools::report
