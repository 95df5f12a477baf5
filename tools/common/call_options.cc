// SPDX-License-Identifier: BSD-3-Clause
#include "tools/common/call_options.h"

#include <fmt/format.h>

#include "coll/coll.h"
#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/common/choose_plans.h"
#include "tools/common/text.h"

namespace coll::tools {

void add_call_options(Command& sub, CallOptions& options) {
  sub.add_option("COLLECTIVE", options.collective, "a collective; see collctl list")->required()->option_text("  ");
  sub.add_option("SIZE", options.size, "of the vector, or of a rank's piece")->option_text("  ");
  sub.add_option("-n,--ranks", options.ranks, "number of ranks")->required()->range(1, 1024)->option_text("N");
  sub.add_option("--type", options.type, "of its elements; default float")->option_text("TYPE");
  sub.add_option("--machine", options.machine, "a name, or a table's file; default: this")->option_text("NAME");
  sub.add_option("--map-by", options.map_by, "core: side by side; numa: in turn")->option_text("core|numa");
  sub.add_option("--sensitivity", options.sensitivity, "domains that groups follow")->option_text("LIST");
}

Call parse_call(const CallOptions& options) {
  const std::vector<plan::Collective> named = parse_collectives(options.collective);
  if (named.size() != 1) throw usage("one collective at a time; name one, see collctl list");
  Call call{named.front(), 0, coll_datatype_size(parse_type(options.type))};
  if (call.collective == plan::Collective::barrier) {
    if (!options.size.empty()) throw usage("SIZE: a barrier moves nothing; leave it out");
    return call;
  }
  if (options.size.empty()) throw usage("SIZE is missing: of the vector, or of what one rank has for one other");
  call.bytes = parse_bytes(options.size, "SIZE");
  if (call.bytes % call.element_bytes != 0)
    throw usage(fmt::format("SIZE {} is not a whole number of elements of {} ({} bytes)", options.size, options.type,
                            call.element_bytes));
  return call;
}

ModelMachine machine_of(const CallOptions& options) {
  return model_machine(options.machine, options.ranks, options.map_by, options.sensitivity);
}

}  // namespace coll::tools
