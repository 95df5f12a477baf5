// SPDX-License-Identifier: BSD-3-Clause
#include "tools/calibrate/values.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tools/calibrate/choose/comparison.h"
#include "tools/common/text.h"

namespace coll::tools {
namespace {

void add(std::vector<NamedValue>& values, const std::string& name, const std::string& unit,
         const model::ByDistance& by) {
  // Of distances with equal values, the farthest one represents all.
  for (int d = 1; d < topo::distance_count; ++d) {
    const double value = by.at[size_t(d)];
    if (d + 1 < topo::distance_count && value == by.at[size_t(d + 1)]) continue;
    values.push_back({name_at(name, topo::Distance(d)), unit, value});
  }
}

void add(std::vector<NamedValue>& values, const model::Table& table, model::Mechanism mechanism) {
  const model::Access& of = table.of(mechanism);
  if (!of.available) return;
  const std::string name = model::name(mechanism);
  add(values, name + " startup", "us", of.startup_us);
  add(values, name + " bandwidth", "GB/s", of.bandwidth_gbs);
  if (of.page_us > 0) values.push_back({name + " page", "us", of.page_us});
  if (const int cores = table.fingerprint.cores; cores > 1)
    values.push_back({fmt::format("{} gamma({})", name, cores), "", of.gamma(cores)});
}

}  // namespace

std::string name_at(const std::string& name, topo::Distance distance) {
  return distance == topo::Distance::node ? name : fmt::format("{} up to {}", name, topo::distance_name(distance));
}

std::vector<NamedValue> named_values(const model::Table& table) {
  std::vector<NamedValue> values;
  for (model::Mechanism mechanism : model::all_mechanisms) add(values, table, mechanism);
  add(values, "flag", "ns", table.flag_ns);
  values.push_back({"line", "ns", table.line_ns});
  values.push_back({"look", "ns", table.look_ns});
  values.push_back({"step", "ns", table.step_ns});
  const auto pair = [&](const std::string& name, const model::Bandwidth& of) {
    values.push_back({name + " alone", "GB/s", of.alone_gbs});
    values.push_back({name + " all", "GB/s", of.all_gbs});
  };
  pair("copy", table.copy);
  pair("copy_non_temporal", table.copy_non_temporal);
  pair("reduce", table.reduce);
  pair("reduce_non_temporal", table.reduce_non_temporal);
  for (const model::CacheRates& of : table.caches) {
    const std::string size = " " + bytes_text(uint64_t(of.bytes));
    values.push_back({"load" + size, "GB/s", of.load_gbs});
    values.push_back({"store" + size, "GB/s", of.store_gbs});
    values.push_back({"fetch" + size, "GB/s", of.fetch_gbs});
    values.push_back({"take" + size, "GB/s", of.take_gbs});
    values.push_back({"combine" + size, "GB/s", of.combine_gbs});
    values.push_back({"combine_fetch" + size, "GB/s", of.combine_fetch_gbs});
    if (of.kernel_gbs > 0) values.push_back({"kernel_copy" + size, "GB/s", of.kernel_gbs});
  }
  if (table.short_take_gbs > 0) values.push_back({"take, short", "GB/s", table.short_take_gbs});
  if (!table.caches.empty()) values.push_back({"overlap", "", table.overlap});
  values.push_back({"link l3", "GB/s", table.links.l3_gbs});
  values.push_back({"link memory", "GB/s", table.links.memory_gbs});
  values.push_back({"link numa", "GB/s", table.links.numa_gbs});
  values.push_back({"link socket", "GB/s", table.links.socket_gbs});
  values.push_back({"direct_bytes", "bytes", table.thresholds.direct_bytes});
  values.push_back({"non_temporal_bytes", "bytes", table.thresholds.non_temporal_bytes});
  return values;
}

std::vector<std::string> changes(const model::Table& before, const model::Table& now,
                                 const std::vector<Precision>& precisions) {
  std::vector<std::string> lines;
  const std::vector<NamedValue> old_values = named_values(before);
  for (const NamedValue& value : named_values(now)) {
    const auto old = std::ranges::find(old_values, value.name, &NamedValue::name);
    if (old == old_values.end()) {
      lines.push_back(fmt::format("{}: {:.4g} {}, not measured before", value.name, value.value, value.unit));
      continue;
    }
    const auto precision = std::ranges::find(precisions, value.name, &Precision::name);
    const double spread = precision == precisions.end() ? 0 : precision->spread;
    const double moved = std::abs(value.value - old->value);
    const double size = std::max(std::abs(old->value), std::abs(value.value));
    if (size > 0 && moved > spread * size)
      lines.push_back(fmt::format("{}: {:.4g} {}, was {:.4g} (+-{:.0f} %)", value.name, value.value, value.unit,
                                  old->value, 100 * spread));
  }
  for (const model::Chosen& of : now.choices) {
    const auto same = [&](const model::Chosen& other) {
      return other.collective == of.collective && other.ranks == of.ranks && other.up_to_bytes == of.up_to_bytes;
    };
    const auto old = std::ranges::find_if(before.choices, same);
    const std::string choice = text(of);
    if (old != before.choices.end() && text(*old) != choice)
      lines.push_back(fmt::format("{} up to {}, {} ranks: {}, was {}", plan::name(of.collective),
                                  bytes_text(of.up_to_bytes), of.ranks, choice, text(*old)));
  }
  return lines;
}

}  // namespace coll::tools
