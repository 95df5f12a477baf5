// SPDX-License-Identifier: BSD-3-Clause
// Values of libcoll's variables, as a communicator reads them at its creation.
#include "comm/settings.h"

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "config/rendezvous.h"
#include "config/variables.h"
#include "environment.h"
#include "topo/sensitivity.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  static const std::vector<const char*> names = [] {
    std::vector<const char*> all;
    for (const coll::config::Variable& variable : coll::config::variables())
      if (variable.name != std::string_view("COLL_CONFIG")) all.push_back(variable.name);
    setenv("COLL_CONFIG", "none", 1);  // the file of this user is not part of the input
    return all;
  }();
  coll::fuzz::set_environment({reinterpret_cast<const char*>(data), bytes}, names);
  coll::comm::Settings settings;
  coll::config::Rendezvous options;
  coll::topo::Sensitivity sensitivity;
  const coll_status status = settings.read();
  if ((status == COLL_OK) != (settings.read() == COLL_OK)) abort();
  if (settings.throttle > 1024 || (settings.chunk_bytes != 0 && settings.chunk_bytes < 64)) abort();
  if (read_rendezvous(options).empty() && options.limit < std::chrono::seconds(1)) abort();
  if (status != COLL_OK || !coll::topo::Sensitivity::parse(settings.sensitivity, sensitivity).ok()) return 0;
  // An accepted value can be written and read again.
  coll::topo::Sensitivity again;
  if (!coll::topo::Sensitivity::parse(sensitivity.text(), again).ok() || again != sensitivity) abort();
  return 0;
}
