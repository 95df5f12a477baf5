// SPDX-License-Identifier: BSD-3-Clause
// The findings of collctl doctor for typical machines: each fault with its command, and no command without a fault.
#include <coll/coll.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "tools/doctor/diagnosis.h"

namespace coll::tools {
namespace {

using testing::HasSubstr;
using transport::KcollStatus;

Facts good_machine() {
  Facts facts;
  facts.user = "ada";
  facts.release = "6.1.0";
  facts.kcoll = KcollStatus::ok;
  facts.ptrace_scope = 0;
  facts.shm_bytes = uint64_t(2) << 30;
  facts.huge_pages = "madvise";
  facts.shared_huge_pages = "advise";
  facts.table = "default";
  facts.measured = "/etc/libcoll/tables/machine.json";
  return facts;
}

Finding find(const Facts& facts, const std::string& check) {
  const auto findings = diagnose(facts);
  const auto found = std::ranges::find(findings, check, &Finding::check);
  return found == findings.end() ? Finding{"missing", Finding::broken, "", ""} : *found;
}

void expect(const Facts& facts, const std::string& check, Finding::State state, const std::string& fix) {
  const Finding finding = find(facts, check);
  EXPECT_EQ(finding.state, state) << check << ": " << finding.found;
  EXPECT_THAT(finding.fix, HasSubstr(fix)) << check;
}

TEST(Diagnosis, AGoodMachineNeedsNothing) {
  for (const Finding& finding : diagnose(good_machine())) {
    EXPECT_EQ(finding.state, Finding::fine) << finding.check << ": " << finding.found;
    EXPECT_EQ(finding.fix, "");
  }
}

TEST(Diagnosis, WithoutATableCalibrationIsProposed) {
  Facts facts = good_machine();
  facts.measured = "";
  facts.table_remark = "/etc/libcoll/tables/machine.json: was measured on another machine";
  expect(facts, "table", Finding::slower, "collctl calibrate");
  EXPECT_THAT(find(facts, "table").found, HasSubstr("was measured on another machine"));
}

TEST(Diagnosis, OfLaunchers) {
  Facts facts = good_machine();
  EXPECT_THAT(find(facts, "launcher").found, HasSubstr("no launcher"));
  facts.launcher = "srun";
  facts.launched = 4;
  expect(facts, "launcher", Finding::fine, "");
  EXPECT_EQ(find(facts, "launcher").found, "srun has started 4 ranks, and they meet");
  facts.meeting_problem = "rank 3 of srun has not come within 20 s";
  expect(facts, "launcher", Finding::broken, "");
  EXPECT_EQ(find(facts, "launcher").found, facts.meeting_problem);
  facts.several_nodes = true;  // MPI programs work there
  expect(facts, "launcher", Finding::slower, "");
}

TEST(Diagnosis, OnlySharedMemoryIsMandatory) {
  Facts facts = good_machine();
  facts.kcoll = KcollStatus::absent;
  facts.cma_error = EPERM;
  facts.ptrace_scope = 2;
  facts.shm_bytes = 0;
  facts.huge_pages = facts.shared_huge_pages = "never";
  facts.ranks = 9;
  for (const Finding& finding : diagnose(facts)) EXPECT_NE(finding.state, Finding::broken) << finding.check;
  facts.memfd_problem = "memfd_create: Cannot allocate memory";
  expect(facts, "memfd", Finding::broken, "ulimit -v unlimited");
  facts.memfd_error = EFBIG;
  expect(facts, "memfd", Finding::broken, "ulimit -f unlimited");
  for (const int refused : {EPERM, ENOSYS}) {
    facts.memfd_error = refused;
    expect(facts, "memfd", Finding::broken, "seccomp=unconfined");
  }
}

TEST(Diagnosis, TheModule) {
  Facts facts = good_machine();
  facts.kcoll = KcollStatus::absent;
  expect(facts, "kcoll", Finding::slower, "dkms install kcoll/" COLL_VERSION_STRING " && modprobe kcoll");
  facts.module_installed = true;
  expect(facts, "kcoll", Finding::slower, "sudo sh -c 'modprobe kcoll'");
  facts.root = true;
  EXPECT_EQ(find(facts, "kcoll").fix, "modprobe kcoll");
  facts.kcoll = KcollStatus::no_permission;
  expect(facts, "kcoll", Finding::slower, "chgrp kcoll /dev/kcoll");
  facts.device_group = "hpc";
  EXPECT_EQ(find(facts, "kcoll").fix, "usermod -aG hpc ada");
  facts.kcoll = KcollStatus::mismatch;
  expect(facts, "kcoll", Finding::slower, "rmmod kcoll && modprobe kcoll");
}

TEST(Diagnosis, LockedMemoryMattersWithTheModule) {
  Facts facts = good_machine();
  facts.memlock_bytes = facts.memlock_most_bytes = 8 << 20;
  expect(facts, "memlock", Finding::slower, "ada - memlock unlimited");
  facts.memlock_most_bytes = unlimited;
  EXPECT_EQ(find(facts, "memlock").fix, "ulimit -l unlimited");
  facts.memlock_most_bytes = 128 << 20;
  EXPECT_EQ(find(facts, "memlock").fix, "ulimit -l 131072");
  facts.kcoll = KcollStatus::absent;
  expect(facts, "memlock", Finding::fine, "");
  EXPECT_EQ(find(facts, "memlock").fix, "");
}

TEST(Diagnosis, CausesOfRefusedKernelCopies) {
  Facts facts = good_machine();
  facts.cma_error = EPERM;
  facts.ptrace_scope = 1;
  expect(facts, "cma", Finding::slower, "");
  expect(facts, "ptrace_scope", Finding::slower, "sysctl -w kernel.yama.ptrace_scope=0");
  expect(facts, "seccomp", Finding::fine, "");
  facts.ptrace_scope = 3;
  expect(facts, "ptrace_scope", Finding::slower, "reboot");

  // A filter refuses even copies within the process; then ptrace is not the cause.
  facts.ptrace_scope = 1;
  facts.seccomp_filter = true;
  facts.cma_self_error = EPERM;
  expect(facts, "seccomp", Finding::slower, "--cap-add SYS_PTRACE");
  EXPECT_EQ(find(facts, "ptrace_scope").fix, "");
  EXPECT_THAT(find(facts, "cma").found, HasSubstr("see seccomp"));

  facts.seccomp_filter = false;
  facts.cma_error = facts.cma_self_error = ENOSYS;
  EXPECT_THAT(find(facts, "cma").found, HasSubstr("CONFIG_CROSS_MEMORY_ATTACH"));

  // Restricted, but it works: a rank with the capability to trace.
  facts = good_machine();
  facts.ptrace_scope = 1;
  expect(facts, "ptrace_scope", Finding::fine, "");
}

TEST(Diagnosis, MemoryAndProcessors) {
  Facts facts = good_machine();
  facts.shm_bytes = 64 << 20;
  expect(facts, "dev_shm", Finding::slower, "mount -o remount,size=2G /dev/shm");
  facts.huge_pages = "never";
  expect(facts, "huge_pages", Finding::slower, "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
  facts.shared_huge_pages = "never";
  expect(facts, "shared_huge_pages", Finding::slower, "echo advise > ");
  facts.processors = 2;
  facts.ranks = 3;
  expect(facts, "processors", Finding::slower, "-n 2");
  facts.own_pid_namespace = true;
  EXPECT_THAT(find(facts, "namespaces").found, HasSubstr("the pid namespace of a container"));
}

}  // namespace
}  // namespace coll::tools
