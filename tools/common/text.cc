// SPDX-License-Identifier: BSD-3-Clause
#include "tools/common/text.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "coll/coll.h"
#include "mem/types.h"
#include "tools/command.h"

namespace coll::tools {
namespace {

// Number of columns: continuation bytes of UTF-8 take none.
size_t columns(const std::string& text) {
  return size_t(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Formats with three significant digits.
std::string digits(double value) { return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0); }

}  // namespace

size_t parse_bytes(std::string_view text, const std::string& option) {
  uint64_t value = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit(rest, size_t(text.data() + text.size() - rest));
  int shift = unit.empty() || unit == "B" ? 0 : -1;
  for (int i = 0; i < 3; ++i)
    for (std::string_view spelling : {"", "B", "iB"})
      if (unit.size() == spelling.size() + 1 && unit.substr(1) == spelling && (unit[0] | 0x20) == "kmg"[i])
        shift = 10 * (i + 1);
  if (error != std::errc() || text.empty() || shift < 0 || value > (uint64_t(1) << (40 - shift)))
    throw usage(fmt::format("{}: '{}' is not a number of bytes; write it as 64, 16K or 1M", option, text));
  return value << shift;
}

std::vector<size_t> parse_sizes(std::string_view text, const std::string& option) {
  std::vector<size_t> sizes;
  for (std::string_view part : split(text, ',')) {
    size_t dash = part.find('-');
    size_t from = parse_bytes(part.substr(0, dash), option);
    size_t to = dash == std::string_view::npos ? from : parse_bytes(part.substr(dash + 1), option);
    if (from == 0 || to < from)
      throw usage(
          fmt::format("{}: '{}' is neither a size above 0 nor an ascending range; write 4-16M or 4,1K", option, part));
    for (; from <= to; from *= 4) sizes.push_back(from);
  }
  return sizes;
}

std::vector<int> parse_numbers(std::string_view text, const std::string& option, int least, int most) {
  std::set<int> numbers;
  const auto bad = [&] {
    return usage(
        fmt::format("{}: '{}' is not a list of numbers from {} to {}; write 2-16 or 2,3,8", option, text, least, most));
  };
  const auto number = [&](std::string_view digits) {
    int value = -1;
    auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || rest != digits.data() + digits.size() || value < least || value > most) throw bad();
    return value;
  };
  for (std::string_view part : split(text, ',')) {
    size_t dash = part.find('-');
    int from = number(part.substr(0, dash));
    int to = dash == std::string_view::npos ? from : number(part.substr(dash + 1));
    if (to < from) throw bad();
    for (; from <= to; ++from) numbers.insert(from);
  }
  return {numbers.begin(), numbers.end()};
}

uint32_t parse_type(const std::string& name) {
  if (coll_datatype type = mem::datatype_from_name(name)) return type;
  std::string known;
  for (coll_datatype type = 1; type < COLL_DATATYPE_END_; ++type)
    known += (type == 1 ? "" : ", ") + std::string(coll_datatype_name(type));
  throw usage(fmt::format("unknown datatype '{}'; use one of {}", name, known));
}

std::string bytes_text(uint64_t bytes) {
  static const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (uint64_t rest = bytes; rest >= 1024 && unit < 4; rest >>= 10) ++unit;
  uint64_t one = uint64_t(1) << (10 * unit);
  if (bytes % one == 0) return fmt::format("{} {}", bytes / one, units[unit]);
  return fmt::format("{} {}", digits(double(bytes) / double(one)), units[unit]);
}

std::string us_text(double us) {
  if (us < 0.9995) return digits(us * 1e3) + " ns";
  if (us < 999.5) return digits(us) + " us";
  if (us < 999.5e3) return digits(us * 1e-3) + " ms";
  return digits(us * 1e-6) + " s";
}

std::string count_text(uint64_t number) {
  std::string text = std::to_string(number);
  for (int at = int(text.size()) - 3; at > 0; at -= 3) text.insert(size_t(at), ",");
  return text;
}

int text_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 100;
  return std::clamp<int>(size.ws_col, 60, 120);
}

std::string wrapped(const std::string& text, int indent, int width) {
  std::string out;
  size_t column = size_t(indent);
  for (std::string_view word_view : split(text, ' ')) {
    std::string word(word_view);
    if (!out.empty() && column + 1 + columns(word) > size_t(width)) {
      out += "\n" + std::string(size_t(indent), ' ');
      column = size_t(indent);
    } else if (!out.empty()) {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns(word);
  }
  return out;
}

std::string Table::text(int indent) const {
  std::vector<size_t> widths(alignment_.size());
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
  std::string out;
  for (const auto& row : rows_) {
    std::string line(size_t(indent), ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      std::string blanks(widths[i] - columns(row[i]), ' ');
      line += (i == 0 ? "" : "  ") + (alignment_[i] == '>' ? blanks + row[i] : row[i] + blanks);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace coll::tools
