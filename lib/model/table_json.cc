// SPDX-License-Identifier: BSD-3-Clause
#include "model/table_json.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "config/text_file.h"
#include "model/json_reader.h"

namespace coll::model {

using topo::Status;

namespace {

constexpr size_t longest_bytes = size_t(16) << 20;
constexpr double tiny = 1e-9;  // the minimum of numbers that must not be zero

Fingerprint read_fingerprint(Object in) {
  Fingerprint of;
  of.processor = in.text("processor");
  of.sockets = in.count("sockets", 1);
  of.numas = in.count("numas", 1);
  of.l3s = in.count("l3s");
  of.cores = in.count("cores", 1);
  of.l2_bytes = in.bytes("l2_bytes");
  of.l3_bytes = in.bytes("l3_bytes");
  of.l3_inclusive = in.truth("l3_inclusive");
  of.kernel = in.text("kernel");
  of.mitigations = in.text("mitigations");
  in.close();
  return of;
}

Access read_access(Object in) {
  Access access;
  access.available = true;
  access.startup_us = in.by_distance("startup_us", 0);
  access.bandwidth_gbs = in.by_distance("bandwidth_gbs", tiny);
  access.page_us = in.number_or("page_us", 0);
  access.page_bytes = in.has("page_bytes") ? in.number("page_bytes", 1) : 4096;
  if (in.has("gamma")) {
    Object gamma = in.object("gamma");
    access.gamma = {gamma.slope("quadratic"), gamma.slope("linear"),
                    gamma.has("across") ? gamma.number("across", 1) : 1, gamma.number_or("residual", 0)};
    gamma.close();
  }
  in.close();
  return access;
}

Bandwidth read_bandwidth(Object in) {
  Bandwidth bandwidth = {in.number("alone_gbs", tiny), in.number("all_gbs", tiny)};
  in.close();
  return bandwidth;
}

// Ascending by bytes.
std::vector<CacheRates> read_caches(Object& in) {
  std::vector<CacheRates> caches;
  for (Object line : in.array("caches")) {
    caches.push_back({line.number("bytes", 1), line.number("load_gbs", tiny), line.number("store_gbs", tiny),
                      line.number("fetch_gbs", tiny), line.number("take_gbs", tiny), line.number("combine_gbs", tiny),
                      line.number("combine_fetch_gbs", tiny), line.number_or("kernel_gbs", 0)});
    line.close();
    if (caches.size() > 1 && caches[caches.size() - 2].bytes >= caches.back().bytes)
      line.reject("bytes", "must be more than those before");
  }
  return caches;
}

RepMovsb read_rep_movsb(Object in) {
  RepMovsb sizes;
  if (in.has("load_min_bytes")) sizes.load_min_bytes = in.bytes("load_min_bytes", 1);
  if (in.has("store_min_bytes")) sizes.store_min_bytes = in.bytes("store_min_bytes", 1);
  in.close();
  return sizes;
}

constexpr const char* latency = "latency";

Chosen read_chosen(Object in) {
  Chosen chosen;
  const std::string collective = in.text("collective"), algorithm = in.text("algorithm");
  int known = 0;
  while (known < plan::collectives && collective != plan::name(plan::Collective(known))) ++known;
  if (known == plan::collectives) in.reject("collective", "is '" + collective + "', which is none");
  chosen.collective = plan::Collective(known);
  chosen.ranks = in.count("ranks", 2);
  chosen.up_to_bytes = in.bytes("up_to_bytes");
  chosen.algorithm = algo::find(chosen.collective, algorithm);
  if (chosen.algorithm == nullptr && algorithm != latency)
    in.reject("algorithm",
              "is '" + algorithm + "', which is not an algorithm of " + collective + "; run `collctl calibrate` again");
  Object parameters = in.object("parameters");
  algo::Parameters& to = chosen.parameters;
  if (parameters.has("chunk")) to.chunk_bytes = uint32_t(parameters.number("chunk", 64, 1 << 30));
  // Tables of earlier versions may have other depths, which ran with the next power of two.
  if (parameters.has("depth")) to.depth = std::bit_ceil(uint16_t(parameters.number("depth", 1, 1024)));
  if (parameters.has("k")) to.k = uint16_t(parameters.number("k", 1, 1024));
  if (parameters.has("j")) to.j = uint16_t(parameters.number("j", 1, 4096));
  parameters.close();
  chosen.kernel_copies = in.truth("kernel_copies");
  chosen.predicted_us = in.number("predicted_us");
  chosen.measured_us = in.number("measured_us");
  in.close();
  return chosen;
}

// Sorted as Table::choices requires; each class once.
std::vector<Chosen> read_choices(Object& in) {
  std::vector<Chosen> choices;
  for (const Object& line : in.array("choices")) choices.push_back(read_chosen(line));
  const auto place = [](const Chosen& c) { return std::tuple(c.collective, c.ranks, c.up_to_bytes); };
  std::ranges::sort(choices, {}, place);
  const auto twice = std::ranges::adjacent_find(choices, {}, place);
  if (twice != choices.end())
    in.reject("choices", std::string("choose twice for ") + plan::name(twice->collective) + " of " +
                             std::to_string(twice->ranks) + " ranks up to " + std::to_string(twice->up_to_bytes) +
                             " bytes");
  return choices;
}

Table read(Object in) {
  Table table;
  if (in.text("schema") != "libcoll-machine") in.reject("schema", "must be \"libcoll-machine\"");
  if (in.number("version") != table_version)
    in.reject("version", "is not " + std::to_string(table_version) +
                             ", the version that this library reads; run `collctl calibrate` again");
  table.name = in.text("name");
  table.description = in.text("description");
  table.date = in.text("date");
  table.topology = in.text("topology");
  table.fingerprint = read_fingerprint(in.object("fingerprint"));
  Object mechanisms = in.object("mechanisms");
  for (Mechanism mechanism : all_mechanisms)
    if (const char* word = name(mechanism); mechanisms.has(word))
      table.access[size_t(mechanism)] = read_access(mechanisms.object(word));
  // Flags and slots are in shared memory, so every machine has it.
  if (!table.of(Mechanism::shared_memory).available) in.reject("mechanisms", "has no 'shared_memory'");
  mechanisms.close();
  if (in.has("huge_pages")) table.huge_pages = in.truth("huge_pages");
  table.flag_ns = in.by_distance("flag_ns", tiny);
  table.line_ns = in.number("line_ns");
  table.look_ns = in.number("look_ns");
  table.step_ns = in.number("step_ns");
  table.copy = read_bandwidth(in.object("copy"));
  table.copy_non_temporal = read_bandwidth(in.object("copy_non_temporal"));
  table.reduce = read_bandwidth(in.object("reduce"));
  table.reduce_non_temporal = read_bandwidth(in.object("reduce_non_temporal"));
  if (in.has("caches")) {
    table.caches = read_caches(in);
    table.short_take_gbs = in.number_or("short_take_gbs", 0);
    table.overlap = in.number("overlap");
  }
  Object links = in.object("links");
  table.links = {links.number_or("core_gbs", 0), links.number_or("l3_gbs", 0), links.number_or("memory_gbs", 0),
                 links.number_or("numa_gbs", 0), links.number_or("socket_gbs", 0)};
  links.close();
  Object thresholds = in.object("thresholds");
  table.thresholds = {thresholds.number("direct_bytes"), thresholds.number("non_temporal_bytes")};
  thresholds.close();
  if (in.has("rep_movsb")) table.rep_movsb = read_rep_movsb(in.object("rep_movsb"));
  if (in.has("choices")) table.choices = read_choices(in);
  table.notes = in.object("notes").all_texts();
  in.close();
  return table;
}

// ---- writing ----------------------------------------------------------------------------------------------------

ordered_json by_distance(const ByDistance& values) {
  ordered_json out;
  for (int d = 1; d < topo::distance_count; ++d) out[topo::distance_name(topo::Distance(d))] = values.at[size_t(d)];
  return out;
}

ordered_json to_json(const Access& access) {
  ordered_json out = {{"startup_us", by_distance(access.startup_us)},
                      {"bandwidth_gbs", by_distance(access.bandwidth_gbs)}};
  if (access.page_us != 0) {
    out["page_us"] = access.page_us;
    out["page_bytes"] = access.page_bytes;
  }
  if (access.page_us == 0 && access.gamma.quadratic == 0 && access.gamma.linear == 0) return out;
  out["gamma"] = {{"quadratic", access.gamma.quadratic},
                  {"linear", access.gamma.linear},
                  {"across", access.gamma.across},
                  {"residual", access.gamma.residual}};
  return out;
}

ordered_json to_json(const Bandwidth& bandwidth) {
  return {{"alone_gbs", bandwidth.alone_gbs}, {"all_gbs", bandwidth.all_gbs}};
}

ordered_json to_json(const CacheRates& rates) {
  ordered_json out = {{"bytes", rates.bytes},
                      {"load_gbs", rates.load_gbs},
                      {"store_gbs", rates.store_gbs},
                      {"fetch_gbs", rates.fetch_gbs},
                      {"take_gbs", rates.take_gbs},
                      {"combine_gbs", rates.combine_gbs},
                      {"combine_fetch_gbs", rates.combine_fetch_gbs}};
  if (rates.kernel_gbs > 0) out["kernel_gbs"] = rates.kernel_gbs;
  return out;
}

ordered_json to_json(const RepMovsb& sizes) {
  ordered_json out = ordered_json::object();
  if (sizes.load_min_bytes != RepMovsb::never) out["load_min_bytes"] = sizes.load_min_bytes;
  if (sizes.store_min_bytes != RepMovsb::never) out["store_min_bytes"] = sizes.store_min_bytes;
  return out;
}

ordered_json to_json(const Chosen& chosen) {
  ordered_json parameters = ordered_json::object();
  if (const algo::Algorithm* algorithm = chosen.algorithm) {
    const algo::Parameters& from = chosen.parameters;
    if (algorithm->reads.chunk || algorithm->reads.level_chunks) parameters["chunk"] = from.chunk_bytes;
    if (algorithm->reads.depth) parameters["depth"] = from.depth;
    if (algorithm->reads.k) parameters["k"] = from.k;
    if (algorithm->reads.j) parameters["j"] = from.j;
  }
  return {{"collective", plan::name(chosen.collective)},
          {"ranks", chosen.ranks},
          {"up_to_bytes", chosen.up_to_bytes},
          {"algorithm", chosen.algorithm == nullptr ? latency : std::string(chosen.algorithm->name)},
          {"parameters", parameters},
          {"kernel_copies", chosen.kernel_copies},
          {"predicted_us", chosen.predicted_us},
          {"measured_us", chosen.measured_us}};
}

}  // namespace

Status parse_table(std::string_view text, const std::string& source, Table& table) {
  int line = 1;
  KeyLines lines(line);
  CountedText begin(text.data(), &line), end(text.data() + text.size(), &line);
  if (!ordered_json::sax_parse(begin, end, &lines))
    return Status::error(source + ":" + std::to_string(line) +
                         (lines.too_deep   ? ": is nested too deeply for a table"
                          : lines.too_many ? ": has too many keys in one object for a table"
                                           : ": is not JSON") +
                         "; name a file that `collctl calibrate` wrote");
  if (!lines.twice.empty())
    return Status::error(source + ":" + std::to_string(lines.twice_line) + ": '" + lines.twice + "' is given twice");
  try {
    const ordered_json json = ordered_json::parse(text);
    table = read(Object(json, lines, source));
  } catch (const Bad& bad) { return Status::error(bad.text); }
  return {};
}

Status read_table(const std::string& path, Table& table) {
  std::string text;
  const std::string why = config::read_text_file(path, longest_bytes, text);
  if (!why.empty())
    return Status::error(path + ": cannot be read: " + why + "; name a file that `collctl calibrate` wrote");
  return parse_table(text, path, table);
}

std::string write_table(const Table& table) {
  const Fingerprint& of = table.fingerprint;
  ordered_json mechanisms = ordered_json::object(), choices = ordered_json::array(), notes = ordered_json::object();
  for (Mechanism mechanism : all_mechanisms)
    if (table.of(mechanism).available) mechanisms[name(mechanism)] = to_json(table.of(mechanism));
  for (const Chosen& chosen : table.choices) choices.push_back(to_json(chosen));
  for (const auto& [key, text] : table.notes) notes[key] = text;
  ordered_json out = {
      {"schema", "libcoll-machine"},
      {"version", table_version},
      {"name", table.name},
      {"description", table.description},
      {"date", table.date},
      {"topology", table.topology},
      {"fingerprint",
       {{"processor", of.processor},
        {"sockets", of.sockets},
        {"numas", of.numas},
        {"l3s", of.l3s},
        {"cores", of.cores},
        {"l2_bytes", of.l2_bytes},
        {"l3_bytes", of.l3_bytes},
        {"l3_inclusive", of.l3_inclusive},
        {"kernel", of.kernel},
        {"mitigations", of.mitigations}}},
      {"mechanisms", mechanisms},
      {"flag_ns", by_distance(table.flag_ns)},
      {"line_ns", table.line_ns},
      {"look_ns", table.look_ns},
      {"step_ns", table.step_ns},
      {"copy", to_json(table.copy)},
      {"copy_non_temporal", to_json(table.copy_non_temporal)},
      {"reduce", to_json(table.reduce)},
      {"reduce_non_temporal", to_json(table.reduce_non_temporal)},
      {"links", links_as_json(table.links)},
      {"thresholds",
       {{"direct_bytes", table.thresholds.direct_bytes}, {"non_temporal_bytes", table.thresholds.non_temporal_bytes}}},
      {"choices", choices},
      {"notes", notes}};
  if (!table.caches.empty()) {
    for (const CacheRates& rates : table.caches) out["caches"].push_back(to_json(rates));
    if (table.short_take_gbs > 0) out["short_take_gbs"] = table.short_take_gbs;
    out["overlap"] = table.overlap;
  }
  if (table.huge_pages) out["huge_pages"] = true;
  if (table.rep_movsb.has_value()) out["rep_movsb"] = to_json(*table.rep_movsb);
  return out.dump(2) + "\n";
}

nlohmann::ordered_json links_as_json(const Links& links) {
  return {{"core_gbs", links.core_gbs},
          {"l3_gbs", links.l3_gbs},
          {"memory_gbs", links.memory_gbs},
          {"numa_gbs", links.numa_gbs},
          {"socket_gbs", links.socket_gbs}};
}

}  // namespace coll::model
