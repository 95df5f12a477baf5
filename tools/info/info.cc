// SPDX-License-Identifier: BSD-3-Clause
// collctl info: prints the machine as libcoll sees it, and which transports work here, each tried by two real ranks; or
// the variables that libcoll reads, and where each is set.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include "coll/coll.h"
#include "config/config.h"
#include "config/variables.h"
#include "mem/simd.h"
#include "model/own_table.h"
#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/common/call_options.h"
#include "tools/common/choose_plans.h"
#include "tools/common/kernel_settings.h"
#include "tools/common/launch.h"
#include "tools/common/now.h"
#include "tools/common/text.h"

namespace coll::tools {
namespace {

using nlohmann::ordered_json;

struct InfoOptions {
  int ranks = 0;
  std::string topology, map_by = "core", sensitivity = topo::Sensitivity::standard().text();
  bool no_probe = false, env = false, json = false;
};

// ---- trying transports ------------------------------------------------------------------------------------------

constexpr size_t probe_bytes = 256 << 10;

struct Outcome {
  bool works = false;
  double bcast_us = 0;  // of probe_bytes, median
  std::string description, problem;
};

// The result of a trial, in memory that its ranks share with collctl.
struct Trial {
  double bcast_us = 0;
  char description[512] = "";
  std::atomic<bool> failed{false};  // the first rank that fails sets it and writes:
  char problem[512] = "";
};

// Runs a broadcast and a sum and checks their results. Returns the exit status of the rank.
int try_collectives(int rank, bool mapped, Trial& trial) {
  const auto fail = [&](const std::string& text) {
    if (!trial.failed.exchange(true)) snprintf(trial.problem, sizeof trial.problem, "%s", text.c_str());
    return 1;
  };
  coll_comm* comm = nullptr;
  if (coll_comm_create_from_launcher(&comm) != COLL_OK) return fail(coll_last_error());
  constexpr size_t count = probe_bytes / sizeof(int);
  std::vector<int> ordinary(2 * count);
  void* memory = ordinary.data();
  if (mapped && coll_mem_alloc(2 * probe_bytes, &memory) != COLL_OK) return fail(coll_last_error());
  int *in = static_cast<int*>(memory), *out = in + count;
  std::vector<double> times;
  for (int round = 0; round < 15; ++round) {
    for (size_t i = 0; i < count; ++i) in[i] = rank == 0 ? int(i) + round : -1;
    if (coll_barrier(comm) != COLL_OK) return fail(coll_last_error());
    const double begin = now();
    if (coll_bcast(in, count, COLL_INT, 0, comm) != COLL_OK) return fail(coll_last_error());
    times.push_back((now() - begin) * 1e6);
    for (size_t i = 0; i < count; ++i)
      if (in[i] != int(i) + round) return fail("a broadcast delivered wrong data; please report this");
  }
  if (coll_allreduce(in, out, count, COLL_INT, COLL_SUM, comm) != COLL_OK) return fail(coll_last_error());
  for (size_t i = 0; i < count; ++i)
    if (out[i] != in[i] * coll_comm_size(comm)) return fail("a sum was wrong; please report this");
  if (rank == 1) {
    std::ranges::sort(times);
    trial.bcast_us = times[times.size() / 2];
  }
  if (rank == 0) snprintf(trial.description, sizeof trial.description, "%s", coll_comm_describe(comm));
  coll_comm_free(comm);
  return 0;
}

Outcome try_transport(const std::string& transport, int ranks) {
  void* memory = mmap(nullptr, sizeof(Trial), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Failure(fmt::format("cannot allocate shared memory: {}", std::strerror(errno)));
  Trial& shared = *new (memory) Trial;
  Environment environment = {{"COLL_LOG", "off"}};
  if (!transport.empty()) environment.push_back({"COLL_TRANSPORT", transport});
  std::string problem =
      run_ranks(ranks, environment, 20, [&](int rank) { return try_collectives(rank, transport == "mapped", shared); });
  Outcome outcome{problem.empty(), shared.bcast_us, shared.description, shared.problem};
  munmap(memory, sizeof(Trial));
  if (outcome.problem.empty()) outcome.problem = problem;
  return outcome;
}

// ---- facts about the system ------------------------------------------------------------------------------------

ordered_json cache_json(const topo::Cache& cache) {
  ordered_json out = {{"bytes", cache.size_bytes}, {"instances", cache.instances}};
  if (cache.inclusive != topo::Inclusion::unknown) out["inclusive"] = cache.inclusive == topo::Inclusion::yes;
  return out;
}

ordered_json machine_json(const topo::Machine& machine) {
  return {{"processor", machine.processor}, {"source", machine.source},
          {"note", machine.note},           {"packages", machine.packages},
          {"numa_nodes", machine.numas},    {"l3_caches", machine.l3s},
          {"cores", machine.cores},         {"processing_units", machine.pus.size()},
          {"l1d", cache_json(machine.l1d)}, {"l2", cache_json(machine.l2)},
          {"l3", cache_json(machine.l3)},   {"summary", topo::describe(machine)}};
}

ordered_json system_json() {
  const KernelSettings kernel = kernel_settings();
  ordered_json out = {{"kernel", kernel.release},
                      {"memory_bytes", uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE))},
                      {"page_bytes", sysconf(_SC_PAGESIZE)},
                      {"transparent_huge_pages", kernel.huge_pages},
                      {"shared_huge_pages", kernel.shared_huge_pages},
                      {"reserved_huge_pages", kernel.reserved_huge_pages}};
  out["ptrace_scope"] = kernel.ptrace_scope < 0 ? ordered_json(nullptr) : ordered_json(kernel.ptrace_scope);
  out["memlock_bytes"] = kernel.memlock_bytes == unlimited ? ordered_json(nullptr) : ordered_json(kernel.memlock_bytes);
  out["kcoll_device"] = access("/dev/kcoll", F_OK) == 0
                            ? (access("/dev/kcoll", R_OK | W_OK) == 0 ? "present" : "no permission")
                            : "absent";
  return out;
}

ordered_json environment_json() {
  ordered_json set = ordered_json::object();
  for (char** line = environ; *line != nullptr; ++line) {
    std::string text = *line;
    size_t equals = text.find('=');
    if (text.starts_with("COLL_") && equals != std::string::npos) set[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return set;
}

// The table that communicators find here; a null path: there is none.
ordered_json table_json(const topo::Machine& machine) {
  const char* requested = config::value("COLL_TABLE");
  const model::Found found =
      model::find_table(requested == nullptr ? "" : requested, config::table_directories(), machine);
  return {{"path", found.found ? ordered_json(found.path) : ordered_json(nullptr)},
          {"date", found.table.date},
          {"choices", found.table.choices.size()},
          {"remark", found.remark}};
}

// All variables of lib/config, each with its value here and the place that sets it.
ordered_json variables_json() {
  ordered_json out = ordered_json::array();
  for (const config::Variable& variable : config::variables()) {
    const char* value = config::value(variable.name);
    ordered_json values = ordered_json::array();
    for (const config::Value& one : variable.all_values())
      values.push_back({{"name", one.name}, {"meaning", one.meaning}});
    out.push_back({{"name", variable.name},
                   {"takes", variable.takes()},
                   {"unset", variable.unset},
                   {"meaning", variable.meaning},
                   {"values", values},
                   {"read", variable.read},
                   {"in_file", variable.in_file},
                   {"value", value != nullptr ? ordered_json(value) : ordered_json(nullptr)},
                   {"source", config::source(variable.name)}});
  }
  return out;
}

// Variables that a configuration file sets and the environment does not.
ordered_json configuration_json() {
  ordered_json set = ordered_json::object();
  for (const ordered_json& variable : variables_json())
    if (std::string source = variable["source"]; !source.empty() && source != "environment")
      set[variable["name"].get<std::string>()] = {{"value", variable["value"]}, {"source", source}};
  return set;
}

ordered_json misspelt_json() {
  ordered_json out = ordered_json::object();
  for (const config::Misspelt& wrong : config::misspelt()) out[wrong.name] = wrong.nearest;
  return out;
}

ordered_json transport_json(const std::string& name) {
  Outcome trial = try_transport(name, 2);
  ordered_json out = {{"works", trial.works}};
  if (trial.works) out["bcast_256K_us"] = trial.bcast_us;
  else out["problem"] = trial.problem;
  return out;
}

ordered_json gather(const InfoOptions& options) {
  std::vector<int> cpus = allowed_cpus();
  int ranks = options.ranks > 0 ? options.ranks : std::max<int>(1, int(cpus.size()));
  Layout layout = lay_out(ranks, options.topology, options.map_by, options.sensitivity);
  ordered_json targets = ordered_json::array();
  for (const char* target : mem::simd_targets()) targets.push_back(target);
  ordered_json out = {{"version", coll_version()},
                      {"simd", {{"used", mem::simd_target()}, {"possible", targets}}},
                      {"machine", machine_json(layout.machine)},
                      {"allowed_processors", cpus},
                      {"system", system_json()},
                      {"ranks", ranks},
                      {"hierarchy", topo::describe(layout.hierarchy)},
                      {"groups", topo::draw(layout.hierarchy)},
                      {"table", table_json(layout.machine)},
                      {"environment", environment_json()},
                      {"configuration", configuration_json()},
                      {"unknown", misspelt_json()}};
  if (!config::problem().empty()) out["configuration_problem"] = config::problem();
  if (std::string wrong = mem::simd_environment_error(); !wrong.empty()) out["simd"]["problem"] = wrong;
  if (options.no_probe) return out;
  for (const char* transport : {"kcoll_map", "kcoll_copy", "kcoll_uring", "mapped", "cma", "shm"})
    out["transports"][transport] = transport_json(transport);
  Outcome trial = try_transport("", 2);
  if (trial.works) out["communicator"] = trial.description;
  else out["communicator_problem"] = trial.problem;
  return out;
}

// ---- text output ----------------------------------------------------------------------------------------------

void line(const std::string& label, const std::string& text) { fmt::print("{:<13}{}\n", label, wrapped(text, 13)); }

std::string cache_text(const char* name, const ordered_json& cache) {
  if (cache["bytes"] == 0) return "";
  std::string text = fmt::format("{} {} x {}", name, bytes_text(cache["bytes"]), cache["instances"].get<int>());
  if (cache.contains("inclusive") && name == std::string_view("L3"))
    text += cache["inclusive"] ? " (inclusive)" : " (not inclusive)";
  return text;
}

void print_machine(const ordered_json& info) {
  const ordered_json &machine = info["machine"], &system = info["system"];
  std::string processor = machine["processor"];
  line("machine", (processor.empty() ? "" : processor + "; ") + machine["summary"].get<std::string>());
  if (std::string note = machine["note"]; !note.empty()) line("", "(" + note + ")");
  std::string caches;
  for (auto [name, key] : {std::pair{"L1d", "l1d"}, {"L2", "l2"}, {"L3", "l3"}})
    if (std::string text = cache_text(name, machine[key]); !text.empty()) caches += (caches.empty() ? "" : ", ") + text;
  line("caches", caches.empty() ? "unknown: the system does not report them" : caches);
  line("memory",
       fmt::format("{} in pages of {}; transparent huge pages: {}, for shared memory: {}; reserved huge pages: {}",
                   bytes_text(system["memory_bytes"]), bytes_text(system["page_bytes"]),
                   system["transparent_huge_pages"].get<std::string>(), system["shared_huge_pages"].get<std::string>(),
                   system["reserved_huge_pages"].get<int>()));
  line("processors", fmt::format("this process may use {} of {}", info["allowed_processors"].size(),
                                 machine["processing_units"].get<size_t>()));
}

// Permissions that kcoll and CMA depend on.
void print_permissions(const ordered_json& system) {
  std::string scope = system["ptrace_scope"].is_null()
                          ? "no limit on ptrace"
                          : fmt::format("ptrace_scope {}", system["ptrace_scope"].get<int>());
  std::string memlock =
      system["memlock_bytes"].is_null() ? "no memlock limit" : "memlock limit " + bytes_text(system["memlock_bytes"]);
  line("kernel", fmt::format("{}; {}; {}", system["kernel"].get<std::string>(), scope, memlock));
  std::string device = system["kcoll_device"];
  line("kcoll", device == "present" ? "/dev/kcoll exists"
                : device == "no permission"
                    ? "/dev/kcoll exists, but this user may not open it; see collctl doctor"
                    : "/dev/kcoll does not exist: the kernel module is not loaded; libcoll works without it");
}

void print_transports(const ordered_json& info) {
  if (!info.contains("transports")) return;
  const auto row = [](const std::string& name, const std::string& text) {
    fmt::print("  {:<12} {}\n", name, wrapped(text, 15));
  };
  fmt::print("\ntransports   (each tried by two ranks; the time is that of a broadcast of 256 KiB)\n");
  for (const auto& [name, result] : info["transports"].items()) {
    std::string text = result["works"] ? fmt::format("works, {}", us_text(result["bcast_256K_us"]))
                                       : "does not work: " + result["problem"].get<std::string>();
    if (name == "mapped") text += "; for shared buffers (coll_mem_alloc)";
    row(name, text);
  }
  if (info.contains("communicator")) row("selected", info["communicator"]);
  else row("selected", "none: " + info["communicator_problem"].get<std::string>());
}

void print_environment(const ordered_json& info) {
  const ordered_json& set = info["environment"];
  const ordered_json &unknown = info["unknown"], &configured = info["configuration"];
  line("environment", set.empty() ? "no COLL_ variable is set; collctl info --env lists all" : "");
  for (const auto& [name, value] : set.items()) {
    std::string remark;
    if (unknown.contains(name)) {
      std::string nearest = unknown[name];
      remark = nearest.empty() ? "   (not known to libcoll)" : "   (misspelt? did you mean " + nearest + "?)";
    }
    fmt::print("  {}={}{}\n", name, value.get<std::string>(), remark);
  }
  if (info.contains("configuration_problem")) line("configured", info["configuration_problem"]);
  for (const auto& [name, setting] : configured.items())
    fmt::print("  {} = {}   ({})\n", name, setting["value"].get<std::string>(), setting["source"].get<std::string>());
}

int print_variables(bool json) {
  const ordered_json all = variables_json();
  if (json) {
    fmt::print("{}\n", all.dump(2));
    return exit_fine;
  }
  for (const ordered_json& variable : all) {
    const std::string unset = variable["unset"], source = variable["source"];
    fmt::print("{}\n", variable["name"].get<std::string>());
    line("  values", variable["takes"].get<std::string>() + (unset.empty() ? "" : "; default: " + unset));
    line("", variable["meaning"]);
    for (const ordered_json& one : variable["values"])
      line("", one["name"].get<std::string>() + ": " + one["meaning"].get<std::string>());
    line("  read by", variable["read"]);
    if (!source.empty()) line("  set to", variable["value"].get<std::string>() + "   (" + source + ")");
  }
  return exit_fine;
}

void print(const ordered_json& info) {
  std::string targets;
  for (const auto& target : info["simd"]["possible"])
    targets += (targets.empty() ? "" : ", ") + target.get<std::string>();
  line("libcoll", fmt::format("{}; kernels use {} of {}", info["version"].get<std::string>(),
                              info["simd"]["used"].get<std::string>(), targets));
  if (info["simd"].contains("problem")) line("", info["simd"]["problem"]);
  print_machine(info);
  print_permissions(info["system"]);
  const ordered_json& table = info["table"];
  const std::string remark = table["remark"], date = table["date"];
  line("table", table["path"].is_null()
                    ? "none: built-in defaults select the algorithms; collctl calibrate measures this machine"
                    : fmt::format("{}{}, selects algorithms in {} rows", table["path"].get<std::string>(),
                                  date.empty() ? "" : " of " + date, table["choices"].get<size_t>()));
  if (!remark.empty()) line("", remark);
  fmt::print("\n{}", info["groups"].get<std::string>());
  print_transports(info);
  fmt::print("\n");
  print_environment(info);
}

int info_command(const InfoOptions& options) {
  if (options.env) return print_variables(options.json);
  ordered_json info = gather(options);
  if (options.json) fmt::print("{}\n", info.dump(2));
  else print(info);
  return exit_fine;
}

}  // namespace

void add_info(Command& app, Action& action) {
  auto options = std::make_shared<InfoOptions>();
  Command* sub = app.add_subcommand("info", "Show the machine, its topology and the transports that work");
  sub->add_option("-n,--ranks", options->ranks, "ranks to place on the machine; default: one per processor")
      ->range(1, 1024)
      ->option_text("N");
  sub->add_option("--topology", options->topology,
                  "native: this machine (default); or describe another one: an XML\n"
                  "file of lstopo, or a text as in the last example")
      ->option_text("TEXT");
  add_placement_options(*sub, options->map_by, options->sensitivity);
  sub->add_flag("--no-probe", options->no_probe, "do not try the transports");
  sub->add_flag("--env", options->env, "print only the variables that libcoll reads, with their meanings");
  sub->add_flag("--json", options->json, "print the result as JSON");
  sub->footer(
      examples("  collctl info\n"
               "  collctl info --json\n"
               "  collctl info --env\n"
               "  collctl info -n 16 --topology \"package:2 numa:2 core:4\" --no-probe"));
  sub->callback([&action, options] { action = [options] { return info_command(*options); }; });
}

}  // namespace coll::tools
