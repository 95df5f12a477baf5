// SPDX-License-Identifier: BSD-3-Clause
#include "machine.h"

#include <fmt/format.h>

#include "choose_plans.h"
#include "command.h"
#include "model/fingerprint.h"
#include "model/machines.h"

namespace coll::tools {

ModelMachine model_machine(const std::string& name, int ranks, const std::string& map_by,
                           const std::string& sensitivity) {
  ModelMachine made;
  Layout layout;
  if (name.empty()) {
    layout = lay_out(ranks, "native", map_by, sensitivity);
    made.table = model::builtin_table(model::fingerprint_of(layout.machine));
    made.origin =
        fmt::format("this one, with the built-in table '{}': nothing has been measured here", made.table.name);
  } else {
    if (topo::Status status = model::find_machine(name, made.table); !status.ok())
      throw Failure("--machine: " + status.text());
    layout = lay_out(ranks, made.table.topology, map_by, sensitivity);
    topo::Machine native;
    const bool loaded = topo::load_native(native).ok();
    const bool own = loaded && model::difference(made.table.fingerprint, model::fingerprint_of(native)).empty();
    made.origin = fmt::format("{}: {}{}", made.table.name, made.table.description, own ? "" : "; not this machine");
  }
  made.hierarchy = layout.hierarchy;
  return made;
}

std::string known_machines() { return fmt::format("{}", fmt::join(model::machine_names(), ", ")); }

}  // namespace coll::tools
