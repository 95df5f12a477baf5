// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/facts.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coll/coll.h"
#include "config/config.h"
#include "config/variables.h"
#include "launch/job_rank.h"
#include "model/fingerprint.h"
#include "model/machines.h"
#include "model/own_table.h"
#include "tools/common/launch.h"
#include "topo/machine.h"
#include "transport/cma.h"
#include "transport/kcoll_device.h"
#include "transport/shared_file.h"

namespace coll::tools {
namespace {

// Returns whether the modules of a kernel release include one of that name, compressed or not.
bool has_module(const std::string& release, const std::string& name) {
  std::error_code ignored;
  namespace fs = std::filesystem;
  for (fs::recursive_directory_iterator
           at("/lib/modules/" + release, fs::directory_options::skip_permission_denied, ignored),
       end;
       !ignored && at != end; at.increment(ignored))
    if (at->path().filename().string().starts_with(name + ".ko")) return true;
  return false;
}

std::string group_of_device() {
  struct stat device {};
  if (stat(KCOLL_DEVICE, &device) != 0 || device.st_gid == 0 || (device.st_mode & 060) != 060) return "";
  const group* entry = getgrgid(device.st_gid);
  return entry != nullptr ? entry->gr_name : std::to_string(device.st_gid);
}

std::string user_name() {
  const passwd* entry = getpwuid(geteuid());
  return entry != nullptr ? entry->pw_name : std::to_string(geteuid());
}

// Lets one process copy from another that is not its child, as ranks do. Returns 0 or the errno; EIO for wrong bytes.
int try_kernel_copy_from_sibling() {
  int channel[2];
  if (pipe(channel) != 0) return errno;
  uint64_t word = 1;
  const uint64_t expected = 0x6b636f6c6cULL;
  const pid_t owner = fork_rank();
  if (owner == 0) {
    word = expected;
    char ready = 1;
    if (write(channel[1], &ready, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char ready = 0;
  int error = read(channel[0], &ready, 1) == 1 ? 0 : EIO;
  if (error == 0) {
    const pid_t reader = fork_rank();
    if (reader == 0) {
      uint64_t seen = 0;
      const int failed = transport::cma_read(owner, &seen, uint64_t(uintptr_t(&word)), sizeof seen);
      _exit(failed != 0 ? failed : seen == expected ? 0 : EIO);
    }
    int status = 0;
    waitpid(reader, &status, 0);
    // A seccomp filter may also kill the reader.
    error = WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
  }
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  close(channel[0]);
  close(channel[1]);
  return error;
}

void try_memfd(Facts& facts) {
  const auto fail = [&](const char* call, int error) {
    facts.memfd_problem = fmt::format("{}: {}", call, std::strerror(error));
    facts.memfd_error = error;
  };
  const int descriptor = memfd_create("coll-doctor", MFD_CLOEXEC);
  if (descriptor < 0) return fail("memfd_create", errno);
  const size_t bytes = size_t(1) << 20;
  void* memory = MAP_FAILED;
  if (const int error = transport::set_length(descriptor, bytes); error != 0) fail("ftruncate", error);
  else if (memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0); memory == MAP_FAILED)
    fail("mmap", errno);
  // posix_fallocate() reports a shortage of memory; touching the memory would raise SIGBUS.
  else if (const int lack = posix_fallocate(descriptor, 0, off_t(bytes)); lack != 0) fail("posix_fallocate", lack);
  if (memory != MAP_FAILED) munmap(memory, bytes);
  close(descriptor);
}

bool seccomp_filter() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Seccomp:")) return line.find('2') != std::string::npos;
  return false;
}

// The initial namespaces of the kernel have fixed inode numbers (include/linux/proc_ns.h).
bool differs(const char* path, ino_t first) {
  struct stat space {};
  return stat(path, &space) == 0 && space.st_ino != first;
}

// Creates a communicator of one rank, which reads all variables.
void try_settings(Facts& facts) {
  for (const config::Variable& variable : config::variables())
    if (const std::string source = config::source(variable.name); !source.empty())
      facts.settings.push_back(fmt::format("{} ({})", variable.name, source));
  for (const config::Misspelt& wrong : config::misspelt())
    if (!wrong.nearest.empty())
      facts.misspelt.push_back(fmt::format("{} (did you mean {}?)", wrong.name, wrong.nearest));
  const auto alone = [](const void* send, void* recv, size_t bytes, void*) {
    std::memcpy(recv, send, bytes);
    return 0;
  };
  const coll_bootstrap bootstrap{sizeof(coll_bootstrap), 0, 1, alone, nullptr};
  coll_comm* comm = nullptr;
  const coll_status status = coll_comm_create(&bootstrap, &comm);
  if (status == COLL_ERR_ARG || status == COLL_ERR_UNAVAILABLE || status == COLL_ERR_TOPOLOGY)
    facts.settings_problem = coll_last_error();
  coll_comm_free(comm);
}

// Creates a communicator with the other ranks, as a program would, but with a shorter timeout.
void try_meeting(Facts& facts) {
  const launch::Launcher* launcher = nullptr;
  const launch::JobRank place = launch::find(&launcher);
  if (launcher == nullptr) return;
  facts.launcher = place.launcher;
  facts.rank = place.rank;
  facts.launched = place.ranks;
  facts.several_nodes = place.several_nodes;
  facts.meeting_problem = place.problem;
  if (!place.problem.empty()) return;
  setenv("COLL_RENDEZVOUS_TIMEOUT", "20", 0);
  coll_comm* comm = nullptr;
  if (coll_comm_create_from_launcher(&comm) != COLL_OK) {
    facts.meeting_problem = coll_last_error();
    return;
  }
  facts.rank = coll_comm_rank(comm);
  facts.launched = coll_comm_size(comm);
  coll_comm_free(comm);
}

}  // namespace

Facts gather_facts(int ranks) {
  Facts facts{kernel_settings()};
  facts.user = user_name();
  facts.root = geteuid() == 0;

  transport::KcollDevice::open(facts.kcoll);
  facts.module_installed = has_module(facts.release, "kcoll");
  facts.device_group = group_of_device();

  facts.cma_error = try_kernel_copy_from_sibling();
  uint64_t from = 1, to = 0;
  facts.cma_self_error = transport::cma_read(getpid(), &to, uint64_t(uintptr_t(&from)), sizeof to);
  facts.seccomp_filter = seccomp_filter();
  facts.own_pid_namespace = differs("/proc/self/ns/pid", 0xeffffffc);
  facts.own_user_namespace = differs("/proc/self/ns/user", 0xeffffffd);

  try_memfd(facts);
  struct statvfs shm {};
  if (statvfs("/dev/shm", &shm) == 0) facts.shm_bytes = uint64_t(shm.f_blocks) * shm.f_frsize;

  try_settings(facts);
  try_meeting(facts);
  facts.processors = int(allowed_cpus().size());
  facts.ranks = ranks > 0 ? ranks : facts.processors;
  topo::Machine machine;
  if (topo::load_native(machine).ok()) {
    facts.table = model::builtin_table(model::fingerprint_of(machine)).name;
    const char* requested = config::value("COLL_TABLE");
    const model::Found found =
        model::find_table(requested == nullptr ? "" : requested, config::table_directories(), machine);
    if (found.found) facts.measured = found.path;
    facts.table_remark = found.remark;
  }
  return facts;
}

}  // namespace coll::tools
