// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/command.h"

namespace coll::tools {

void add_report(Command& app, Action& action);

}  // namespace coll::tools
