// SPDX-License-Identifier: BSD-3-Clause
#include "model/machines.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <sstream>
#include <string_view>

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

double distance(const Fingerprint& a, const Fingerprint& b) {
  // |log2| of the ratio of two numbers; 0 if one of them is unknown.
  const auto twice = [](double one, double other) {
    return one > 0 && other > 0 ? std::abs(std::log2(one / other)) : 0.0;
  };
  const auto per = [](double of, int parts) { return parts > 0 ? of / parts : 0.0; };
  // Without an L3 the cores of a NUMA node count as sharing a cache.
  const auto sharing = [&](const Fingerprint& of) { return per(of.cores, of.l3s > 0 ? of.l3s : of.numas); };
  const auto l3 = [&](const Fingerprint& of) { return per(double(of.l3_bytes) * of.l3s, of.cores); };
  return twice(a.cores, b.cores) + twice(a.sockets, b.sockets) +
         twice(per(a.numas, a.sockets), per(b.numas, b.sockets)) + twice(sharing(a), sharing(b)) +
         twice(double(a.l2_bytes), double(b.l2_bytes)) / 2 + twice(l3(a), l3(b)) / 2;
}

namespace {

// The tables that the first matching line of machines/families.txt names.
template <typename Fits>
std::vector<Table> tables_of(Fits fits) {
  std::istringstream lines(machine_families);
  for (std::string line; std::getline(lines, line);) {
    const size_t end = line.find(':');
    if (line.starts_with('#') || end == std::string::npos || !fits(line.substr(0, end))) continue;
    std::vector<Table> tables;
    std::istringstream names(line.substr(end + 1));
    for (std::string name; names >> name;)
      if (Table table; find_machine(name, table).ok()) tables.push_back(std::move(table));
    return tables;
  }
  return {};
}

// The tables of the processor's family, nearest first.
std::vector<Table> relatives(const Fingerprint& running) {
  constexpr std::string_view before = "processor";
  std::vector<Table> tables = tables_of([&](std::string_view key) {
    if (!key.starts_with(before)) return false;
    key.remove_prefix(std::min(before.size() + 1, key.size()));
    return running.processor.find(key) != std::string::npos;
  });
  std::ranges::stable_sort(tables, {}, [&](const Table& table) { return distance(table.fingerprint, running); });
  return tables;
}

}  // namespace

Table builtin_table(const Fingerprint& running) { return relatives(running).front(); }

std::shared_ptr<const Table> nearest_table(const Fingerprint& running) {
  static std::mutex mutex;
  static Fingerprint known;
  static std::shared_ptr<const Table> kept;
  const std::lock_guard lock(mutex);
  if (kept != nullptr && known == running) return kept;
  const std::vector<Table> tables = relatives(running);
  auto made = std::make_shared<Table>(tables.front());
  // If the table lacks CMA: that of a table of the same family, or of any table.
  Access& cma = made->access[size_t(Mechanism::cma)];
  for (const auto& others : {tables, tables_of([](std::string_view key) { return key == "cma"; })})
    for (const Table& other : others)
      if (!cma.available) cma = other.of(Mechanism::cma);
  complete_mechanisms(*made);
  known = running;
  return kept = made;
}

void complete_mechanisms(Table& table) {
  Access& mapped = table.access[size_t(Mechanism::mapped)];
  Access& pinned = table.access[size_t(Mechanism::kcoll_pinned)];
  Access& first_touch = table.access[size_t(Mechanism::kcoll_first_touch)];
  const Access& cma = table.of(Mechanism::cma);
  if (!mapped.available) mapped = table.of(Mechanism::shared_memory);
  if (!cma.available) return;
  if (!first_touch.available) first_touch = cma;
  if (pinned.available) return;
  pinned = cma;
  pinned.page_us = 0;
}

}  // namespace coll::model
