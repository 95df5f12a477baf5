// SPDX-License-Identifier: BSD-3-Clause
// Settings that are impossible: all ranks fail with the same status and a text that names the fix.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <fstream>

#include "../seed.h"
#include "comm/collectives.h"

using namespace ranks;

namespace {

// Creation fails on every rank with `status`, and every text contains `words`.
void creation_fails(Context& c, coll_status status, std::initializer_list<const char*> words) {
  coll_bootstrap bootstrap = c.bootstrap();
  coll_comm* comm = nullptr;
  coll_status got = coll_comm_create(&bootstrap, &comm);
  if (got != status)
    c.fail("status " + std::to_string(got) + " instead of " + std::to_string(status) + ": " + coll_last_error());
  RANK_CHECK(c, comm == nullptr);
  for (const char* word : words)
    if (strstr(coll_last_error(), word) == nullptr)
      c.fail(std::string("'") + coll_last_error() + "' lacks '" + word + "'");
  coll_comm_free(comm);
}

struct Wrong {
  const char* variable;
  const char* value;
  coll_status status;
  const char* words[2];
};

TEST(Settings, WrongValuesNameTheRightOnes) {
  const Wrong wrongs[] = {
      {"COLL_TRANSPORT", "pigeon", COLL_ERR_UNAVAILABLE, {"pigeon", "auto, shm, cma, mapped, kcoll_copy"}},
      {"COLL_LOG", "loud", COLL_ERR_ARG, {"COLL_LOG", "off, info or debug"}},
      {"COLL_DEBUG", "maybe", COLL_ERR_ARG, {"COLL_DEBUG", "use 0 or 1"}},
      {"COLL_DIRECT_MIN", "8k", COLL_ERR_ARG, {"COLL_DIRECT_MIN", "number of bytes"}},
      {"COLL_DIRECT_MIN", "-1", COLL_ERR_ARG, {"COLL_DIRECT_MIN='-1'", "number of bytes"}},
      {"COLL_DIRECT_MIN", "99999999999999999999", COLL_ERR_ARG, {"COLL_DIRECT_MIN", "number of bytes"}},
      {"COLL_ALLREDUCE", "quick", COLL_ERR_UNAVAILABLE, {"COLL_ALLREDUCE", "all_read"}},
      {"COLL_BCAST", "knomial:z=3", COLL_ERR_UNAVAILABLE, {"z=3", "chunk=BYTES"}},
      {"COLL_BCAST", "knomial:chunk=1", COLL_ERR_UNAVAILABLE, {"chunk=1", "64"}},
      {"COLL_BARRIER", "fused", COLL_ERR_UNAVAILABLE, {"barrier has no algorithm", "dissemination"}},
      {"COLL_BCAST", "knomial@4X;flat_read", COLL_ERR_UNAVAILABLE, {"COLL_BCAST", "'4X' is no size"}},
      {"COLL_BCAST", "knomial;flat_read", COLL_ERR_UNAVAILABLE, {"'flat_read' is never reached", "@SIZE"}},
      {"COLL_THROTTLE", "0", COLL_ERR_ARG, {"COLL_THROTTLE", "1 to 1024"}},
      {"COLL_CHUNK", "63", COLL_ERR_ARG, {"COLL_CHUNK", "64 to 1G"}},
      {"COLL_STAGING", "warm", COLL_ERR_ARG, {"COLL_STAGING", "auto, cached or streamed"}},
      {"COLL_CPU", "zen9", COLL_ERR_ARG, {"COLL_CPU='zen9'", "zen3, zen4, zen5, xeon, neoverse"}},
      {"COLL_DRIFT", "perhaps", COLL_ERR_ARG, {"COLL_DRIFT", "use on or off"}},
      {"COLL_HUGE_PAGES", "2m", COLL_ERR_ARG, {"COLL_HUGE_PAGES", "use on or off"}},
      {"COLL_TUNE", "yes", COLL_ERR_ARG, {"COLL_TUNE", "use off, long or on"}},
      {"COLL_TRIALS", "2", COLL_ERR_ARG, {"COLL_TRIALS", "use on or off"}},
      {"COLL_TABLE", "epic", COLL_ERR_ARG, {"COLL_TABLE", "epyc-2p"}},
      {"COLL_SENSITIVITY", "moon", COLL_ERR_TOPOLOGY, {"COLL_SENSITIVITY", "moon"}},
      {"COLL_TOPOLOGY", "package:0", COLL_ERR_TOPOLOGY, {"COLL_TOPOLOGY", "package"}},
      {"COLL_TOPOLOGY", "/nowhere/machine.xml", COLL_ERR_TOPOLOGY, {"COLL_TOPOLOGY", "/nowhere/machine.xml"}},
  };
  for (const Wrong& wrong : wrongs) {
    SCOPED_TRACE(std::string(wrong.variable) + "=" + wrong.value);
    Environment set(wrong.variable, wrong.value);
    run_processes(3, [&](Context& c) { creation_fails(c, wrong.status, {wrong.words[0], wrong.words[1]}); });
  }
}

// A recorded machine, truncated and corrupted at many places: libcoll refuses it with a text or gets a usable machine,
// but never crashes.
TEST(Settings, BrokenTopologyFiles) {
  const std::string whole = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0"><object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3" allowed_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
<object type="NUMANode" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" gp_index="2" local_memory="1000000"/>
<object type="Core" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="3"><object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="4"/></object>
<object type="Core" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1" complete_nodeset="0x1" gp_index="5"><object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1" complete_nodeset="0x1" gp_index="6"/></object>
</object></topology>
)";
  std::string path = testing::TempDir() + "coll-machine-" + std::to_string(getpid()) + ".xml";
  Environment set("COLL_TOPOLOGY", path.c_str());
  auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  write(whole);
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
  for (size_t length = 0; length < whole.size() - 20; length += whole.size() / 12) {
    SCOPED_TRACE("cut after " + std::to_string(length));
    write(whole.substr(0, length));
    run_processes(2, [](Context& c) { creation_fails(c, COLL_ERR_TOPOLOGY, {"COLL_TOPOLOGY"}); });
  }
  std::mt19937_64 random(coll::test::seed());
  for (int round = 0; round < 12; round++) {
    SCOPED_TRACE("corruption " + std::to_string(round));
    std::string text = whole;
    for (int i = 0; i < 4; i++) text[random() % text.size()] = char(random());
    write(text);
    run_processes(2, [](Context& c) {
      coll_bootstrap bootstrap = c.bootstrap();
      coll_comm* comm = nullptr;
      coll_status status = coll_comm_create(&bootstrap, &comm);
      RANK_CHECK(c, status == COLL_OK || status == COLL_ERR_TOPOLOGY);
      RANK_CHECK(c, status == COLL_OK || strstr(coll_last_error(), "COLL_TOPOLOGY") != nullptr);
      coll_comm_free(comm);
    });
  }
  unlink(path.c_str());
}

