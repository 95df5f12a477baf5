// SPDX-License-Identifier: BSD-3-Clause
// The sections of a report as JSON, in the format of report.schema.json. All functions throw Failure if a file cannot
// be read or has another format than its option expects.
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

// Reports the progress of work that takes seconds: finished part, whole, and a short description.
using Show = std::function<void(size_t done, size_t all, const std::string& what)>;

// ---- machine.cc --------------------------------------------------------------------------------------------------

// Topology, ranks, and the costs in the table.
ordered_json machine_section(const ModelMachine& on);
// The cost of CMA under contention on the built-in machines, as measured in papers.
ordered_json papers();

// ---- measured.cc -------------------------------------------------------------------------------------------------

// Flag latency between the cores of this machine, and concurrent accesses to one process.
struct MeasuredNow {
  ordered_json flags, contention;
};
MeasuredNow measure_now(const topo::Machine& machine, const Show& show);

// ---- choices.cc --------------------------------------------------------------------------------------------------

// The selections of libcoll for every collective and power of two from 8 B to 64 MiB, and the fastest predicted
// alternatives.
ordered_json choice_section(const ModelMachine& on, const std::string& type);
// The predicted time of the selected algorithm with its parameters: {us, terms}; null if it has no formula.
ordered_json price_of(const ModelMachine& on, const Decision& decision);

// ---- learned.cc --------------------------------------------------------------------------------------------------

// Reads a file of auto-tuning.
ordered_json learned_section(const std::string& file);

// ---- job.cc ------------------------------------------------------------------------------------------------------

// Reads files of COLL_STATS, at most one per rank.
ordered_json job_section(const std::vector<std::string>& files);
// Adds the predicted times of other algorithms to the calls of the job. `type` is that of the elements.
void predict_job(ordered_json& job, const ModelMachine& on, const std::string& type);

// ---- timeline.cc -------------------------------------------------------------------------------------------------

// Reads a file of `bench --trace` or `simulate --trace`: its earliest steps, as many as fit into about `most_bytes` of
// JSON.
ordered_json timeline_section(const std::string& file, size_t most_bytes);

// ---- benchmark.cc ------------------------------------------------------------------------------------------------

// Recorded results, by kind of file.
struct Recorded {
  ordered_json benchmarks = ordered_json::array();   // make bench, collctl bench, docs/measurements
  ordered_json contention = ordered_json::array();   // collctl bench contention
  ordered_json calibration = ordered_json::array();  // collctl calibrate
};
void read_recorded(const std::string& file, Recorded& into);

// ---- json.cc -----------------------------------------------------------------------------------------------------

// Reads a whole file as JSON. Messages name `option`.
ordered_json read_json(const std::string& option, const std::string& file);
// Converts a number of a file to a whole number, limited to the range of the type.
uint64_t whole(double value);
int whole_int(double value);
// Rounds to four significant digits: a picture shows no more, and the report stays small.
double rounded(double value);

}  // namespace coll::tools::report
