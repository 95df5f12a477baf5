// SPDX-License-Identifier: BSD-3-Clause
// Finds the innermost of several launchers: `srun` may have started the `mpirun` that has started this process, or the
// reverse, and in both cases the environment has the variables of both.
//
// The search compares the environments of the process's ancestors, the nearest first. The first ancestor that lacks a
// launcher's variables, or has other values for them, shows that this launcher is the innermost. If an ancestor lacks
// those of several launchers, the order of the launchers decides. The order also decides at a process of another user:
// that is a daemon, such as slurmstepd, which forwards the whole environment of the command.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace coll::launch {

// The two variables of a launcher as "NAME=value"; "" for one that is not set.
using Settings = std::array<std::string, 2>;
Settings settings_of(const std::array<const char*, 2>& variables);

// `settings`: of each launcher, in order of precedence. Returns the index of the innermost one, or nullopt if the
// needed ancestors are not visible, e.g. from inside a pid namespace. REQUIRES: not empty.
std::optional<size_t> innermost(const std::vector<Settings>& settings);

// The same for given environments of the ancestors, the nearest first, in the format of /proc/PID/environ.
std::optional<size_t> innermost(const std::vector<Settings>& settings, const std::vector<std::string>& environments);

}  // namespace coll::launch
