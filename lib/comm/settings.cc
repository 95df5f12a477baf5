// SPDX-License-Identifier: BSD-3-Clause
#include "comm/settings.h"

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "config/config.h"
#include "config/digest.h"
#include "config/rendezvous.h"
#include "mem/processor.h"

namespace coll::comm {

const char* name(Transport transport) {
  switch (transport) {
    case Transport::automatic: return "auto";
    case Transport::shm: return "shm";
    case Transport::cma: return "cma";
    case Transport::mapped: return "mapped";
    case Transport::kcoll_copy: return "kcoll_copy";
    case Transport::kcoll_map: return "kcoll_map";
    case Transport::kcoll_uring: return "kcoll_uring";
  }
  return "?";
}

namespace {

// A switch is on if its variable is not set. Returns OK, or ARG with an error message.
coll_status read_switch(const char* name, bool& on) {
  const std::string value = config::text(name);
  if (!value.empty() && value != "on" && value != "off")
    return failure(COLL_ERR_ARG, std::string(name) + "='" + value + "' is not a switch; use on or off");
  on = value != "off";
  return COLL_OK;
}

coll_status read_tune(Tune& tune) {
  const std::string value = config::text("COLL_TUNE");
  if (value == "off") tune = Tune::off;
  else if (value == "on") tune = Tune::on;
  else if (value.empty() || value == "long") tune = Tune::long_calls;
  else return failure(COLL_ERR_ARG, "COLL_TUNE='" + value + "' is not known; use off, long or on");
  return COLL_OK;
}

std::string variable_of(plan::Collective collective) {
  std::string name = std::string("COLL_") + plan::name(collective);
  for (char& c : name) c = char(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

}  // namespace

coll_status Settings::read() {
  if (!config::problem().empty()) return failure(COLL_ERR_ARG, config::problem());
  choices = config::digest_of_nothing;
  auto digest = [this](const std::string& text) { choices = config::digest(text + '\n', choices); };
  if (const std::string wrong = mem::forced_profile_error(); !wrong.empty()) return failure(COLL_ERR_ARG, wrong);
  digest(config::text("COLL_CPU"));
  std::string wish = config::text("COLL_TRANSPORT");
  bool known = wish.empty();
  std::string names;
  for (Transport t : transports) {
    names += (names.empty() ? "" : ", ") + std::string(name(t));
    if (wish == name(t)) transport = t, known = true;
  }
  if (!known)
    return failure(COLL_ERR_UNAVAILABLE, "COLL_TRANSPORT='" + wish + "' is not a transport; use one of " + names);
  topology = config::text("COLL_TOPOLOGY");
  sensitivity = config::text("COLL_SENSITIVITY");
  digest(sensitivity);
  std::string level = config::text("COLL_LOG");
  if (!level.empty() && level != "info" && level != "debug" && level != "off")
    return failure(COLL_ERR_ARG, "COLL_LOG='" + level + "' is not a level; use off, info or debug");
  log_decisions = level == "debug";
  log = level == "info" || log_decisions;
  remarks.clear();
  for (const config::Misspelt& wrong : log ? config::misspelt() : std::vector<config::Misspelt>())
    if (!wrong.nearest.empty())
      remarks += "libcoll: " + wrong.name + " is not a variable of libcoll; did you mean " + wrong.nearest + "?\n";
  std::string check = config::text("COLL_DEBUG");
  if (!check.empty() && check != "0" && check != "1")
    return failure(COLL_ERR_ARG, "COLL_DEBUG='" + check + "' is not a switch; use 0 or 1");
  debug = check == "1";
  std::string least = config::text("COLL_DIRECT_MIN");
  if (!least.empty()) {
    const char* const end = least.data() + least.size();
    const auto [stopped, error] = std::from_chars(least.data(), end, direct_min_bytes);
    if (error != std::errc() || stopped != end)
      return failure(COLL_ERR_ARG,
                     "COLL_DIRECT_MIN='" + least + "' is not a number of bytes; use digits only, such as 8192");
  }
  const std::string staging = config::text("COLL_STAGING");
  if (staging == "cached" || staging == "streamed") streamed = staging == "streamed";
  else if (!staging.empty() && staging != "auto")
    return failure(COLL_ERR_ARG, "COLL_STAGING='" + staging + "' is not a kind of store; use auto, cached or streamed");
  table = config::text("COLL_TABLE");
  shared_heap = config::text("COLL_HEAP") == "shared";
  config::Rendezvous rendezvous;
  if (const std::string wrong = config::read_rendezvous(rendezvous); !wrong.empty())
    return failure(COLL_ERR_ARG, wrong);
  rendezvous_directory = rendezvous.directory;
  trace = config::text("COLL_TRACE");
  coll_status status;
  bool trials;
  if ((status = read_tune(tune)) != COLL_OK || (status = read_switch("COLL_HUGE_PAGES", huge_pages)) != COLL_OK ||
      (status = read_switch("COLL_DRIFT", warns_of_drift)) != COLL_OK ||
      (status = read_switch("COLL_TRIALS", trials)) != COLL_OK)
    return status;
  if (config::text("COLL_TUNE").empty() && !trials) tune = Tune::off;
  tune_file = config::text("COLL_TUNE_FILE");
  for (const char* former : {"COLL_TRIALS", "COLL_DRIFT"})
    if (log && !config::text(former).empty())
      remarks += std::string("libcoll: ") + former + " is a former variable; use COLL_TUNE\n";
  if (log && !tune_file.empty() && tune != Tune::on)
    remarks += "libcoll: COLL_TUNE_FILE is neither read nor written without COLL_TUNE=on\n";
  std::string throttled = config::text("COLL_THROTTLE"), chunk = config::text("COLL_CHUNK");
  digest(throttled), digest(chunk);
  if (size_t k = tune::parse_size(throttled); k >= 1 && k <= 1024) throttle = uint16_t(k);
  else if (!throttled.empty())
    return failure(COLL_ERR_ARG, "COLL_THROTTLE='" + throttled + "' is not a number of ranks; use 1 to 1024");
  if (size_t bytes = tune::parse_size(chunk); bytes >= 64 && bytes <= 1u << 30) chunk_bytes = uint32_t(bytes);
  else if (!chunk.empty()) return failure(COLL_ERR_ARG, "COLL_CHUNK='" + chunk + "' is not a size; use 64 to 1G");
  for (size_t c = 0; c < forced.size(); c++) {
    auto collective = plan::Collective(c);
    std::string key = variable_of(collective), text = config::text(key.c_str());
    digest(text);
    if (text.empty()) continue;
    std::string problem = tune::parse_ranges(collective, text, forced[c]);
    if (!problem.empty()) return failure(COLL_ERR_UNAVAILABLE, key + ": " + problem);
  }
  return COLL_OK;
}

}  // namespace coll::comm
