// SPDX-License-Identifier: BSD-3-Clause
// Strict JSON: a key that the reader does not know is an error, and every error names the line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/table.h"

namespace coll::model {

using nlohmann::ordered_json;

// An iterator over the text that counts the lines as the parser reads them.
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

// The line of every key and object, by its path ("mechanisms.cma.page_us", "choices[3].ranks"), and the first duplicate
// key.
class KeyLines : public nlohmann::json_sax<ordered_json> {
 public:
  explicit KeyLines(const int& line) : line_(line) {}
  bool start_object(std::size_t) override { return begin(false); }
  bool end_object() override { return levels_.pop_back(), true; }
  bool start_array(std::size_t) override { return begin(true); }
  bool end_array() override { return levels_.pop_back(), true; }
  bool key(string_t& key) override {
    path_ = levels_.back().path.empty() ? key : levels_.back().path + "." + key;
    if (!lines.emplace(path_, line_).second && twice.empty()) twice = path_, twice_line = line_;
    too_many = ++levels_.back().keys > most_keys;
    return !too_many;
  }
  bool null() override { return element(); }
  bool boolean(bool) override { return element(); }
  bool number_integer(number_integer_t) override { return element(); }
  bool number_unsigned(number_unsigned_t) override { return element(); }
  bool number_float(number_float_t, const string_t&) override { return element(); }
  bool string(string_t&) override { return element(); }
  bool binary(binary_t&) override { return element(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

  std::map<std::string, int> lines;
  std::string twice;
  int twice_line = 0;
  bool too_deep = false, too_many = false;

 private:
  // An ordered_json looks through all keys of an object for each new one.
  static constexpr size_t most_levels = 16, most_keys = 1000;
  struct Level {
    std::string path;
    bool array = false;
    size_t elements = 0, keys = 0;  // of an array or an object, so far
  };
  // Notes a value if it is an element of an array.
  bool element() {
    if (levels_.empty() || !levels_.back().array) return true;
    path_ = levels_.back().path + "[" + std::to_string(levels_.back().elements++) + "]";
    lines.emplace(path_, line_);
    return true;
  }
  bool begin(bool array) {
    element();
    levels_.push_back({path_, array});
    too_deep = levels_.size() > most_levels;
    return !too_deep;
  }

  const int& line_;
  std::string path_;  // of the next value
  std::vector<Level> levels_;
};

// An error in the text: "source:line: what".
struct Bad {
  std::string text;
};

// One object of the file. Its keys are read one by one; close() rejects keys that were not read.
class Object {
 public:
  Object(const ordered_json& json, const KeyLines& lines, std::string source, std::string path = "")
      : json_(json), lines_(lines), source_(std::move(source)), path_(std::move(path)) {
    if (!json.is_object()) fail(path_, "must be an object");
  }

  bool has(const char* key) const { return json_.contains(key); }
  double number(const char* key, double least = 0, double most = 1e300) {
    const ordered_json& value = value_of(key);
    if (!value.is_number()) fail(join(key), "must be a number");
    const double number = value.get<double>();
    if (!(number >= least)) fail(join(key), "must be at least " + text_of(least));
    if (!(number <= most)) fail(join(key), "must be at most " + text_of(most));
    return number;
  }
  // Whole numbers that their types can hold.
  int count(const char* key, int least = 0) { return int(number(key, least, 1 << 30)); }
  size_t bytes(const char* key, size_t least = 0) { return size_t(number(key, double(least), 0x1p53)); }
  double number_or(const char* key, double otherwise) { return has(key) ? number(key) : otherwise; }
  // As number(), but may be negative.
  double slope(const char* key) { return number(key, -1e9); }
  std::string text(const char* key) {
    const ordered_json& value = value_of(key);
    if (!value.is_string()) fail(join(key), "must be a text");
    return value.get<std::string>();
  }
  bool truth(const char* key) {
    const ordered_json& value = value_of(key);
    if (!value.is_boolean()) fail(join(key), "must be true or false");
    return value.get<bool>();
  }
  Object object(const char* key) { return Object(value_of(key), lines_, source_, join(key)); }
  // Elements that are not objects are errors.
  std::vector<Object> array(const char* key) {
    const ordered_json& value = value_of(key);
    if (!value.is_array()) fail(join(key), "must be an array");
    std::vector<Object> elements;
    for (size_t i = 0; i < value.size(); ++i)
      elements.emplace_back(value[i], lines_, source_, join(key) + "[" + std::to_string(i) + "]");
    return elements;
  }
  std::vector<std::pair<std::string, std::string>> all_texts() {
    std::vector<std::pair<std::string, std::string>> texts;
    for (const auto& item : json_.items()) texts.emplace_back(item.key(), text(item.key().c_str()));
    return texts;
  }
  // One number for all distances, or an object of them.
  ByDistance by_distance(const char* key, double least) {
    if (value_of(key).is_number()) return ByDistance::all(number(key, least));
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
      if (!read_.contains(item.key())) {
        std::string known;
        for (const std::string& key : read_) known += (known.empty() ? "" : ", ") + key;
        fail(join(item.key()), "is not a key of a table; the keys here are " + known);
      }
  }
  // Throws Bad for the value of `key`.
  [[noreturn]] void reject(const char* key, const std::string& what) const { fail(join(key), what); }

 private:
  [[noreturn]] void fail(const std::string& path, const std::string& what) const {
    // A path without a line takes the line of the innermost object or array around it.
    auto found = lines_.lines.find(path);
    for (std::string around = path; found == lines_.lines.end() && !around.empty();) {
      const size_t end = around.find_last_of(".[");
      around.resize(end == std::string::npos ? 0 : end);
      found = lines_.lines.find(around);
    }
    throw Bad{source_ + ":" + std::to_string(found == lines_.lines.end() ? 1 : found->second) + ": " +
              (path.empty() ? "the table" : "'" + path + "'") + " " + what};
  }
  static std::string text_of(double number) {
    char text[32];
    snprintf(text, sizeof text, "%.16g", number);
    return text;
  }
  const ordered_json& value_of(const char* key) {
    read_.insert(key);
    if (!json_.contains(key)) fail(path_, "has no '" + std::string(key) + "'");
    return json_[key];
  }
  std::string join(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

  const ordered_json& json_;
  const KeyLines& lines_;
  std::string source_, path_;
  std::set<std::string> read_;
};

}  // namespace coll::model
