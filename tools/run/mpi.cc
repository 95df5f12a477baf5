// SPDX-License-Identifier: BSD-3-Clause
#include "tools/run/mpi.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include "tools/command.h"

namespace coll::tools {
namespace {

namespace fs = std::filesystem;

struct Launcher {
  std::vector<std::string> names;  // tried in this order; the first is Debian's
  const char* mark;                // a text that `--version` of the right launcher prints
  const char* package;
};

Launcher launcher_of(const std::string& library) {
  if (library == "openmpi") return {{"mpirun.openmpi", "mpirun"}, "Open MPI", "openmpi-bin"};
  if (library == "mpich") return {{"mpiexec.mpich", "mpiexec", "mpirun"}, "HYDRA", "mpich"};
  throw usage(fmt::format("--mpi: unknown MPI library '{}'; use openmpi or mpich", library));
}

// Returns both streams of `NAME --version`; "" if it cannot be run.
std::string version_text(const std::string& name) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((name + " --version 2>&1 </dev/null").c_str(), "re"), pclose);
  std::string text;
  std::array<char, 4096> block;
  for (size_t got; pipe && (got = fread(block.data(), 1, block.size(), pipe.get())) > 0;)
    text.append(block.data(), got);
  return text;
}

std::string find_launcher(const std::string& library) {
  const Launcher launcher = launcher_of(library);
  for (const std::string& name : launcher.names)
    if (version_text(name).find(launcher.mark) != std::string::npos) return name;
  throw Failure(
      fmt::format("no launcher of this MPI library is in PATH (tried {}); load its module, or apt-get install {}",
                  fmt::join(launcher.names, ", "), launcher.package));
}

// Looks in the directories next to this program: those of the installation, then those of the build.
std::string find_shim(const std::string& library) {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  const std::string file = fmt::format("libcoll_mpi_{}.so", library);
  const std::vector<fs::path> tried = {(here / COLL_BIN_TO_SHIMS / file).lexically_normal(),
                                       (here / "../lib/mpi" / file).lexically_normal()};
  for (const fs::path& path : tried)
    if (fs::exists(path, error)) return path.string();
  throw Failure(
      fmt::format("the shim {} is not there; install it (Debian: libcoll-mpi-{}), or build libcoll where the "
                  "MPI library's compiler is found",
                  tried.front().string(), library));
}

int allowed_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace

void run_under_mpi(const MpiRun& run) {
  const bool openmpi = run.library == "openmpi";
  const std::string launcher = find_launcher(run.library);
  std::string preload = find_shim(run.library);
  if (const char* others = std::getenv("LD_PRELOAD"); others != nullptr && *others != '\0')
    preload += std::string(":") + others;

  std::vector<std::string> words = {launcher, "-n", std::to_string(run.ranks)};
  const auto add = [&words](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
  if (openmpi) {
    add({"-x", "LD_PRELOAD=" + preload});
    if (!run.bind) add({"--bind-to", "none"});
    if (run.tag) add({"--tag-output"});
    // An option, because each release has another variable, and warns of its predecessor's.
    if (run.ranks > allowed_cores()) add({"--map-by", ":OVERSUBSCRIBE"});
  } else {
    add({"-genv", "LD_PRELOAD", preload});
    if (!run.bind) add({"-bind-to", "none"});
    if (run.tag) add({"-prepend-rank"});
  }
  words.insert(words.end(), run.program.begin(), run.program.end());

  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  throw Failure(fmt::format("cannot start {}: {}", launcher, std::strerror(errno)));
}

}  // namespace coll::tools
