// SPDX-License-Identifier: BSD-3-Clause
#include "model/forced.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace coll::model {

size_t parse_size(const std::string& text) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || value > SIZE_MAX >> 31) return 0;
  for (const auto& [letters, shift] : {std::pair{"kK", 10}, {"mM", 20}, {"gG", 30}})
    if (rest + 1 == end && (*rest == letters[0] || *rest == letters[1])) value <<= shift, ++rest;
  return rest == end ? size_t(value) : 0;
}

namespace {

std::string parse_range(plan::Collective collective, const std::string& text, Forced& range) {
  const size_t at = text.rfind('@');
  const std::string choice = text.substr(0, at);
  if (at != std::string::npos) {
    range.up_to_bytes = parse_size(text.substr(at + 1));
    if (range.up_to_bytes == 0)
      return "'" + text.substr(at + 1) + "' is no size; write ALGORITHM@SIZE, as in @4K or @1M";
  }
  if (choice == "latency") return "";
  range.chunk = choice.find("chunk=") != std::string::npos;
  range.k = choice.find(":k=") != std::string::npos || choice.find(",k=") != std::string::npos;
  return parse_choice(collective, choice, range.choice);
}

}  // namespace

std::string parse_forced(plan::Collective collective, const std::string& text, std::vector<Forced>& ranges) {
  ranges.clear();
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    if (!ranges.empty() && ranges.back().up_to_bytes == SIZE_MAX)
      return "'" + text.substr(begin) + "' is never reached: only the last range may be without @SIZE";
    Forced range;
    std::string problem = parse_range(collective, text.substr(begin, end - begin), range);
    if (!problem.empty()) return problem;
    if (!ranges.empty() && range.up_to_bytes <= ranges.back().up_to_bytes)
      return "'" + text.substr(begin, end - begin) + "' ends before the range in front of it; sizes must ascend";
    ranges.push_back(range);
    begin = end + 1;
  }
  return "";
}

std::string setting_text(const Choice& choice) {
  if (choice.algorithm == nullptr) return "latency";
  const algo::Reads& reads = choice.algorithm->reads;
  const algo::Parameters& parameters = choice.parameters;
  std::string text(choice.algorithm->name);
  char separator = ':';
  const auto add = [&](bool is_read, const char* name, unsigned value) {
    if (is_read) text += std::exchange(separator, ',') + std::string(name) + '=' + std::to_string(value);
  };
  add(reads.chunk || reads.level_chunks, "chunk", parameters.chunk_bytes);
  add(reads.depth, "depth", parameters.depth);
  add(reads.k && parameters.k > 0, "k", parameters.k);
  add(reads.j, "j", parameters.j);
  return text;
}

const Forced* find_forced(const std::vector<Forced>& ranges, const Question& question) {
  const size_t bytes = question.irregular ? SIZE_MAX : question.bytes;
  for (const Forced& range : ranges)
    if (bytes <= range.up_to_bytes) return &range;
  return nullptr;
}

}  // namespace coll::model
