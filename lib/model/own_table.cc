// SPDX-License-Identifier: BSD-3-Clause
#include "model/own_table.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>

#include "model/fingerprint.h"
#include "model/machines.h"

namespace coll::model {

namespace {

// "Intel(R) Xeon(R) Processor @ 2.20GHz" -> "intel-r-xeon-r-processor-2-20ghz", at most 60 characters.
std::string file_words(const std::string& text) {
  std::string words;
  for (const unsigned char c : text) {
    if (std::isalnum(c) != 0) words += char(std::tolower(c));
    else if (!words.empty() && words.back() != '-') words += '-';
  }
  words.resize(std::min<size_t>(words.size(), 60));
  while (words.ends_with('-')) words.pop_back();
  return words.empty() ? "unnamed" : words;
}

}  // namespace

std::string table_file_name(const Fingerprint& of) {
  const std::string counts = std::to_string(of.sockets) + "s" + std::to_string(of.numas) + "n" +
                             std::to_string(of.l3s) + "l" + std::to_string(of.cores) + "c";
  uint32_t digest = 0x811c9dc5u;
  for (const char c : of.processor + '/' + counts + '/' + std::to_string(of.l2_bytes) + '/' +
                          std::to_string(of.l3_bytes) + '/' + std::to_string(of.l3_inclusive))
    digest = (digest ^ uint8_t(c)) * 0x01000193u;
  char hexadecimal[16];
  snprintf(hexadecimal, sizeof hexadecimal, "%08x", digest);
  return file_words(of.processor) + "-" + counts + "-" + hexadecimal + ".json";
}

std::string table_path(const std::vector<std::string>& directories, const topo::Machine& running) {
  if (running.source != "native") return "";
  const std::string name = "/" + table_file_name(hardware_of(running));
  std::error_code error;
  for (const std::string& directory : directories)
    if (std::filesystem::exists(directory + name, error)) return directory + name;
  return "";
}

Found find_table(const std::string& requested, const std::vector<std::string>& directories,
                 const topo::Machine& running) {
  Found out;
  out.path = requested.empty() ? table_path(directories, running) : requested;
  if (out.path.empty() || requested == "none") return out;
  const Fingerprint here = fingerprint_of(running);
  const topo::Status status =
      requested.empty() ? read_own_table(out.path, here, out.table) : find_machine(requested, out.table);
  out.found = status.ok();
  out.remark = status.text();
  if (!out.found || requested.empty()) return out;
  if (const std::string other = difference(out.table.fingerprint, here); !other.empty())
    out.remark = requested + ": was measured on another machine (" + other + "); used because COLL_TABLE names it";
  return out;
}

}  // namespace coll::model
