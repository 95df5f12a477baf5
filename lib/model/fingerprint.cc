// SPDX-License-Identifier: BSD-3-Clause
#include "model/fingerprint.h"

#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

namespace coll::model {

namespace {

// "retbleed: Vulnerable; spectre_v1: Mitigation: ...", without those that do not affect the processor.
std::string mitigations() {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at("/sys/devices/system/cpu/vulnerabilities", error), end; !error && at != end;
       at.increment(error)) {
    std::ifstream file(at->path());
    std::string state;
    if (std::getline(file, state) && state != "Not affected")
      found.push_back(at->path().filename().string() + ": " + state);
  }
  std::sort(found.begin(), found.end());
  std::string text;
  for (const std::string& one : found) text += (text.empty() ? "" : "; ") + one;
  return text;
}

}  // namespace

Fingerprint hardware_of(const topo::Machine& machine) {
  Fingerprint of;
  of.processor = machine.processor;
  of.sockets = machine.packages;
  of.numas = machine.numas;
  of.l3s = machine.l3s;
  of.cores = machine.cores;
  of.l2_bytes = machine.l2.size_bytes;
  of.l3_bytes = machine.l3.size_bytes;
  of.l3_inclusive = machine.l3.inclusive == topo::Inclusion::yes;
  return of;
}

Fingerprint fingerprint_of(const topo::Machine& machine) {
  Fingerprint of = hardware_of(machine);
  utsname system = {};
  if (uname(&system) == 0) of.kernel = system.release;
  of.mitigations = mitigations();
  return of;
}

std::string difference(const Fingerprint& table, const Fingerprint& running) {
  const auto words = [](const char* what, const std::string& there, const std::string& here) {
    return there == here ? std::string() : std::string(what) + ": '" + there + "', here '" + here + "'";
  };
  const auto number = [](const char* what, uint64_t there, uint64_t here) {
    return there == here ? std::string()
                         : std::string(what) + ": " + std::to_string(there) + ", here " + std::to_string(here);
  };
  for (const std::string& differs :
       {words("processor", table.processor, running.processor), number("sockets", table.sockets, running.sockets),
        number("NUMA nodes", table.numas, running.numas), number("L3 caches", table.l3s, running.l3s),
        number("cores", table.cores, running.cores), number("bytes of an L2", table.l2_bytes, running.l2_bytes),
        number("bytes of an L3", table.l3_bytes, running.l3_bytes),
        number("inclusive L3", table.l3_inclusive, running.l3_inclusive), words("kernel", table.kernel, running.kernel),
        words("mitigations", table.mitigations, running.mitigations)})
    if (!differs.empty()) return differs;
  return "";
}

}  // namespace coll::model
