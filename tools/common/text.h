// SPDX-License-Identifier: BSD-3-Clause
// Parses collctl's numbers, and formats text for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coll::tools {

// ---- parsing; all functions throw usage() --------------------------------------------------------------------

// "64", "16K", "4M", "1G": powers of 1024.
size_t parse_bytes(std::string_view text, const std::string& option);
// "4-16M": every power of four from 4; "4,1K,64K": a list; both may be mixed.
std::vector<size_t> parse_sizes(std::string_view text, const std::string& option);
// "2-64", "2,3,5-8"; ascending, each once, all within [least, most].
std::vector<int> parse_numbers(std::string_view text, const std::string& option, int least, int most);
// A datatype's number by its name ("float", "int32", "bf16").
uint32_t parse_type(const std::string& name);

// ---- formatting -----------------------------------------------------------------------------------------------

// "0 B", "1 KiB", "1.5 MiB": exact if it is a whole number of units, else three digits.
std::string bytes_text(uint64_t bytes);
// "12.3 ns", "4.56 us", "1.23 ms".
std::string us_text(double us);
// 1234567 -> "1,234,567"
std::string count_text(uint64_t number);

// Width of the terminal on stdout, limited to 60 to 120; 100 if stdout is not a terminal.
int text_width();
// Breaks the text at spaces. Every line but the first begins with `indent` spaces.
std::string wrapped(const std::string& text, int indent, int width = text_width());

class Table {
 public:
  // One character per column: '<' aligns left, '>' right.
  explicit Table(std::string alignment) : alignment_(std::move(alignment)) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Two spaces between columns, `indent` spaces before the first one; no trailing spaces.
  std::string text(int indent = 0) const;

 private:
  std::string alignment_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace coll::tools
