// SPDX-License-Identifier: BSD-3-Clause
#include "tools/common/progress.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace coll::tools {

Progress::Progress(uint64_t total)
    : total_(std::max<uint64_t>(total, 1)),
      terminal_(isatty(STDERR_FILENO) != 0),
      begin_(std::chrono::steady_clock::now()) {}

void Progress::show(uint64_t done, const std::string& what) {
  using namespace std::chrono_literals;
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now - last_ < 100ms) return;
  last_ = now;
  winsize size{};
  int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  const double share = std::min(1.0, double(done) / double(total_));
  const double spent = std::chrono::duration<double>(now - begin_).count();
  std::string left = share > 0.02 ? fmt::format("{:.0f} s left", spent / share - spent) : "";
  const int bar = std::clamp(width / 4, 10, 30), full = int(share * bar);
  std::string line =
      fmt::format("[{:#<{}}{:.<{}}] {:3.0f} %  {:<12} {}", "", full, "", bar - full, share * 100, left, what);
  if (int(line.size()) >= width) line.resize(size_t(width) - 1);
  std::fprintf(stderr, "\r%s\033[K", line.c_str());
  drawn_ = true;
}

void Progress::clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

}  // namespace coll::tools
