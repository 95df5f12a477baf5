// SPDX-License-Identifier: BSD-3-Clause
#include "tools/calibrate/memory.h"

#include <cstring>

#include <sys/mman.h>

#include "mem/huge_pages.h"

namespace coll::tools {

Workplace::Workplace(int processes, size_t bytes)
    : processes_(processes),
      bytes_(bytes),
      shared_(bytes * size_t(processes) + rest_bytes()),
      lines_(sizeof(Line) * flag_lines * size_t(processes + 1)),
      places_(sizeof(Place) * size_t(processes + 1)),
      key_(transport::own_token()) {
  // Staging and coll_mem_alloc() request huge pages as well.
  madvise(shared_.data(), shared_.bytes(), MADV_HUGEPAGE);
}

std::string Workplace::begin(int process) {
  const size_t bytes = process == at_rest() ? rest_bytes() : bytes_;
  source_ = std::make_unique<Source>(shared(process), bytes, key_);
  if (own() == nullptr) return "cannot allocate memory; end other programs";
  rewrite(own(), bytes);
  rewrite(shared(process), bytes);
  rewrite(few_, few_bytes);
  reinterpret_cast<Place*>(places_.data())[process] = source_->place();
  return "";
}

Access* Workplace::access(CopyPath path, int process, std::string& problem) {
  for (Opened& opened : opened_)
    if (opened.path == path && opened.process == process) return problem = opened.problem, opened.access.get();
  Opened opened{path, process, nullptr, ""};
  opened.access = make_access(path, place(process), opened.problem);
  opened_.push_back(std::move(opened));
  problem = opened_.back().problem;
  return opened_.back().access.get();
}

const char* Workplace::long_buffer() {
  using mem::HugePages, mem::huge_page_bytes;
  if (long_buffer_ != nullptr) return long_buffer_.get();
  long_buffer_.reset(static_cast<char*>(std::aligned_alloc(huge_page_bytes, huge_page_bytes)));
  if (long_buffer_ == nullptr) return nullptr;
  rewrite(long_buffer_.get(), huge_page_bytes);
  for (int use = 0; use < HugePages::uses; ++use) HugePages::use(long_buffer_.get(), huge_page_bytes);
  return long_buffer_.get();
}

void rewrite(char* memory, size_t bytes) {
  // As floats, these bytes are neither subnormal nor infinite nor NaN: additions of those would be slow.
  static unsigned char value = 0;
  value = static_cast<unsigned char>(value % 32 + 1);
  std::memset(memory, value, bytes);
}

}  // namespace coll::tools
