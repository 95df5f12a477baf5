// SPDX-License-Identifier: BSD-3-Clause
#include "config/text_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sys/stat.h>

namespace coll::config {

std::string read_text_file(const std::string& path, size_t most_bytes, std::string& text) {
  text.clear();
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  struct stat kind {};
  if (file == nullptr || fstat(fileno(file.get()), &kind) != 0) return std::strerror(errno);
  if (S_ISDIR(kind.st_mode)) return "it is a directory";
  if (!S_ISREG(kind.st_mode) && !S_ISFIFO(kind.st_mode)) return "it is a device, not a file";
  char part[16384];
  size_t got;
  while ((got = std::fread(part, 1, sizeof part, file.get())) > 0) {
    text.append(part, got);
    if (text.size() > most_bytes) return "it is longer than " + std::to_string(most_bytes >> 20) + " MiB";
  }
  return std::ferror(file.get()) != 0 ? std::strerror(errno) : "";
}

}  // namespace coll::config
