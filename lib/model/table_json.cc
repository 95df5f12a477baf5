// SPDX-License-Identifier: BSD-3-Clause
#include "model/table_json.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

namespace coll::model {

using nlohmann::ordered_json;
using topo::Status;

namespace {

// ---- lines ------------------------------------------------------------------------------------------------------

// Characters of the text, counting lines as the parser takes them.
class CountedText {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  CountedText(const char* at, int* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  CountedText& operator++() {
    *line_ += *at_++ == '\n';
    return *this;
  }
  bool operator==(const CountedText& other) const { return at_ == other.at_; }
  bool operator!=(const CountedText& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  int* line_;
};

// Where every key stands, by its path ("mechanisms.cma.page_us"), and the first one that is given twice.
class KeyLines : public nlohmann::json_sax<ordered_json> {
 public:
  explicit KeyLines(const int& line) : line_(line) {}
  bool start_object(std::size_t) override { return path_.push_back(key_), true; }
  bool end_object() override { return path_.pop_back(), true; }
  bool start_array(std::size_t) override { return path_.push_back(key_ + "[]"), true; }
  bool end_array() override { return path_.pop_back(), true; }
  bool key(string_t& key) override {
    std::string path;
    for (size_t i = 1; i < path_.size(); ++i) path += path_[i] + ".";
    key_ = key;
    if (!lines.emplace(path + key, line_).second && twice.empty()) twice = path + key, twice_line = line_;
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

  std::map<std::string, int> lines;
  std::string twice;
  int twice_line = 0;

 private:
  const int& line_;
  std::string key_;
  std::vector<std::string> path_;
};

// ---- reading ----------------------------------------------------------------------------------------------------

struct Bad {
  std::string text;
};

// One object of the file: takes its keys one by one, and refuses at the end what nobody took.
class Object {
 public:
  Object(const ordered_json& json, const KeyLines& lines, std::string source, std::string path = "")
      : json_(json), lines_(lines), source_(std::move(source)), path_(std::move(path)) {
    if (!json.is_object()) fail(path_, "must be an object");
  }

  bool has(const char* key) const { return json_.contains(key); }
  double number(const char* key, double least = 0) {
    const ordered_json& value = take(key);
    if (!value.is_number()) fail(join(key), "must be a number");
    const double number = value.get<double>();
    if (!(number >= least)) fail(join(key), "must be at least " + std::to_string(least));
    return number;
  }
  double number_or(const char* key, double otherwise) { return has(key) ? number(key) : otherwise; }
  // A slope of a fit may be negative.
  double slope(const char* key) { return number(key, -1e9); }
  std::string text(const char* key) {
    const ordered_json& value = take(key);
    if (!value.is_string()) fail(join(key), "must be a text");
    return value.get<std::string>();
  }
  bool truth(const char* key) {
    const ordered_json& value = take(key);
    if (!value.is_boolean()) fail(join(key), "must be true or false");
    return value.get<bool>();
  }
  Object object(const char* key) { return Object(take(key), lines_, source_, join(key)); }
  std::vector<std::pair<std::string, std::string>> all_texts() {
    std::vector<std::pair<std::string, std::string>> texts;
    for (const auto& item : json_.items()) texts.emplace_back(item.key(), text(item.key().c_str()));
    return texts;
  }
  // One number for all distances, or an object of them.
  ByDistance by_distance(const char* key, double least) {
    if (take(key).is_number()) return ByDistance::all(number(key, least));
    Object given = object(key);
    ByDistance made;
    std::array<bool, topo::distance_count> known{};
    for (int d = 0; d < topo::distance_count; ++d)
      if (const char* word = topo::distance_name(topo::Distance(d)); given.has(word))
        made.at[size_t(d)] = given.number(word, least), known[size_t(d)] = true;
    given.close();
    for (int d = 0; d < topo::distance_count; ++d) {
      int from = d;
      while (from > 0 && !known[size_t(from)]) --from;
      while (from < topo::distance_count && !known[size_t(from)]) ++from;
      if (from == topo::distance_count) fail(join(key), "gives no distance");
      made.at[size_t(d)] = made.at[size_t(from)];
    }
    return made;
  }
  void close() const {
    for (const auto& item : json_.items())
      if (!taken_.contains(item.key())) {
        std::string known;
        for (const std::string& key : taken_) known += (known.empty() ? "" : ", ") + key;
        fail(join(item.key()), "is no key of this schema; here it knows " + known);
      }
  }
  [[noreturn]] void fail(const std::string& path, const std::string& what) const {
    auto found = lines_.lines.find(path);
    throw Bad{source_ + ":" + std::to_string(found == lines_.lines.end() ? 1 : found->second) + ": " +
              (path.empty() ? "the table" : "'" + path + "'") + " " + what};
  }

 private:
  const ordered_json& take(const char* key) {
    taken_.insert(key);
    if (!json_.contains(key)) fail(path_, "has no '" + std::string(key) + "'");
    return json_[key];
  }
  std::string join(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

  const ordered_json& json_;
  const KeyLines& lines_;
  std::string source_, path_;
  std::set<std::string> taken_;
};

constexpr double tiny = 1e-9;  // the least of what must not be zero

Fingerprint read_fingerprint(Object in) {
  Fingerprint of;
  of.processor = in.text("processor");
  of.sockets = int(in.number("sockets", 1));
  of.numas = int(in.number("numas", 1));
  of.l3s = int(in.number("l3s"));
  of.cores = int(in.number("cores", 1));
  of.l2_bytes = uint64_t(in.number("l2_bytes"));
  of.l3_bytes = uint64_t(in.number("l3_bytes"));
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

Table read(Object in) {
  Table table;
  if (in.text("schema") != "libcoll-machine") in.fail("schema", "must be \"libcoll-machine\"");
  if (in.number("version") != table_version)
    in.fail("version", "is not " + std::to_string(table_version) + ", the one that this library reads; calibrate anew");
  table.name = in.text("name");
  table.description = in.text("description");
  table.date = in.text("date");
  table.topology = in.text("topology");
  table.fingerprint = read_fingerprint(in.object("fingerprint"));
  Object mechanisms = in.object("mechanisms");
  for (Mechanism mechanism : all_mechanisms)
    if (const char* word = name(mechanism); mechanisms.has(word))
      table.access[size_t(mechanism)] = read_access(mechanisms.object(word));
  // Flags and slots live in shared memory: every machine has it.
  if (!table.of(Mechanism::shared_memory).available) in.fail("mechanisms", "has no 'shared_memory'");
  mechanisms.close();
  table.flag_ns = in.by_distance("flag_ns", tiny);
  table.line_ns = in.number("line_ns");
  table.look_ns = in.number("look_ns");
  table.step_ns = in.number("step_ns");
  table.copy = read_bandwidth(in.object("copy"));
  table.copy_non_temporal = read_bandwidth(in.object("copy_non_temporal"));
  table.reduce = read_bandwidth(in.object("reduce"));
  table.reduce_non_temporal = read_bandwidth(in.object("reduce_non_temporal"));
  Object links = in.object("links");
  table.links = {links.number_or("core_gbs", 0), links.number_or("l3_gbs", 0), links.number_or("memory_gbs", 0),
                 links.number_or("numa_gbs", 0), links.number_or("socket_gbs", 0)};
  links.close();
  Object thresholds = in.object("thresholds");
  table.thresholds = {thresholds.number("direct_bytes"), thresholds.number("non_temporal_bytes")};
  thresholds.close();
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
  if (access.page_us == 0) return out;
  out["page_us"] = access.page_us;
  out["page_bytes"] = access.page_bytes;
  out["gamma"] = {
      {"quadratic", access.gamma.quadratic}, {"linear", access.gamma.linear}, {"residual", access.gamma.residual}};
  return out;
}

ordered_json to_json(const Bandwidth& bandwidth) {
  return {{"alone_gbs", bandwidth.alone_gbs}, {"all_gbs", bandwidth.all_gbs}};
}

}  // namespace

Status parse_table(std::string_view text, const std::string& source, Table& table) {
  int line = 1;
  KeyLines lines(line);
  CountedText begin(text.data(), &line), end(text.data() + text.size(), &line);
  if (!ordered_json::sax_parse(begin, end, &lines))
    return Status::error(source + ":" + std::to_string(line) + ": is not JSON");
  if (!lines.twice.empty())
    return Status::error(source + ":" + std::to_string(lines.twice_line) + ": '" + lines.twice + "' is given twice");
  try {
    const ordered_json json = ordered_json::parse(text);
    table = read(Object(json, lines, source));
  } catch (const Bad& bad) { return Status::error(bad.text); }
  return {};
}

Status read_table(const std::string& path, Table& table) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return Status::error(path + ": cannot be read; name a file that collctl calibrate wrote");
  return parse_table(text.str(), path, table);
}

std::string write_table(const Table& table) {
  const Fingerprint& of = table.fingerprint;
  ordered_json mechanisms = ordered_json::object(), notes = ordered_json::object();
  for (Mechanism mechanism : all_mechanisms)
    if (table.of(mechanism).available) mechanisms[name(mechanism)] = to_json(table.of(mechanism));
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
      {"links",
       {{"core_gbs", table.links.core_gbs},
        {"l3_gbs", table.links.l3_gbs},
        {"memory_gbs", table.links.memory_gbs},
        {"numa_gbs", table.links.numa_gbs},
        {"socket_gbs", table.links.socket_gbs}}},
      {"thresholds",
       {{"direct_bytes", table.thresholds.direct_bytes}, {"non_temporal_bytes", table.thresholds.non_temporal_bytes}}},
      {"notes", notes}};
  return out.dump(2) + "\n";
}

}  // namespace coll::model
