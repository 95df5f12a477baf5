// SPDX-License-Identifier: BSD-3-Clause
// Reads a file of auto-tuning: a line that names the processor, then one rule for each kind of call.
//
//   bcast[p=2, levels=1, !oversubscribed, n>=65536, n<131072]: flat_read:chunk=16384 -- 9.1 us, books 11 us
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tools/command.h"
#include "tools/report/sections.h"

namespace coll::tools::report {
namespace {

constexpr std::string_view first_words = "# libcoll auto-tuning 1: ";

template <class Number>
bool number_after(std::string_view text, std::string_view before, Number& value) {
  if (!text.starts_with(before)) return false;
  text.remove_prefix(before.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && (end == text.data() + text.size() || std::string_view(end, 1) == " ");
}

// Returns false if the text is not a condition of this format.
bool read_condition(std::string_view text, ordered_json& into) {
  uint64_t value = 0;
  for (const auto& [before, key] :
       {std::pair("p=", "ranks"), {"levels=", "levels"}, {"n>=", "from_bytes"}, {"n<", "below_bytes"}})
    if (number_after(text, before, value)) {
      into[key] = value;
      return true;
    }
  if (text == "oversubscribed" || text == "!oversubscribed") into["oversubscribed"] = text[0] != '!';
  else if (text.starts_with("element")) into["element"] = text.substr(7);
  else return false;
  return true;
}

bool read_rule(std::string_view line, ordered_json& rule) {
  const size_t open = line.find('['), close = line.find("]: ");
  if (open == std::string_view::npos || close == std::string_view::npos || open == 0 || open > close) return false;
  rule = {{"collective", line.substr(0, open)},
          {"ranks", nullptr},
          {"levels", nullptr},
          {"oversubscribed", false},
          {"from_bytes", nullptr},
          {"below_bytes", nullptr},
          {"element", ""},
          {"setting", ""},
          {"us", 0},
          {"usual_us", 0}};
  std::string_view conditions = line.substr(open + 1, close - open - 1), rest = line.substr(close + 3);
  while (!conditions.empty()) {
    const size_t end = std::min(conditions.find(", "), conditions.size());
    if (!read_condition(conditions.substr(0, end), rule)) return false;
    conditions.remove_prefix(std::min(end + 2, conditions.size()));
  }
  for (const char* key : {"ranks", "from_bytes", "below_bytes"})
    if (rule[key].is_null()) return false;
  const size_t evidence = rest.find(" -- ");
  rule["setting"] = rest.substr(0, evidence);
  if (evidence == std::string_view::npos) return true;
  rest.remove_prefix(evidence + 4);
  double us = 0, usual_us = 0;
  const size_t books = rest.find("books ");
  if (!number_after(rest, "", us) || books == std::string_view::npos ||
      !number_after(rest.substr(books), "books ", usual_us))
    return false;
  rule["us"] = rounded(us), rule["usual_us"] = rounded(usual_us);
  return true;
}

}  // namespace

ordered_json learned_section(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw Failure(fmt::format("--tuned {}: the file cannot be read", file));
  std::string line;
  std::getline(in, line);
  if (!line.starts_with(first_words))
    throw Failure(
        fmt::format("--tuned {}: its first line is not '{}PROCESSOR', as auto-tuning writes it", file, first_words));
  const std::string processor = line.substr(first_words.size());
  ordered_json rules = ordered_json::array();
  for (size_t number = 2; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    ordered_json rule;
    if (!read_rule(line, rule))
      throw Failure(fmt::format("--tuned {}: line {} is not a rule of auto-tuning; remove the line", file, number));
    rules.push_back(rule);
  }
  return {{"file", std::filesystem::path(file).filename().string()}, {"processor", processor}, {"rules", rules}};
}

}  // namespace coll::tools::report
