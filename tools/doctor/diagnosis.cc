// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/diagnosis.h"

#include <cerrno>
#include <cstring>

#include <coll/coll.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/common/text.h"

namespace coll::tools {
namespace {

using transport::KcollStatus;

// A lower limit has no room for eagerly registered buffers of a few MiB per rank.
constexpr uint64_t enough_memlock = uint64_t(64) << 20;
// The default of containers, which MPI libraries exceed.
constexpr uint64_t little_shm = uint64_t(64) << 20;

// Returns the command in the form in which an administrator runs it.
std::string by_root(const Facts& facts, const std::string& command) {
  return facts.root ? command : fmt::format("sudo sh -c '{}'", command);
}

Finding kcoll(const Facts& facts) {
  Finding finding{"kcoll", Finding::slower, transport::kcoll_hint(facts.kcoll), ""};
  switch (facts.kcoll) {
    case KcollStatus::ok: return {"kcoll", Finding::fine, "/dev/kcoll exists and this user may open it", ""};
    case KcollStatus::absent:
      finding.found = facts.module_installed
                          ? "the kernel module is installed, but not loaded"
                          : fmt::format("the kernel module is not installed for kernel {}", facts.release);
      finding.found += facts.own_pid_namespace
                           ? "; this is a container: run the command on its host, then pass /dev/kcoll to the container"
                           : "";
      finding.fix = by_root(facts, facts.module_installed ? "modprobe kcoll"
                                                          // Run it in libcoll's source tree, which contains dkms.conf.
                                                          : "dkms add . && dkms install kcoll/" COLL_VERSION_STRING
                                                            " && modprobe kcoll");
      if (!facts.module_installed) finding.found += "; to install it, run in the source tree of libcoll:";
      return finding;
    case KcollStatus::no_permission:
      finding.found = fmt::format("/dev/kcoll exists, but user {} may not open it", facts.user);
      if (!facts.device_group.empty())
        finding.fix = by_root(facts, fmt::format("usermod -aG {} {}", facts.device_group, facts.user));
      else
        finding.fix = by_root(facts, fmt::format("groupadd -rf kcoll && usermod -aG kcoll {} && chgrp kcoll /dev/kcoll "
                                                 "&& chmod 660 /dev/kcoll",
                                                 facts.user));
      finding.found += "; log in again after the command";
      return finding;
    case KcollStatus::mismatch: finding.fix = by_root(facts, "rmmod kcoll && modprobe kcoll"); return finding;
    default: return finding;
  }
}

Finding memlock(const Facts& facts) {
  if (facts.memlock_bytes == unlimited) return {"memlock", Finding::fine, "locked memory is not limited", ""};
  const std::string found = "the limit on locked memory is " + bytes_text(facts.memlock_bytes);
  if (facts.memlock_bytes >= enough_memlock) return {"memlock", Finding::fine, found, ""};
  if (facts.kcoll != KcollStatus::ok)
    return {"memlock", Finding::fine, found + "; only the kernel module kcoll needs more", ""};
  if (facts.memlock_most_bytes >= enough_memlock)
    return {"memlock", Finding::slower, found + ", too little for kcoll to keep buffers pinned",
            facts.memlock_most_bytes == unlimited ? "ulimit -l unlimited"
                                                  : fmt::format("ulimit -l {}", facts.memlock_most_bytes / 1024)};
  return {
      "memlock", Finding::slower,
      found + ", too little for kcoll to keep buffers pinned; log in again after the command",
      by_root(facts, fmt::format("echo \"{} - memlock unlimited\" > /etc/security/limits.d/kcoll.conf", facts.user))};
}

// Returns whether a seccomp filter, not a missing permission to trace, refuses kernel-assisted copies.
bool filtered(const Facts& facts) {
  return facts.seccomp_filter && (facts.cma_self_error == EPERM || facts.cma_self_error == ENOSYS);
}

Finding cma(const Facts& facts) {
  if (facts.cma_error == 0) return {"cma", Finding::fine, "kernel-assisted copies between processes (CMA) work", ""};
  Finding finding{
      "cma", Finding::slower,
      fmt::format("kernel-assisted copies between processes (CMA) do not work: {}", std::strerror(facts.cma_error)),
      ""};
  if (filtered(facts)) finding.found += "; see seccomp";
  else if (facts.cma_self_error == ENOSYS) finding.found += "; the kernel lacks CONFIG_CROSS_MEMORY_ATTACH";
  else if (facts.ptrace_scope > 0) finding.found += "; see ptrace_scope";
  else finding.found += "; all ranks need the same user and user namespace, and programs that allow ptrace";
  return finding;
}

Finding ptrace_scope(const Facts& facts) {
  if (facts.ptrace_scope < 0)
    return {"ptrace_scope", Finding::fine, "the kernel does not restrict ptrace (no Yama)", ""};
  const std::string found = fmt::format("kernel.yama.ptrace_scope is {}", facts.ptrace_scope);
  if (facts.cma_error == 0 || filtered(facts)) return {"ptrace_scope", Finding::fine, found, ""};
  if (facts.ptrace_scope == 0) return {"ptrace_scope", Finding::fine, found, ""};
  if (facts.ptrace_scope == 3)
    return {"ptrace_scope", Finding::slower,
            found + ", which only a reboot can lower; first set kernel.yama.ptrace_scope=0 in /etc/sysctl.d",
            by_root(facts, "reboot")};
  return {"ptrace_scope", Finding::slower, found + ", so ranks may not copy from each other",
          by_root(facts, "sysctl -w kernel.yama.ptrace_scope=0")};
}

Finding seccomp(const Facts& facts) {
  if (!facts.seccomp_filter) return {"seccomp", Finding::fine, "no seccomp filter", ""};
  if (!filtered(facts)) return {"seccomp", Finding::fine, "a seccomp filter, which allows kernel-assisted copies", ""};
  return {"seccomp", Finding::slower, "a seccomp filter refuses process_vm_readv; start the container with:",
          "docker run --cap-add SYS_PTRACE --security-opt seccomp=unconfined ..."};
}

Finding namespaces(const Facts& facts) {
  if (!facts.own_pid_namespace && !facts.own_user_namespace)
    return {"namespaces", Finding::fine, "this process is in the initial pid and user namespaces", ""};
  return {
      "namespaces", Finding::fine,
      fmt::format("this process has {} of a container; start all ranks of a node in the same container, because ranks "
                  "of different ones can neither copy from each other (CMA) nor map each other's buffers",
                  !facts.own_user_namespace  ? "the pid namespace"
                  : !facts.own_pid_namespace ? "the user namespace"
                                             : "the pid and user namespaces"),
      ""};
}

Finding memfd(const Facts& facts) {
  if (facts.memfd_problem.empty()) return {"memfd", Finding::fine, "shared memory (memfd) works", ""};
  const std::string found = "shared memory (memfd) does not work: " + facts.memfd_problem;
  if (facts.memfd_error == EPERM || facts.memfd_error == ENOSYS)
    return {"memfd", Finding::broken, found + "; a seccomp filter refuses it; start the container with:",
            "docker run --security-opt seccomp=unconfined ..."};
  return {"memfd", Finding::broken, found + "; raise the limits of the job:",
          facts.memfd_error == EFBIG ? "ulimit -f unlimited" : "ulimit -v unlimited; ulimit -n 4096"};
}

Finding dev_shm(const Facts& facts) {
  const std::string found =
      facts.shm_bytes == 0 ? "there is no /dev/shm" : "/dev/shm has " + bytes_text(facts.shm_bytes);
  if (facts.shm_bytes > little_shm) return {"dev_shm", Finding::fine, found, ""};
  return {
      "dev_shm", Finding::slower,
      found + "; libcoll does not need it, but MPI libraries do; in a container: docker run --shm-size=2g ...",
      by_root(facts, facts.shm_bytes == 0 ? "mkdir -p /dev/shm && mount -t tmpfs -o mode=1777,size=2G tmpfs /dev/shm"
                                          : "mount -o remount,size=2G /dev/shm")};
}

Finding huge_pages(const Facts& facts) {
  if (facts.huge_pages.empty()) return {"huge_pages", Finding::fine, "the kernel has no transparent huge pages", ""};
  if (facts.huge_pages == "never")
    return {"huge_pages", Finding::slower, "transparent huge pages are disabled",
            by_root(facts, "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")};
  return {"huge_pages", Finding::fine, "transparent huge pages: " + facts.huge_pages, ""};
}

Finding shared_huge_pages(const Facts& facts) {
  const std::string& mode = facts.shared_huge_pages;
  if (mode.empty()) return {"shared_huge_pages", Finding::fine, "the kernel has no huge pages for shared memory", ""};
  if (mode == "never" || mode == "deny")
    return {"shared_huge_pages", Finding::slower,
            "huge pages for shared memory, which coll_mem_alloc requests, are disabled: " + mode,
            by_root(facts, "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled")};
  return {"shared_huge_pages", Finding::fine, "huge pages for shared memory: " + mode, ""};
}

Finding hugetlb(const Facts& facts) {
  return {"hugetlb", Finding::fine,
          facts.reserved_huge_pages == 0
              ? "no huge pages are reserved; libcoll does not use them"
              : fmt::format("{} huge pages are reserved; libcoll does not use them", facts.reserved_huge_pages),
          ""};
}

Finding settings(const Facts& facts) {
  if (!facts.settings_problem.empty()) return {"settings", Finding::broken, facts.settings_problem, ""};
  if (!facts.misspelt.empty())
    return {"settings", Finding::slower,
            fmt::format("libcoll ignores variables that it does not know: {}", fmt::join(facts.misspelt, ", ")), ""};
  return {"settings", Finding::fine,
          facts.settings.empty() ? "no variable of libcoll is set"
                                 : fmt::format("valid: {}", fmt::join(facts.settings, ", ")),
          ""};
}

Finding launcher(const Facts& facts) {
  if (facts.launcher.empty())
    return {"launcher", Finding::fine,
            "no launcher has started this process, so a program of libcoll would be the only rank", ""};
  if (facts.several_nodes) return {"launcher", Finding::slower, facts.meeting_problem, ""};
  if (!facts.meeting_problem.empty()) return {"launcher", Finding::broken, facts.meeting_problem, ""};
  return {"launcher", Finding::fine,
          fmt::format("{} has started {}, and {}", facts.launcher,
                      facts.launched == 1 ? "one rank" : fmt::format("{} ranks", facts.launched),
                      facts.launched == 1 ? "it creates its communicator" : "they meet"),
          ""};
}

Finding processors(const Facts& facts) {
  if (facts.processors >= facts.ranks)
    return {"processors", Finding::fine, fmt::format("{} processors for {} ranks", facts.processors, facts.ranks), ""};
  return {"processors", Finding::slower,
          fmt::format("{} processors for {} ranks: ranks share processors (oversubscribed); to run one rank on each:",
                      facts.processors, facts.ranks),
          fmt::format("collctl run -n {} PROGRAM", facts.processors)};
}

Finding table(const Facts& facts) {
  const std::string remark = facts.table_remark.empty() ? "" : " (" + facts.table_remark + ")";
  if (!facts.measured.empty())
    return {"table", Finding::fine, fmt::format("algorithms are selected by the table {}{}", facts.measured, remark),
            ""};
  return {
      "table", Finding::slower,
      fmt::format("this machine was not measured: algorithms are selected by built-in defaults, and predictions use "
                  "the built-in table '{}'{}; to measure it:",
                  facts.table.empty() ? "default" : facts.table, remark),
      "collctl calibrate"};
}

}  // namespace

const char* name(Finding::State state) {
  return state == Finding::fine ? "fine" : state == Finding::slower ? "slower" : "broken";
}

std::vector<Finding> diagnose(const Facts& facts) {
  return {memfd(facts),   cma(facts),      ptrace_scope(facts), seccomp(facts),    namespaces(facts),
          kcoll(facts),   memlock(facts),  dev_shm(facts),      huge_pages(facts), shared_huge_pages(facts),
          hugetlb(facts), settings(facts), launcher(facts),     processors(facts), table(facts)};
}

}  // namespace coll::tools
