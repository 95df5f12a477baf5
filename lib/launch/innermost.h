// SPDX-License-Identifier: BSD-3-Clause
// Which of several launchers is the innermost: `srun` may have started the `mpirun` that has started this process, or the
// reverse, and either way the environment has the variables of both.
//
// The environments of a process's ancestors tell: the innermost launcher is that whose variables the nearest ancestor
// lacks, or has with other values. If an ancestor lacks several at once, their order decides. So it does at a process of
// another user: that is a daemon, such as slurmstepd, which passes on the whole environment of the command.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace coll::launch {

// "NAME=value" of the two variables of a launcher.
using Settings = std::array<std::string, 2>;
Settings settings_of(const std::array<const char*, 2>& variables);

// Of each launcher, in their order; the index of the innermost. Nothing when the ancestors cannot be seen as far as needed,
// as from a pid namespace. REQUIRES: not empty.
std::optional<size_t> innermost(const std::vector<Settings>& settings);

// The same by the environments of the ancestors, nearest first, each as /proc/PID/environ shows it.
std::optional<size_t> innermost(const std::vector<Settings>& settings, const std::vector<std::string>& environments);

}  // namespace coll::launch