// Settings that must be equal on all ranks are set on one rank only.
TEST(Settings, ThatDifferBetweenRanks) {
  const char* different[][2] = {
      {"COLL_TRANSPORT", "shm"},         {"COLL_DEBUG", "1"},           {"COLL_DIRECT_MIN", "100"},
      {"COLL_SENSITIVITY", "socket"},    {"COLL_BCAST", "knomial:k=3"}, {"COLL_ALLREDUCE", "all_read:chunk=512"},
      {"COLL_REDUCE", "flat"},           {"COLL_CHUNK", "4K"},          {"COLL_THROTTLE", "2"},
      {"COLL_BARRIER", "dissemination"}, {"COLL_CPU", "zen3"}};
  for (auto [variable, value] : different) {
    SCOPED_TRACE(variable);
    run_processes(3, [variable = variable, value = value](Context& c) {
      if (c.rank == 1) setenv(variable, value, 1);
      creation_fails(c, COLL_ERR_BOOTSTRAP, {"the same value on all ranks", "rank"});
    });
  }
}

// Refuses the system calls of CMA for this process, as a container may.
bool forbid_kernel_copies(int error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | unsigned(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof filter / sizeof filter[0], filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(Settings, ForcedTransportThatTheSystemForbids) {
  struct {
    int error;
    const char* hint;
  } refusals[] = {{EPERM, "ptrace"}, {ENOSYS, "seccomp"}};
  for (auto refusal : refusals) {
    Environment forced("COLL_TRANSPORT", "cma");
    run_processes(2, [=](Context& c) {
      // A single rank makes the transport impossible for all.
      if (c.rank == 1 && !forbid_kernel_copies(refusal.error)) return c.fail("no seccomp filter could be installed");
      creation_fails(c, COLL_ERR_UNAVAILABLE, {"COLL_TRANSPORT=cma", refusal.hint});
    });
  }
}

TEST(Settings, WithoutKernelCopiesSharedMemoryServes) {
  run_processes(2, [](Context& c) {
    if (!forbid_kernel_copies(EPERM)) return c.fail("no seccomp filter could be installed");
    coll_comm* comm = c.comm();
    if (comm == nullptr) return;
    RANK_CHECK(c, strstr(coll_comm_describe(comm), "transport shm") != nullptr);
    check_all(c, comm, {4, 70000}, false);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

TEST(Settings, ABootstrapThatFailsOnOneRank) {
  run_processes(2, [](Context& c) {
    coll_bootstrap bootstrap = c.bootstrap();
    bootstrap.allgather = [](const void* send, void* recv, size_t bytes, void* context) {
      int failed = Context::allgather(send, recv, bytes, context);
      return static_cast<Context*>(context)->rank == 1 ? 1 : failed;
    };
    coll_comm* comm = nullptr;
    coll_status status = COLL_OK;
    if (c.rank == 1) {
      status = coll_comm_create(&bootstrap, &comm);
    } else {
      // Its peer does not reach the second exchange: the bootstrap callback reports that.
      bootstrap.allgather = [](const void* send, void* recv, size_t bytes, void* context) {
        static int calls = 0;
        return calls++ == 0 ? Context::allgather(send, recv, bytes, context) : 1;
      };
      status = coll_comm_create(&bootstrap, &comm);
    }
    RANK_CHECK(c, status == COLL_ERR_BOOTSTRAP && comm == nullptr);
    RANK_CHECK(c, strstr(coll_last_error(), "allgather") != nullptr);
  });
}

TEST(Settings, TheLauncherVariableIsChecked) {
  for (const char* value : {"nonsense", "3/2/0", "0/0/0", "0/2/-1", "0/2/9999"}) {
    Environment launch("COLL_LAUNCH", value);
    coll_comm* comm = reinterpret_cast<coll_comm*>(1);
    EXPECT_EQ(coll_comm_create_from_launcher(&comm), COLL_ERR_BOOTSTRAP) << value;
    EXPECT_NE(strstr(coll_last_error(), "launcher") != nullptr || strstr(coll_last_error(), "collctl run") != nullptr,
              false)
        << coll_last_error();
    EXPECT_EQ(comm, nullptr);
  }
  EXPECT_EQ(coll_comm_create_from_launcher(nullptr), COLL_ERR_ARG);
}

// With few descriptors or little address space, creation fails with an error and does not crash.
TEST(Settings, ScarceResources) {
  run_processes(2, [](Context& c) {
    // Uses up all descriptors.
    std::vector<int> taken;
    for (int descriptor = dup(0); descriptor >= 0; descriptor = dup(0)) taken.push_back(descriptor);
    creation_fails(c, COLL_ERR_NO_MEMORY, {"limit on open files"});
    for (int descriptor : taken) close(descriptor);  // sanitizers need some at exit
  });
}

}  // namespace
