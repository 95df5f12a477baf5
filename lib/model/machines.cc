// SPDX-License-Identifier: BSD-3-Clause
#include "model/machines.h"

#include <algorithm>

#include "model/fingerprint.h"
#include "model/machines_data.h"
#include "model/table_json.h"

namespace coll::model {

using topo::Status;

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (size_t i = 0; i < machine_texts_count; ++i) names.emplace_back(machine_texts[i].name);
  std::sort(names.begin(), names.end());
  return names;
}

Status find_machine(const std::string& name_or_path, Table& table) {
  for (size_t i = 0; i < machine_texts_count; ++i)
    if (name_or_path == machine_texts[i].name) return parse_table(machine_texts[i].json, name_or_path + ".json", table);
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".json"))
    return read_table(name_or_path, table);
  std::string known;
  for (const std::string& name : machine_names()) known += (known.empty() ? "" : ", ") + name;
  return Status::error("no machine '" + name_or_path + "' is known; name " + known + ", or a file");
}

Status read_own_table(const std::string& path, const Fingerprint& running, Table& table) {
  Table read;
  if (Status status = read_table(path, read); !status.ok()) return status;
  if (const std::string other = difference(read.fingerprint, running); !other.empty())
    return Status::error(path + ": was measured on another machine (" + other +
                         "); run `collctl calibrate`, or set COLL_TABLE to this path to use it anyway");
  table = std::move(read);
  return {};
}

Table builtin_table(const Fingerprint& running) {
  struct Family {
    const char *word, *machine;
  };
  // The first word that the processor's name holds decides.
  static constexpr Family families[] = {{"EPYC", "nodea"},   {"Neoverse", "arm-n1"}, {"Ampere", "arm-n1"},
                                        {"POWER", "power8"}, {"Xeon Phi", "knl"},    {"E5-26", "broadwell"},
                                        {"81", "nodeb"},     {"Xeon", "default"},    {"", "default"}};
  Table table;
  for (const Family& family : families) {
    if (running.processor.find(family.word) == std::string::npos) continue;
    if (!find_machine(family.machine, table).ok()) continue;
    break;
  }
  return table;
}

}  // namespace coll::model
