// SPDX-License-Identifier: BSD-3-Clause
// How collctl reads numbers and writes for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coll::tools {

// ---- reading; all throw Failure with status usage -------------------------------------------------------------

// "64", "16K", "4M", "1G": powers of 1024.
size_t parse_bytes(std::string_view text, const std::string& option);
// "4-16M": every power of four from 4; "4,1K,64K": a list; both may be mixed.
std::vector<size_t> parse_sizes(std::string_view text, const std::string& option);
// "2-64", "2,3,5-8"; ascending, each once, all within [least, most].
std::vector<int> parse_numbers(std::string_view text, const std::string& option, int least, int most);
// A datatype's number by its name ("float", "int32", "bf16").
uint32_t parse_type(const std::string& name);

// ---- writing --------------------------------------------------------------------------------------------------

// "0 B", "1 KiB", "1.5 MiB": exact where it is whole, else three digits.
std::string bytes_text(uint64_t bytes);
// "12.3 ns", "4.56 us", "1.23 ms".
std::string us_text(double us);
// 1234567 -> "1,234,567"
std::string count_text(uint64_t number);

// Columns of the terminal that stdout is, between 60 and 120; 100 where it is none.
int text_width();
// Breaks at spaces; every line but the first begins with `indent` spaces.
std::string wrapped(const std::string& text, int indent, int width = text_width());

class Table {
 public:
  // One word per column: '<' is aligned left, '>' right. "<" alone for the first and ">" for the others is usual.
  explicit Table(std::string alignment) : alignment_(std::move(alignment)) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Two spaces between columns, `indent` before the first; no trailing blanks.
  std::string text(int indent = 0) const;

 private:
  std::string alignment_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace coll::tools
