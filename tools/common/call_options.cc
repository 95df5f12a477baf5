// SPDX-License-Identifier: BSD-3-Clause
#include "tools/common/call_options.h"

#include <fmt/format.h>

#include "coll/coll.h"
#include "tools/command.h"
#include "tools/common/choose_plans.h"
#include "tools/common/text.h"

namespace coll::tools {

Option* add_call_options(Command& sub, CallOptions& options) {
  Option* collective =
      sub.add_option("COLLECTIVE", options.collective, "the collective; see collctl list")->option_text("  ");
  sub.add_option("SIZE", options.size,
                 "bytes (64, 16K, 4M) of the vector, or of the block that one rank\n"
                 "has for one other; a barrier has none")
      ->option_text("  ");
  sub.add_option("-n,--ranks", options.ranks, "number of ranks, 1 to 1024 (required)")
      ->required()
      ->range(1, 1024)
      ->option_text("N");
  sub.add_option("--type", options.type, "datatype of the elements; default: float")->option_text("TYPE");
  add_machine_option(sub, options.machine);
  add_placement_options(sub, options.map_by, options.sensitivity);
  return collective;
}

void add_machine_option(Command& sub, std::string& machine) {
  sub.add_option("--machine", machine, "a built-in machine or the file of a table; default: this machine")
      ->option_text("NAME");
}

void add_placement_options(Command& sub, std::string& map_by, std::string& sensitivity) {
  sub.add_option("--map-by", map_by,
                 "core: place ranks on consecutive cores (default);\nnuma: place them in turn on each NUMA node")
      ->option_text("core|numa");
  sub.add_option("--sensitivity", sensitivity,
                 "domains that form groups of ranks: core, l2, l3, numa, socket;\n"
                 "or flat; or groups such as 0-3,4-7/0-7; default: numa,socket")
      ->option_text("LIST");
}

Call parse_call(const CallOptions& options) {
  const std::vector<plan::Collective> named = parse_collectives(options.collective);
  if (named.size() != 1) throw usage("'all' is not possible here; name one collective");
  Call call{named.front(), 0, coll_datatype_size(parse_type(options.type))};
  if (call.collective == plan::Collective::barrier) {
    if (!options.size.empty()) throw usage("SIZE: a barrier has no data; leave it out");
    return call;
  }
  if (options.size.empty())
    throw usage("SIZE is missing; give the bytes of the vector, or of the block that one rank has for one other");
  call.bytes = parse_bytes(options.size, "SIZE");
  if (call.bytes % call.element_bytes != 0)
    throw usage(fmt::format("SIZE {} is not a whole number of elements of {}; use a multiple of {} bytes", options.size,
                            options.type, call.element_bytes));
  return call;
}

ModelMachine machine_of(const CallOptions& options) {
  return model_machine(options.machine, options.ranks, options.map_by, options.sensitivity);
}

}  // namespace coll::tools
