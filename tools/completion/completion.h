// SPDX-License-Identifier: BSD-3-Clause
// Completion scripts of `collctl` for shells, generated from the summary of its command line.
#pragma once

#include <string>
#include <vector>

#include "tools/command_line.h"

namespace coll::tools {

// Each returns a whole script, ending in a line break. `commands`: those of CommandLine::summary(), which include the
// program itself, whose path is "".
std::string bash_completion(const std::vector<CommandSummary>& commands);
std::string zsh_completion(const std::vector<CommandSummary>& commands);
std::string fish_completion(const std::vector<CommandSummary>& commands);

}  // namespace coll::tools
